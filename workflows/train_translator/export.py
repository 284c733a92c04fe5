"""Convert checkpoints to a CTranslate2 model.

In: the newest checkpoints of a work folder, whose weights are averaged, and its vocabulary. Out: a
model folder with `model.bin`, `config.json`, vocabularies and `shared.spm`.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import sentencepiece
import torch
from ctranslate2.specs import TransformerSpec
from torch import Tensor, nn

from workflows.train_translator.config import ModelConfig
from workflows.train_translator.model import Attention, FeedForward, Transformer
from workflows.train_translator.train import checkpoints, load
from workflows.train_translator.vocabulary import START

AVERAGED = 1
"""Checkpoints whose weights are averaged. One, because the learning rate falls to nothing: on the
validation set the last one scored 3.051 nats a piece, the mean of 2, 3, 4 scored 3.057 to 3.075."""


def average_checkpoints(work: Path, count: int = AVERAGED) -> Transformer:
    """The model with the mean weights of the newest checkpoints, in evaluation mode."""
    saved = [load(path) for path in checkpoints(work)[-count:]]
    model = Transformer(ModelConfig(**saved[-1]["shape"]))
    weights = {
        name: torch.stack([s["model"][name].double() for s in saved]).mean(0).float()
        for name in saved[-1]["model"]
    }
    model.load_state_dict(weights)
    return model.eval()


def export(model: Transformer, vocabulary: Path, out: Path, quantization: str | None) -> Path:
    """Export a model in CTranslate2's format.

    Args:
        model: The model.
        vocabulary: Shared SentencePiece model.
        out: Output folder; overwritten.
        quantization: `int8`, or None for float32.
    """
    shape = model.shape
    spec = TransformerSpec.from_config((shape.encoder, shape.decoder), shape.heads, pre_norm=True)
    _fill_embedding(spec.encoder.embeddings[0], model)
    _fill_embedding(spec.decoder.embeddings, model)
    _fill_norm(spec.encoder.layer_norm, model.encoder_norm)
    _fill_norm(spec.decoder.layer_norm, model.decoder_norm)
    for part in (spec.encoder, spec.decoder):
        part.position_encodings.encodings = _array(model.positions)
    spec.decoder.projection.weight = _array(model.embedding.weight)
    spec.decoder.projection.bias = _array(model.bias)
    for target, layer in zip(spec.encoder.layer, model.encoder, strict=True):
        _fill_attention(target.self_attention, layer.attention)
        _fill_feed(target.ffn, layer.feed)
    for target, layer in zip(spec.decoder.layer, model.decoder, strict=True):
        _fill_attention(target.self_attention, layer.attention)
        _fill_attention(target.attention, layer.to_source)
        _fill_feed(target.ffn, layer.feed)
    pieces = _pieces(vocabulary)
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    spec.config.decoder_start_token = pieces[START]
    spec.config.add_source_eos = True
    spec.validate()
    spec.optimize(quantization=quantization)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    spec.save(str(out))
    shutil.copyfile(vocabulary, out / "shared.spm")
    return out


def _pieces(vocabulary: Path) -> Sequence[str]:
    processor = sentencepiece.SentencePieceProcessor(model_file=str(vocabulary))
    return [processor.id_to_piece(i) for i in range(processor.get_piece_size())]


def _array(tensor: Tensor) -> np.ndarray:
    return np.array(tensor.detach().numpy(), dtype=np.float32, order="C")  # CTranslate2 edits it


def _fill_embedding(target: object, model: Transformer) -> None:
    target.weight = _array(model.embedding.weight)  # type: ignore[attr-defined]


def _fill_norm(target: object, norm: nn.LayerNorm) -> None:
    target.gamma, target.beta = _array(norm.weight), _array(norm.bias)  # type: ignore[attr-defined]


def _fill_linear(target: object, linear: nn.Linear) -> None:
    target.weight, target.bias = _array(linear.weight), _array(linear.bias)  # type: ignore[attr-defined]


def _fill_attention(target: object, attention: Attention) -> None:
    _fill_norm(target.layer_norm, attention.norm)  # type: ignore[attr-defined]
    linears = [*attention.project, attention.out]
    for place, linear in zip(target.linear, linears, strict=True):  # type: ignore[attr-defined]
        _fill_linear(place, linear)


def _fill_feed(target: object, feed: FeedForward) -> None:
    _fill_norm(target.layer_norm, feed.norm)  # type: ignore[attr-defined]
    _fill_linear(target.linear_0, feed.inner)  # type: ignore[attr-defined]
    _fill_linear(target.linear_1, feed.outer)  # type: ignore[attr-defined]
