"""Tiny models with random weights in the formats that users bring: Marian, OPUS-MT, NLLB."""

import json
from pathlib import Path

import numpy as np
import sentencepiece

SENTENCES = [
    "le chat noir dort dans le jardin",
    "un chien mange et la porte est ouverte",
    "the black cat sleeps in the garden",
    "a dog eats and the door is open",
]
WIDTH, INNER, HEADS = 16, 32, 2
OPTIONS = {
    "type": "transformer",
    "transformer-decoder-autoreg": "self-attention",
    "transformer-no-projection": False,
    "transformer-ffn-activation": "swish",
    "transformer-preprocess": "",
    "transformer-postprocess": "dan",
    "transformer-postprocess-emb": "d",
    "transformer-guided-alignment-layer": "last",
    "transformer-heads": HEADS,
    "enc-depth": 1,
    "dec-depth": 1,
}


def sentence_pieces(path: Path, **options: object) -> list[str]:
    """Write a SentencePiece model of the sentences; its pieces."""
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES * 5),
        model_prefix=str(path.with_suffix("")),
        vocab_size=60,
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    path.with_suffix(".model").rename(path)
    path.with_suffix(".vocab").unlink()
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return [model.id_to_piece(i) for i in range(model.get_piece_size())]


def opus_pieces(folder: Path) -> list[str]:
    """`source.spm` and `target.spm` of an OPUS-MT folder; the vocabulary of both."""
    folder.mkdir(parents=True)
    sides = [sentence_pieces(folder / name) for name in ("source.spm", "target.spm")]
    pieces = [piece for side in sides for piece in side if piece not in {"<s>", "</s>", "<unk>"}]
    return ["</s>", "<unk>", *dict.fromkeys(pieces)]


def build_opus_mt(folder: Path) -> Path:
    """An OPUS-MT folder as published: Marian weights, vocabulary, `decoder.yml`, licence."""
    pieces = opus_pieces(folder)
    lines = [f"{json.dumps(piece, ensure_ascii=False)}: {n}\n" for n, piece in enumerate(pieces)]
    (folder / "opus.vocab.yml").write_text("".join(lines), "utf-8")
    (folder / "decoder.yml").write_text(
        "models:\n  - opus.npz\nvocabs:\n  - opus.vocab.yml\n  - opus.vocab.yml\n"
    )
    (folder / "LICENSE").write_text("CC-BY 4.0\n")
    options = "".join(f"{key}: {json.dumps(value)}\n" for key, value in OPTIONS.items())
    yml = np.frombuffer(options.encode() + b"\0", dtype=np.int8)
    np.savez(folder / "opus.npz", **{"special:model.yml": yml}, **_marian(len(pieces)))
    return folder


def _marian(vocabulary: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(4)

    def some(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32) * 0.3

    weights = {"Wemb": some(vocabulary, WIDTH), "decoder_ff_logit_out_b": some(1, vocabulary)}
    for block in ("encoder_l1_self", "decoder_l1_self", "decoder_l1_context"):
        for name in "qkvo":
            weights[f"{block}_W{name}"] = some(WIDTH, WIDTH)
            weights[f"{block}_b{name}"] = some(1, WIDTH)
        weights |= _norm(f"{block}_Wo")
    for block in ("encoder_l1_ffn", "decoder_l1_ffn"):
        weights |= {f"{block}_W1": some(WIDTH, INNER), f"{block}_b1": some(1, INNER)}
        weights |= {f"{block}_W2": some(INNER, WIDTH), f"{block}_b2": some(1, WIDTH)}
        weights |= _norm(f"{block}_ffn")
    return weights


def _norm(name: str) -> dict[str, np.ndarray]:
    one = np.ones((1, WIDTH), dtype=np.float32)
    return {f"{name}_ln_scale": one, f"{name}_ln_bias": 0 * one}


def build_marian(folder: Path) -> Path:
    """An OPUS-MT folder of Transformers, which must be installed."""
    import transformers

    pieces = [*opus_pieces(folder), "<pad>"]
    vocabulary = {piece: n for n, piece in enumerate(pieces)}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), "utf-8")
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n# A tiny model\n")
    files = [str(folder / name) for name in ("source.spm", "target.spm", "vocab.json")]
    transformers.MarianTokenizer(*files).save_pretrained(folder)
    config = transformers.MarianConfig(
        vocab_size=len(pieces),
        pad_token_id=len(pieces) - 1,
        decoder_start_token_id=len(pieces) - 1,
        eos_token_id=0,
        forced_eos_token_id=None,
        bos_token_id=None,
        **_sizes(),
    )
    transformers.MarianMTModel(config).save_pretrained(folder)
    return folder


def build_nllb(folder: Path) -> Path:
    """An NLLB folder of Transformers, which must be installed."""
    import transformers

    folder.mkdir(parents=True)
    path = folder / "sentencepiece.bpe.model"
    sentence_pieces(path, model_type="bpe")
    languages = ["eng_Latn", "fra_Latn"]
    tokenizer = transformers.NllbTokenizer.from_pretrained(
        folder, additional_special_tokens=languages
    )
    tokenizer.add_tokens(languages, special_tokens=True)
    tokenizer.save_pretrained(folder)
    config = transformers.M2M100Config(vocab_size=len(tokenizer), **_sizes())
    transformers.M2M100ForConditionalGeneration(config).save_pretrained(folder)
    return folder


def _sizes() -> dict[str, int]:
    return {
        "d_model": WIDTH,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_attention_heads": HEADS,
        "decoder_attention_heads": HEADS,
        "encoder_ffn_dim": INNER,
        "decoder_ffn_dim": INNER,
        "max_position_embeddings": 512,
    }
