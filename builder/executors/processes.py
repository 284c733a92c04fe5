"""Parts are worked on by other processes of this machine.

A worker that dies costs the item that it held: the item is given to another one. Workers import
the program alone, never the script that it is called from, so that a script needs no guard and may
come from a notebook or a pipe.
"""

import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import connection, parent_process
from multiprocessing.context import SpawnContext, SpawnProcess
from threading import Lock, Thread
from types import ModuleType
from typing import TYPE_CHECKING, Any

from builder.errors import DataError
from builder.executors.base import ATTEMPTS, Item, Result, Task, alone, worker_limits

if TYPE_CHECKING:
    from builder.resources import Limits

_launching = Lock()


class Processes:
    """As many processes as threads are allowed, started when they are first needed.

    They are started afresh (`spawn`), because engines with threads do not survive a fork.

    Args:
        most: Fewer, where memory does not allow as many.
    """

    is_here = False

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._pool: ProcessPoolExecutor | None = None

    def map(
        self, task: Task[Item, Result], items: Iterable[Item], limits: "Limits"
    ) -> Iterator[Result]:
        """See `map_buckets`."""
        workers = min(limits.threads, self._most or limits.threads)
        call: Callable[[Item], Result] = partial(alone, task, worker_limits(limits, workers))
        waiting: deque[tuple[Item, Future[Result]]] = deque()
        for item in items:
            waiting.append((item, self._submit(call, item, workers)))
            if len(waiting) > workers:
                yield self._first(waiting, call, workers)
        while waiting:
            yield self._first(waiting, call, workers)

    def _first(
        self,
        waiting: "deque[tuple[Item, Future[Result]]]",
        call: Callable[[Item], Result],
        workers: int,
    ) -> Result:
        """The result of the first item; where a worker died, all are given out again."""
        for _ in range(ATTEMPTS):
            try:
                result = waiting[0][1].result()
            except BrokenProcessPool:
                self.close()
                again = [(item, self._submit(call, item, workers)) for item, _ in waiting]
                waiting.clear()
                waiting.extend(again)
            else:
                waiting.popleft()
                return result
        raise DataError(
            f"workers died {ATTEMPTS} times, the last time with {waiting[0][0]}; the usual reason "
            "is memory: lower --threads, or raise what the machine allows"
        )

    def _submit(self, call: Callable[[Item], Result], item: Item, workers: int) -> "Future[Result]":
        if self._pool is None:
            self._pool = ProcessPoolExecutor(workers, _Context(), initializer=_obey)
        try:
            return self._pool.submit(call, item)
        except BrokenProcessPool:  # a worker died while nobody waited
            self.close()
            return self._submit(call, item, workers)

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


class _Worker(SpawnProcess):
    """A process that is told of no main module: it would run the script from its first line."""

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802 - what it is called there
        with _launching:
            main = sys.modules["__main__"]
            sys.modules["__main__"] = ModuleType("__main__")
            try:
                return SpawnProcess._Popen(process_obj)
            finally:
                sys.modules["__main__"] = main


class _Context(SpawnContext):
    Process = _Worker


def _obey() -> None:
    """A worker leaves Ctrl-C to its parent, and ends when that does, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        sentinel = parent.sentinel

        def watch() -> None:
            connection.wait([sentinel])
            os._exit(1)

        Thread(target=watch, daemon=True).start()
