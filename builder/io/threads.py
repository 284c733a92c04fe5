"""Thread helpers: ordered parallel map, prefetching, and a thread for background calls."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class BackgroundThread:
    """Background thread that runs one function at a time.

    Args:
        name: Name of the thread.
    """

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._running: Future[None] | None = None

    def start(self, function: Callable[[], None]) -> None:
        """Wait until the previous function has finished, then run a function in the background.

        If the previous function raised an exception, the exception is re-raised.
        """
        self.wait()
        self._running = self._pool.submit(function)

    def wait(self) -> None:
        """Wait until the running function has finished; re-raise the exception that it raised."""
        running, self._running = self._running, None
        if running is not None:
            running.result()

    def close(self) -> None:
        """Let the running function finish, then stop the thread."""
        self._pool.shutdown()


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Iterator[Result]:
    """Apply a function to items in parallel threads; yield the results in the order of the items.

    Args:
        function: Function to apply.
        items: Items, read in a background thread unless `threads` is 1.
        threads: Number of threads.
    """
    if threads == 1:
        yield from map(function, items)
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for item in prefetch(items):
                waiting.append(pool.submit(function, item))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def prefetch(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items of an iterable, and compute each next item in a background thread."""
    iterator = iter(items)
    with ThreadPoolExecutor(1, thread_name_prefix="prefetch") as pool:
        upcoming = pool.submit(_next_or_none, iterator)
        while item := upcoming.result():
            upcoming = pool.submit(_next_or_none, iterator)
            yield item[0]


def _next_or_none(iterator: Iterator[Item]) -> tuple[Item] | None:
    """Return the next item of an iterator as a 1-tuple; None after the last item."""
    return next(((item,) for item in iterator), None)
