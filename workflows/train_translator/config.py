"""Model hyperparameters, without importing PyTorch."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelConfig:
    """Hyperparameters of a model.

    Args:
        vocabulary: Pieces of the shared vocabulary.
        width: Size of a hidden state.
        inner: Size of a feed-forward layer.
        heads: Attention heads.
        encoder: Encoder layers.
        decoder: Decoder layers.
        dropout: Dropout probability.
    """

    vocabulary: int = 12000
    width: int = 320
    inner: int = 1280
    heads: int = 5
    encoder: int = 6
    decoder: int = 2
    dropout: float = 0.1
