"""Pieces are worked on by threads of this process, or one beside what makes the next."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from builder.executors.base import Item, Result


class Beside:
    """A thread that does one piece of work at a time, beside that of its owner.

    Args:
        name: Of the thread.
    """

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._doing: Future[None] | None = None

    def begin(self, work: Callable[[], None]) -> None:
        """Begin a piece of work once the one before is done; raises what that raised."""
        self.wait()
        self._doing = self._pool.submit(work)

    def wait(self) -> None:
        """Wait for what was begun; raises what it raised, once."""
        doing, self._doing = self._doing, None
        if doing is not None:
            doing.result()

    def close(self) -> None:
        """Let the thread go, when it is done."""
        self._pool.shutdown()


def in_order(
    work: Callable[[Item], Result], pieces: Iterable[Item], threads: int
) -> Iterator[Result]:
    """`work` of each piece in threads, with results in the order of the pieces.

    The next piece is made beside that, in a thread of its own; no more than one piece and
    `threads + 1` results wait at a time.
    """
    if threads == 1:
        yield from map(work, pieces)
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for piece in ahead(pieces):
                waiting.append(pool.submit(work, piece))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def ahead(items: Iterable[Item]) -> Iterator[Item]:
    """Items, of which the next is made in a thread of its own while one is worked on."""
    iterator = iter(items)
    with ThreadPoolExecutor(1, thread_name_prefix="ahead") as pool:
        coming = pool.submit(_next_of, iterator)
        while item := coming.result():
            coming = pool.submit(_next_of, iterator)
            yield item[0]


def _next_of(iterator: Iterator[Item]) -> tuple[Item] | None:
    """The next item, packed; None after the last."""
    return next(((item,) for item in iterator), None)
