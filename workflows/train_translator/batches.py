"""Batches of pairs of similar length, in an order determined by seed and epoch.

Lengths are padded to multiples of `STEP`, and batches of one length have equally many pairs: a GPU
prepares itself for every shape that it has not seen before, which takes it a third of a second. A
resumed run continues with the next batch of the epoch.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from workflows.train_translator.vocabulary import Encoded

Batch = tuple[Tensor, Tensor]
Rows = npt.NDArray[np.int64]

STEP = 8
"""Texts are padded to multiples of this many pieces."""


def epoch(encoded: Encoded, tokens: int, seed: int, number: int) -> Iterator[Batch]:
    """The batches of one epoch: int64[batch, source length], int64[batch, target length].

    Args:
        encoded: All pairs.
        tokens: Maximum target pieces per batch, padding included.
        seed: Shuffling seed.
        number: Epoch number.
    """
    random = np.random.default_rng([seed, number])
    sources, targets = (_round_up(side.lengths) for side in (encoded.sources, encoded.targets))
    order = np.lexsort((random.permutation(len(sources)), targets, sources))
    ends = np.flatnonzero(np.diff(sources[order])) + 1
    batches = [
        batch
        for group in np.split(order, ends)
        for batch in _cut(group, np.maximum(targets[group], sources[group]), tokens)
    ]
    return (collate(encoded, batches[place]) for place in random.permutation(len(batches)))


def _round_up(lengths: Rows) -> Rows:
    """Lengths after padding."""
    return -(-lengths // STEP) * STEP


def _cut(rows: Rows, widths: Rows, tokens: int) -> Iterator[Rows]:
    """Cut pairs, in the order of their padded lengths, into batches of at most `tokens` pieces."""
    begin = 0
    while begin < len(rows):
        last = begin + max(tokens // int(widths[begin]), 1) - 1
        count = max(tokens // int(widths[min(last, len(rows) - 1)]), 1)
        yield rows[begin : begin + count]
        begin += count


def collate(encoded: Encoded, rows: Rows) -> Batch:
    """Source and target tensors of the given pairs, padded on the right."""
    sources, targets = (side.padded(rows, STEP) for side in (encoded.sources, encoded.targets))
    return torch.from_numpy(sources), torch.from_numpy(targets)
