"""A real CTranslate2 model made by hand: it looks words up in a small French-English lexicon.

One layer. Token embeddings live in the first half of the dimensions, positions in the second.
Cross-attention compares positions, so that target position t reads source position t; what it
reads is the source token's embedding; the output layer gives each English word the embedding of
its French counterpart. Nothing is trained but two word-level SentencePiece models.
"""

import json
from pathlib import Path

import numpy as np
import sentencepiece
from ctranslate2.specs import TransformerSpec

LEXICON = {
    "le": "the",
    "la": "the2",
    "chat": "cat",
    "chien": "dog",
    "noir": "black",
    "dort": "sleeps",
    "mange": "eats",
    "et": "and",
    "un": "a",
    "grand": "big",
    "dans": "in",
    "jardin": "garden",
    "Titre": "Title",
}
HALF = 64
POSITIONS = 300
SPECIAL = ("<unk>", "<s>", "</s>")


def build(folder: Path, *, add_source_eos: bool) -> Path:
    """Write the model into a folder and return it."""
    folder.mkdir(parents=True)
    source = _sentence_pieces(folder / "source", list(LEXICON))
    target = _sentence_pieces(folder / "target", list(LEXICON.values()))
    rng = np.random.default_rng(3)
    meanings = {piece: rng.standard_normal(HALF) for piece in source}
    english = {f"▁{en}": f"▁{fr}" for fr, en in LEXICON.items()}
    embedded = np.stack([np.concatenate([meanings[p], np.zeros(HALF)]) for p in source])
    output = np.stack(
        [np.concatenate([meanings[english.get(p, p)], np.zeros(HALF)]) for p in target]
    )
    spec = TransformerSpec.from_config(1, 1, pre_norm=True)
    _fill_encoder(spec.encoder, embedded)
    _fill_decoder(spec.decoder, output)
    spec.register_source_vocabulary(source)
    spec.register_target_vocabulary(target)
    spec.config.decoder_start_token = "<s>"
    spec.config.add_source_eos = add_source_eos
    spec.validate()
    spec.save(str(folder))
    assert json.loads((folder / "config.json").read_text())["add_source_eos"] is add_source_eos
    return folder


def _sentence_pieces(prefix: Path, words: list[str]) -> list[str]:
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([" ".join(words)] * 20),
        model_prefix=str(prefix),
        model_type="word",
        vocab_size=len(words) + len(SPECIAL),
        hard_vocab_limit=False,
        normalization_rule_name="identity",
        minloglevel=2,
    )
    prefix.with_suffix(".model").rename(prefix.with_suffix(".spm"))
    prefix.with_suffix(".vocab").unlink()
    model = sentencepiece.SentencePieceProcessor(model_file=str(prefix.with_suffix(".spm")))
    return [model.id_to_piece(i) for i in range(model.get_piece_size())]


def _positions() -> np.ndarray:
    """Waves and their negatives: every position has mean 0 and the same norm."""
    place = np.arange(POSITIONS)[:, None]
    rates = 2 / 80 ** (np.arange(HALF // 4)[None, :] / (HALF // 4))
    half = np.concatenate([np.sin(place * rates), np.cos(place * rates)], axis=1)
    waves = np.concatenate([half, -half], axis=1)
    return np.concatenate([np.zeros((POSITIONS, HALF)), waves], axis=1).astype(np.float32)


def _block(first: bool, scale: float) -> np.ndarray:
    """Keeps one half of the dimensions."""
    keep = np.zeros(2 * HALF)
    keep[slice(0, HALF) if first else slice(HALF, 2 * HALF)] = scale
    return np.diag(keep)


def _common(module: object, embeddings: np.ndarray) -> None:
    embedding = module.embeddings  # type: ignore[attr-defined]
    embedding = embedding[0] if isinstance(embedding, list) else embedding
    embedding.weight = embeddings.astype(np.float32)
    module.scale_embeddings = False  # type: ignore[attr-defined]
    module.position_encodings.encodings = _positions()  # type: ignore[attr-defined]
    _norm(module.layer_norm)  # type: ignore[attr-defined]
    layer = module.layer[0]  # type: ignore[attr-defined]
    _norm(layer.self_attention.layer_norm)
    _linear(layer.self_attention.linear[0], np.zeros((6 * HALF, 2 * HALF)))
    _linear(layer.self_attention.linear[1], np.zeros((2 * HALF, 2 * HALF)))
    _norm(layer.ffn.layer_norm)
    _linear(layer.ffn.linear_0, np.zeros((4, 2 * HALF)))
    _linear(layer.ffn.linear_1, np.zeros((2 * HALF, 4)))


def _fill_encoder(encoder: object, embeddings: np.ndarray) -> None:
    _common(encoder, embeddings)


def _fill_decoder(decoder: object, embeddings: np.ndarray) -> None:
    _common(decoder, np.zeros_like(embeddings))
    attention = decoder.layer[0].attention  # type: ignore[attr-defined]
    _norm(attention.layer_norm)
    _linear(attention.linear[0], _block(False, 20.0))
    _linear(attention.linear[1], np.concatenate([_block(False, 20.0), _block(True, 30.0)]))
    _linear(attention.linear[2], _block(True, 1.0))
    decoder.projection.weight = embeddings.astype(np.float32)  # type: ignore[attr-defined]
    decoder.projection.bias = np.zeros(len(embeddings), dtype=np.float32)  # type: ignore[attr-defined]


def _norm(norm: object) -> None:
    norm.gamma = np.ones(2 * HALF, dtype=np.float32)  # type: ignore[attr-defined]
    norm.beta = np.zeros(2 * HALF, dtype=np.float32)  # type: ignore[attr-defined]


def _linear(linear: object, weight: np.ndarray) -> None:
    linear.weight = weight.astype(np.float32)  # type: ignore[attr-defined]
    linear.bias = np.zeros(len(weight), dtype=np.float32)  # type: ignore[attr-defined]
