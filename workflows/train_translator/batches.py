"""Batches of sources of equal length, in an order determined by seed and epoch.

Sources need neither padding nor a mask. A resumed run continues with the next batch of the epoch.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from workflows.train_translator.vocabulary import Encoded

Batch = tuple[Tensor, Tensor]
Rows = npt.NDArray[np.int64]

BUCKET = 4
"""Target lengths of a batch differ by fewer pieces, where a batch has many pairs."""


def epoch(encoded: Encoded, tokens: int, seed: int, number: int) -> Iterator[Batch]:
    """The batches of one epoch: int64[batch, source length], int64[batch, target length].

    Args:
        encoded: All pairs.
        tokens: Maximum target pieces per batch, padding included.
        seed: Shuffling seed.
        number: Epoch number.
    """
    random = np.random.default_rng([seed, number])
    sources, targets = encoded.sources.lengths, encoded.targets.lengths
    order = np.lexsort((random.permutation(len(sources)), targets // BUCKET, sources))
    ends = np.flatnonzero(np.diff(sources[order])) + 1
    batches = [
        batch
        for group in np.split(order, ends)
        for batch in _cut(group, np.maximum(targets[group], sources[group]), tokens)
    ]
    return (collate(encoded, batches[place]) for place in random.permutation(len(batches)))


def _cut(rows: Rows, widths: Rows, tokens: int) -> Iterator[Rows]:
    """Cut pairs into batches of at most `tokens` pieces; a longer pair is a batch of its own."""
    begin = 0
    while begin < len(rows):
        most = max(tokens // int(widths[begin]), 1)
        widest = np.maximum.accumulate(widths[begin : begin + most])
        fitting = widest * np.arange(1, len(widest) + 1) <= tokens
        count = max(int(fitting.sum()), 1)
        yield rows[begin : begin + count]
        begin += count


def collate(encoded: Encoded, rows: Rows) -> Batch:
    """Source and target tensors of the given pairs, whose sources have equal length."""
    sources, targets = (side.padded(rows) for side in (encoded.sources, encoded.targets))
    return torch.from_numpy(sources), torch.from_numpy(targets)
