"""Pieces are worked on by threads of this process."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from builder.executors.base import Item, Result


def in_order(
    work: Callable[[Item], Result], pieces: Iterable[Item], threads: int
) -> Iterator[Result]:
    """`work` of each piece in threads; no more than `threads` results wait at a time."""
    if threads == 1:
        yield from map(work, pieces)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Result]] = deque()
        for piece in pieces:
            waiting.append(pool.submit(work, piece))
            if len(waiting) >= threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
