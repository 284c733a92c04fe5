"""Work on pieces in several threads, results in the order of the pieces, few at a time."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def in_order(
    work: Callable[[Piece], Result], pieces: Iterable[Piece], threads: int
) -> Iterator[Result]:
    """`work` of each piece; no more than `threads` results wait at a time."""
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
