"""Things that follow each other, put together up to a size."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def packed(items: Iterable[Item], size: Callable[[Item], int], most: int) -> Iterator[list[Item]]:
    """Consecutive items in lists whose sizes add up to at most `most`; larger ones stand alone.

    Args:
        items: The items.
        size: What an item takes; after items that take nothing there is room for any.
        most: The bound.
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
