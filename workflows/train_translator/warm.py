"""Warm start: load the weights of an exported CTranslate2 model into PyTorch.

In: a model folder as `export.py` writes it, int8 or float32, of the shape that is trained. Out: the
same weights in a `Transformer`, to the precision that was stored. Training can
thus continue without checkpoints, for example to fine-tune the embedded model on other pairs.
"""

import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np
import torch
from torch import Tensor, nn

from workflows.train_translator.config import ModelConfig
from workflows.train_translator.model import Attention, FeedForward, Transformer
from workflows.train_translator.segments import mean_of_pieces

TYPES = {0: np.float32, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.float16}
"""NumPy types by the numbers that CTranslate2 stores for them."""

Weights = dict[str, Tensor]


def read_weights(path: Path) -> Weights:
    """Read the variables of a `model.bin`, dequantizing integers.

    Raises:
        ValueError: The file does not have CTranslate2's layout.
    """
    with path.open("rb") as file:
        _number(file)  # version of the layout
        _string(file)  # name of the architecture
        _number(file)  # its revision
        raw = dict(_variable(file) for _ in range(_number(file)))
        aliases = {_string(file): _string(file) for _ in range(_number(file))}
        if file.read(1):
            raise ValueError(f"{path}: more bytes than a CTranslate2 model has")
    weights = {}
    for name, values in raw.items():
        scale = raw.get(f"{name}_scale")
        numbers = torch.from_numpy(values.astype(np.float32))
        if scale is not None and values.dtype == np.int8:
            numbers = numbers / torch.from_numpy(scale.astype(np.float32)).reshape(-1, 1)
        weights[name] = numbers
    return weights | {alias: weights[name] for alias, name in aliases.items()}


def shape_of(weights: Weights) -> ModelConfig:
    """Hyperparameters of a model, from the names and shapes of its weights."""
    vocabulary, width = weights["decoder/embeddings/weight"].shape
    encoder, decoder = (
        sum(
            name.startswith(f"{part}/layer_") and name.endswith("/ffn/linear_0/bias")
            for name in weights
        )
        for part in ("encoder", "decoder")
    )
    return ModelConfig(
        vocabulary,
        width,
        inner=len(weights["encoder/layer_0/ffn/linear_0/bias"]),
        heads=int(weights["encoder/num_heads"]),
        encoder=encoder,
        decoder=decoder,
    )


def start_weights(folder: Path, vocabulary: Path) -> Weights:
    """Weights of a model folder, with embeddings mapped to another vocabulary if it differs.

    Args:
        folder: An exported model.
        vocabulary: SentencePiece model of the model that is trained.
    """
    weights = read_weights(folder / "model.bin")
    if (folder / "shared.spm").read_bytes() == vocabulary.read_bytes():
        return weights
    means = mean_of_pieces(folder / "shared.spm", vocabulary)
    for name in ("decoder/embeddings/weight", "decoder/projection/bias"):
        weights[name] = torch.stack([weights[name][indices].mean(0) for indices in means])
    return weights


@torch.no_grad()
def copy_weights(model: Transformer, weights: Weights) -> None:
    """Copy weights into a model.

    Raises:
        KeyError: A weight is missing.
        RuntimeError: A weight's shape does not match the model.
    """
    model.embedding.weight.copy_(weights["decoder/embeddings/weight"])
    model.bias.copy_(weights["decoder/projection/bias"])
    _copy_norm(model.encoder_norm, weights, "encoder/layer_norm")
    _copy_norm(model.decoder_norm, weights, "decoder/layer_norm")
    for place, layer in enumerate(model.encoder):
        _copy_attention(layer.attention, weights, f"encoder/layer_{place}/self_attention")
        _copy_feed_forward(layer.feed, weights, f"encoder/layer_{place}/ffn")
    for place, layer in enumerate(model.decoder):
        _copy_attention(layer.attention, weights, f"decoder/layer_{place}/self_attention")
        _copy_attention(layer.to_source, weights, f"decoder/layer_{place}/attention")
        _copy_feed_forward(layer.feed, weights, f"decoder/layer_{place}/ffn")


def _copy_attention(part: Attention, weights: Weights, name: str) -> None:
    _copy_norm(part.norm, weights, f"{name}/layer_norm")
    for place, linear in enumerate([*part.project, part.out]):
        _copy_linear(linear, weights, f"{name}/linear_{place}")


def _copy_feed_forward(part: FeedForward, weights: Weights, name: str) -> None:
    _copy_norm(part.norm, weights, f"{name}/layer_norm")
    _copy_linear(part.inner, weights, f"{name}/linear_0")
    _copy_linear(part.outer, weights, f"{name}/linear_1")


def _copy_norm(part: nn.LayerNorm, weights: Weights, name: str) -> None:
    part.weight.copy_(weights[f"{name}/gamma"])
    part.bias.copy_(weights[f"{name}/beta"])


def _copy_linear(part: nn.Module, weights: Weights, name: str) -> None:
    part.load_state_dict({key: weights[f"{name}/{key}"] for key in ("weight", "bias")})


def _number(file: BinaryIO) -> int:
    return int(struct.unpack("<I", file.read(4))[0])


def _string(file: BinaryIO) -> str:
    (length,) = struct.unpack("<H", file.read(2))
    return file.read(length)[:-1].decode()


def _variable(file: BinaryIO) -> tuple[str, np.ndarray]:
    name = _string(file)
    (rank,) = struct.unpack("<B", file.read(1))
    shape = struct.unpack(f"<{rank}I", file.read(4 * rank))
    (kind,) = struct.unpack("<B", file.read(1))
    values = np.frombuffer(file.read(_number(file)), dtype=TYPES[kind])
    return name, values.reshape(shape)
