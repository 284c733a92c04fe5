"""A compact Transformer (Vaswani et al. 2017; pre-norm) that CTranslate2 can run.

In: token ids of sources and targets, padded on the right (see `batches.py`). Out: the loss, or
logits. Attention to the padding of sources and to later target pieces is masked. Source, target and
output share their embeddings.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from workflows.train_translator.config import ModelConfig


class Dropout(nn.Module):
    """Dropout with masks cut from a precomputed random sequence at a random offset.

    Drawing a number per value took a sixth of the training time on a processor; a GPU draws them.
    States: at most `DRAWN` values on a processor.
    """

    masks: Tensor
    DRAWN = 1 << 23

    def __init__(self, share: float) -> None:
        """`share`: dropout probability, 0 <= share < 1."""
        super().__init__()
        self.share = share
        drawn = torch.rand(self.DRAWN, generator=torch.Generator().manual_seed(5))
        kept = (drawn >= share).to(torch.bfloat16) / (1 - share)
        self.register_buffer("masks", kept, persistent=False)

    def forward(self, states: Tensor) -> Tensor:
        """Apply dropout in training mode; return the states unchanged otherwise."""
        if not (self.training and self.share):
            return states
        if states.is_cuda:
            return functional.dropout(states, self.share)
        begin = int(torch.randint(self.DRAWN - states.numel(), ()))
        return states * self.masks[begin : begin + states.numel()].view(states.shape)


class Attention(nn.Module):
    """Pre-norm multi-head attention with a residual connection."""

    def __init__(self, shape: ModelConfig, dropout: Dropout, *, of_source: bool = False) -> None:
        """`of_source`: keys and values come from the encoder."""
        super().__init__()
        self.width = width = shape.width
        self.heads = shape.heads
        self.norm = nn.LayerNorm(width)
        self.of_source = of_source
        self.project = nn.ModuleList(
            [nn.Linear(width, width), nn.Linear(width, 2 * width)]
            if of_source
            else [nn.Linear(width, 3 * width)]
        )
        self.out = nn.Linear(width, width)
        self.dropout = dropout

    def forward(
        self,
        states: Tensor,
        source: Tensor | None = None,
        mask: Tensor | None = None,
        *,
        causal: bool = False,
    ) -> Tensor:
        """States after attention: float[batch, length, width].

        Args:
            states: float[batch, length, width].
            source: Encoder states to attend to; None: `states`.
            mask: bool[batch, 1, 1, keys]: which keys are attended to; None: all.
            causal: Attend to no later position.
        """
        normed = self.norm(states)
        if source is None:
            queries, keys, values = self.project[0](normed).chunk(3, dim=-1)
        else:
            queries = self.project[0](normed)
            keys, values = self.project[1](source).chunk(2, dim=-1)
        attended = functional.scaled_dot_product_attention(
            self._split(queries), self._split(keys), self._split(values), mask, is_causal=causal
        )
        return states + self.dropout(self.out(attended.transpose(1, 2).flatten(2)))

    def _split(self, states: Tensor) -> Tensor:
        batch, length, width = states.shape
        return states.view(batch, length, self.heads, width // self.heads).transpose(1, 2)


class FeedForward(nn.Module):
    """Pre-norm feed-forward block (linear, ReLU, linear) with a residual connection."""

    def __init__(self, shape: ModelConfig, dropout: Dropout) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(shape.width)
        self.inner = nn.Linear(shape.width, shape.inner)
        self.outer = nn.Linear(shape.inner, shape.width)
        self.dropout = dropout

    def forward(self, states: Tensor) -> Tensor:
        """States after the layer: float[batch, length, width]."""
        return states + self.dropout(self.outer(torch.relu(self.inner(self.norm(states)))))


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, shape: ModelConfig, dropout: Dropout) -> None:
        super().__init__()
        self.attention = Attention(shape, dropout)
        self.feed = FeedForward(shape, dropout)

    def forward(self, states: Tensor, mask: Tensor | None) -> Tensor:
        """States after the layer."""
        return self.feed(self.attention(states, mask=mask))


class DecoderLayer(nn.Module):
    """Causal self-attention, cross-attention and a feed-forward block."""

    def __init__(self, shape: ModelConfig, dropout: Dropout) -> None:
        super().__init__()
        self.attention = Attention(shape, dropout)
        self.to_source = Attention(shape, dropout, of_source=True)
        self.feed = FeedForward(shape, dropout)

    def forward(self, states: Tensor, source: Tensor, mask: Tensor | None) -> Tensor:
        """States after the layer."""
        states = self.attention(states, causal=True)
        return self.feed(self.to_source(states, source, mask))


class Transformer(nn.Module):
    """The complete encoder-decoder model."""

    positions: Tensor

    def __init__(self, shape: ModelConfig, longest: int = 512) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.vocabulary, shape.width)
        nn.init.normal_(self.embedding.weight, std=shape.width**-0.5)
        self.bias = nn.Parameter(torch.zeros(shape.vocabulary))
        self.dropout = dropout = Dropout(shape.dropout)
        self.encoder = nn.ModuleList([EncoderLayer(shape, dropout) for _ in range(shape.encoder)])
        self.decoder = nn.ModuleList([DecoderLayer(shape, dropout) for _ in range(shape.decoder)])
        self.encoder_norm = nn.LayerNorm(shape.width)
        self.decoder_norm = nn.LayerNorm(shape.width)
        self.register_buffer(
            "positions", position_encodings(longest, shape.width), persistent=False
        )

    def encode(self, source: Tensor, mask: Tensor | None = None) -> Tensor:
        """Encoder states: float[batch, source length, width].

        Args:
            source: int64[batch, source length], padded on the right.
            mask: bool[batch, 1, 1, source length]: False for padding; None: there is none.
        """
        states = self._embed(source)
        for layer in self.encoder:
            states = layer(states, mask)
        normed: Tensor = self.encoder_norm(states)
        return normed

    def decode(self, target: Tensor, encoded: Tensor, mask: Tensor | None = None) -> Tensor:
        """Decoder states: float[batch, target length, width].

        Args:
            target: int64[batch, target length], padded on the right.
            encoded: Encoder states.
            mask: The mask of the source.
        """
        states = self._embed(target)
        for layer in self.decoder:
            states = layer(states, encoded, mask)
        normed: Tensor = self.decoder_norm(states)
        return normed

    def logits(self, states: Tensor) -> Tensor:
        """Logits over the vocabulary: float[..., vocabulary]."""
        return functional.linear(states, self.embedding.weight, self.bias)

    def loss(self, source: Tensor, target: Tensor, padding: int, smoothing: float) -> Tensor:
        """Mean cross-entropy of the target pieces, in nats per piece.

        Args:
            source: int64[batch, source length], padded on the right.
            target: int64[batch, length + 1], from the start piece to the end piece, padded.
            padding: Padding piece, which is masked and ignored.
            smoothing: Label smoothing.
        """
        mask = (source != padding)[:, None, None, :]
        logits = self.logits(self.decode(target[:, :-1], self.encode(source, mask), mask))
        return functional.cross_entropy(
            logits.flatten(0, 1).float(),
            target[:, 1:].flatten(),
            ignore_index=padding,
            label_smoothing=smoothing,
        )

    def _embed(self, pieces: Tensor) -> Tensor:
        embedded = self.embedding(pieces) * math.sqrt(self.shape.width)
        return self.dropout(embedded + self.positions[: pieces.shape[1]])


def position_encodings(length: int, width: int) -> Tensor:
    """Position encodings, sines then cosines: float[length, width]."""
    rates = torch.exp(torch.arange(width // 2) * (-math.log(10000.0) / (width // 2 - 1)))
    angles = torch.arange(length)[:, None] * rates[None, :]
    return torch.cat([angles.sin(), angles.cos()], dim=1)


@torch.no_grad()
def greedy_decode(
    model: Transformer, source: Tensor, start: int, end: int, longest: int
) -> list[int]:
    """Greedy decoding: the pieces of the output without start and end piece.

    Args:
        model: In evaluation mode.
        source: int64[1, source length].
        start: Start piece.
        end: End piece.
        longest: Maximum number of pieces.
    """
    encoded = model.encode(source)
    pieces = [start]
    for _ in range(longest):
        states = model.decode(torch.tensor([pieces]), encoded)
        piece = int(model.logits(states[:, -1]).argmax())
        if piece == end:
            break
        pieces.append(piece)
    return pieces[1:]
