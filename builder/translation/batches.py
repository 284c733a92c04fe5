"""Which sentences are decoded together.

In: the lengths of sentences in pieces. Out: batches of their indices, longest first. All sentences
of a batch have the same length. There is then no padding, so every matrix product over positions
has the same shape whatever the neighbours are; and products over the batch are exact where they
are made of integers (int8). So the output of a sentence does not depend on its batch, not in one
bit of its score; a translation memory, another order and another batch size change nothing. Other
compute types round products over the batch by its size: there only batches of one are exact.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby


def equal_length_batches(
    lengths: Sequence[int], most_tokens: int, most_sentences: int | None = None
) -> Iterator[list[int]]:
    """Indices of sentences in batches of one length, longest first, in order within a length.

    Args:
        lengths: Pieces of each sentence.
        most_tokens: Pieces in a batch; a longer sentence is a batch of its own.
        most_sentences: Sentences in a batch, where that is limited too.
    """
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    for length, group in groupby(order, key=lengths.__getitem__):
        indices = list(group)
        size = max(1, most_tokens // max(length, 1))
        size = min(size, most_sentences or size)
        yield from (indices[start : start + size] for start in range(0, len(indices), size))
