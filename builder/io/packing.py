"""Group consecutive items into batches of bounded size."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def packed(items: Iterable[Item], size: Callable[[Item], int], most: int) -> Iterator[list[Item]]:
    """Batches of consecutive items with a total size of at most `most`, or of one larger item.

    Args:
        items: The items.
        size: Size of an item.
        most: Maximum total size of a batch.
    """
    held: list[Item] = []
    total = 0
    for item in items:
        takes = size(item)
        if total and total + takes > most:
            yield held
            held, total = [], 0
        held.append(item)
        total += takes
    if held:
        yield held
