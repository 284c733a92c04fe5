"""Batches of sentences of equal length, so that a translation does not depend on its batch.

Without padding, the shapes of the matrix multiplications of the attention depend only on the length
of the sentence, not on the other sentences in the batch. All other matrix multiplications process
the whole batch at once, but in int8 they are exact for any batch size. The translation of a
sentence and its score are therefore bit-identical for any batch size, any order and any state of
the translation memory. With other compute types, rounding depends on the batch size, so only
batches of one sentence are reproducible.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby


def batch_by_length(
    lengths: Sequence[int], max_tokens: int, max_sentences: int | None = None
) -> Iterator[list[int]]:
    """Group sentences with equal numbers of tokens into batches, longest sentences first.

    Args:
        lengths: Number of tokens of each sentence.
        max_tokens: Maximum number of tokens per batch; a longer sentence is a batch by itself.
        max_sentences: Maximum number of sentences per batch; None: unlimited.

    Yields:
        For each batch, the indices of its sentences in `lengths`.
    """
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    for length, group in groupby(order, key=lengths.__getitem__):
        indices = list(group)
        size = max(1, max_tokens // max(length, 1))
        size = min(size, max_sentences or size)
        yield from (indices[start : start + size] for start in range(0, len(indices), size))
