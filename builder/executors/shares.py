"""Threads of this process that take what they work on from one place, and keep what they know.

Where each result says much that the next one repeats, one result of each thread is less to put
together than one of each item.
"""

from collections.abc import Callable, Iterable, Iterator
from threading import Lock

from builder.executors.base import Item, Result
from builder.executors.ordered import in_order


def in_shares(
    work: Callable[[int, Iterator[Item]], Result], items: Iterable[Item], threads: int
) -> Iterator[Result]:
    """`work` by every thread, with its number and those items that it takes before others do.

    Once a call has failed, the others find no more items.
    """
    left = _Left(items)

    def share(number: int) -> Result:
        try:
            return work(number, left)
        except BaseException:
            left.stop()
            raise

    yield from in_order(share, range(threads), threads)


class _Left(Iterator[Item]):
    """Items that nobody has taken; made one at a time."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._items, self._lock, self._is_over = iter(items), Lock(), False

    def __next__(self) -> Item:
        with self._lock:
            if self._is_over:
                raise StopIteration
            return next(self._items)

    def stop(self) -> None:
        """There are no more."""
        self._is_over = True
