"""The sizes of a model; what needs them alone needs no PyTorch."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """Sizes of a model.

    Args:
        vocabulary: Pieces of the shared vocabulary.
        width: Size of a hidden state.
        inner: Size of a feed-forward layer.
        heads: Attention heads.
        encoder: Encoder layers.
        decoder: Decoder layers.
        dropout: Share of hidden values dropped in training.
    """

    vocabulary: int = 12000
    width: int = 256
    inner: int = 1024
    heads: int = 4
    encoder: int = 6
    decoder: int = 2
    dropout: float = 0.1
