"""Group consecutive items into batches of bounded size."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def batch_by_size(
    items: Iterable[Item], size: Callable[[Item], int], max_size: int
) -> Iterator[list[Item]]:
    """Yield batches of consecutive items whose sizes sum to at most `max_size`.

    An item above the limit is a batch of its own.

    Args:
        items: Items of any type.
        size: Function that returns the size of an item.
        max_size: Maximum total size of a batch.
    """
    batch: list[Item] = []
    total = 0
    for item in items:
        item_size = size(item)
        if total and total + item_size > max_size:
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += item_size
    if batch:
        yield batch
