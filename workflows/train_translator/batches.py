"""Batches of sources of equal length, in an order determined by seed and epoch.

Sources need neither padding nor a mask. A resumed run continues with the next batch of the epoch.
"""

import random
from collections import defaultdict
from collections.abc import Iterator

import torch
from torch import Tensor

from workflows.train_translator.vocabulary import PADDING, Encoded

Batch = tuple[Tensor, Tensor]


def epoch(encoded: Encoded, tokens: int, seed: int, number: int) -> Iterator[Batch]:
    """The batches of one epoch: int64[batch, source length], int64[batch, target length].

    Args:
        encoded: All pairs.
        tokens: Maximum target pieces per batch, padding included.
        seed: Shuffling seed.
        number: Epoch number.
    """
    draw = random.Random(seed * 1_000_003 + number)
    lengths: dict[int, list[int]] = defaultdict(list)
    for index, source in enumerate(encoded.sources):
        lengths[len(source)].append(index)
    batches = []
    for length in sorted(lengths):
        indices = lengths[length]
        draw.shuffle(indices)
        indices.sort(key=lambda index: len(encoded.targets[index]) // 4)
        batches += list(_cut(indices, encoded, tokens))
    draw.shuffle(batches)
    return (collate(encoded, batch) for batch in batches)


def _cut(indices: list[int], encoded: Encoded, tokens: int) -> Iterator[list[int]]:
    batch: list[int] = []
    widest = 0
    for index in indices:
        width = max(widest, len(encoded.targets[index]), len(encoded.sources[index]))
        if batch and width * (len(batch) + 1) > tokens:
            yield batch
            batch, width = [], len(encoded.targets[index])
        batch.append(index)
        widest = width
    if batch:
        yield batch


def collate(encoded: Encoded, batch: list[int]) -> Batch:
    """Source and target tensors of the given pairs, whose sources have equal length."""
    width = max(len(encoded.targets[index]) for index in batch)
    target = torch.full((len(batch), width), PADDING, dtype=torch.int64)
    for row, index in enumerate(batch):
        pieces = torch.from_numpy(encoded.targets[index].astype("int64"))
        target[row, : len(pieces)] = pieces
    source = torch.stack(
        [torch.from_numpy(encoded.sources[index].astype("int64")) for index in batch]
    )
    return source, target
