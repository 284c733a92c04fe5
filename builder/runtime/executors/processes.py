"""Runs tasks in other processes of this machine.

The item of a worker that dies is retried on another one. Workers are new interpreters that import
this package and never the calling script, as `multiprocessing` would: a script needs no `__main__`
guard, and a notebook or a pipe works as well.
"""

import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from functools import partial
from multiprocessing import Pipe
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from builder.errors import DataError
from builder.io.threads import in_order
from builder.runtime.executors.base import ATTEMPTS, Item, Result, Task, alone, worker_limits

if TYPE_CHECKING:
    from builder.runtime.limits import Limits

PROGRAM = (
    "import sys; sys.path[:] = sys.argv[2:]; "
    "from builder.runtime.executors.worker import serve; serve(int(sys.argv[1]))"
)


class ProcessExecutor:
    """A pool of processes, one per allowed thread, started on first use.

    They are not forked, because engines with threads do not survive a fork.

    Args:
        max_workers: Upper bound on the number of processes, where memory allows no more.
    """

    is_here = False

    def __init__(self, max_workers: int | None = None) -> None:
        self._max_workers = max_workers
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        self._is_closed = False

    def map(
        self, task: Task[Item, Result], items: Iterable[Item], limits: "Limits"
    ) -> Iterator[Result]:
        """See `map_partitions`."""
        self._is_closed = False
        workers = min(limits.threads, self._max_workers or limits.threads)
        call: Callable[[Item], Result] = partial(alone, task, worker_limits(limits, workers))
        return in_order(partial(self._ask, call), items, workers)

    def _ask(self, call: Callable[[Item], Result], item: Item) -> Result:
        """The result of a call in a worker; called from one thread per worker."""
        for _ in range(ATTEMPTS):
            worker = self._take()
            try:
                is_result, answer = worker.ask(call, item)
            except BaseException as error:
                worker.close()
                if isinstance(error, (EOFError, ConnectionError)):
                    continue  # it died
                raise
            self._give_back(worker)
            if not is_result:
                raise answer
            result: Result = answer
            return result
        raise DataError(
            f"workers died {ATTEMPTS} times, the last time with {item}; the usual reason is "
            "memory: lower --threads, or raise what the machine allows"
        )

    def _take(self) -> "_Worker":
        """An idle worker, or a new one."""
        if self._is_closed:
            raise CancelledError
        try:
            return self._idle.get_nowait()
        except Empty:
            return _Worker()

    def _give_back(self, worker: "_Worker") -> None:
        if self._is_closed:
            worker.close()
        else:
            self._idle.put(worker)

    def close(self) -> None:
        """Stop the processes; busy ones stop when they are done."""
        self._is_closed = True
        while not self._idle.empty():
            self._idle.get().close()


class _Worker:
    """A process that runs `builder.runtime.executors.worker`, and the socket to it."""

    def __init__(self) -> None:
        self._connection, theirs = Pipe()
        descriptor = theirs.fileno()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - this very interpreter
                [sys.executable, "-c", PROGRAM, str(descriptor), *sys.path],
                stdin=subprocess.DEVNULL,
                pass_fds=[descriptor],
            )

    def ask(self, call: Callable[[Item], Result], item: Item) -> tuple[bool, Any]:
        """Whether the call has a result, and the result or the exception.

        Raises:
            EOFError, ConnectionError: the process died.
        """
        self._connection.send((call, item))
        found: tuple[bool, Any] = self._connection.recv()
        return found

    def close(self) -> None:
        """Close the socket, which makes the process exit, and wait for it."""
        self._connection.close()
        self._process.wait()
