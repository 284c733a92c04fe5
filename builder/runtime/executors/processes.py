"""Executor that runs tasks in worker processes on this machine.

If a worker dies, its item is retried in another worker. Workers are new interpreters that,
unlike `multiprocessing` workers, import this package but not the calling script. Scripts therefore
need no `__main__` guard, and the executor also works in notebooks and in code piped to Python.
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
from builder.io.threads import ordered_map
from builder.runtime.executors.base import (
    ATTEMPTS,
    Item,
    Result,
    Task,
    run_in_scratch_folder,
    worker_limits,
)

if TYPE_CHECKING:
    from builder.runtime.limits import ResourceLimits

PROGRAM = (
    "import sys; sys.path[:] = sys.argv[2:]; "
    "from builder.runtime.executors.worker import serve_calls; serve_calls(int(sys.argv[1]))"
)


class ProcessExecutor:
    """Executor with a pool of worker processes, which are started on demand.

    Processes are spawned, not forked: multi-threaded engines do not survive a fork.

    Args:
        max_workers: Maximum number of processes; None uses the number of threads in the limits.
    """

    in_process = False

    def __init__(self, max_workers: int | None = None) -> None:
        from builder.runtime.executors.frames import register_arrow_pickling

        register_arrow_pickling()
        self._max_workers = max_workers
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        self._is_closed = False

    def map(
        self, task: Task[Item, Result], items: Iterable[Item], limits: "ResourceLimits"
    ) -> Iterator[Result]:
        """Run a task for every item, and yield the results in the order of the items."""
        self._is_closed = False
        workers = min(limits.threads, self._max_workers or limits.threads)
        call: Callable[[Item], Result] = partial(
            run_in_scratch_folder, task, worker_limits(limits, workers)
        )
        return ordered_map(partial(self._run_in_worker, call), items, workers)

    def _run_in_worker(self, function: Callable[[Item], Result], item: Item) -> Result:
        """Run a function in a worker process, and return the result of the function."""
        for _ in range(ATTEMPTS):
            worker = self._acquire_worker()
            try:
                is_result, reply = worker.call(function, item)
            except BaseException as error:
                worker.close()
                if isinstance(error, (EOFError, ConnectionError)):
                    continue  # the worker died
                raise
            self._release_worker(worker)
            if not is_result:
                raise reply
            result: Result = reply
            return result
        raise DataError(
            f"workers died {ATTEMPTS} times while processing {item}, probably because memory ran "
            "out; reduce --threads, or use a machine with more memory"
        )

    def _acquire_worker(self) -> "_Worker":
        """Return an idle worker process, or start a new one."""
        if self._is_closed:
            raise CancelledError
        try:
            return self._idle.get_nowait()
        except Empty:
            return _Worker()

    def _release_worker(self, worker: "_Worker") -> None:
        """Return a worker process to the pool, or stop it if the executor is closed."""
        if self._is_closed:
            worker.close()
        else:
            self._idle.put(worker)

    def close(self) -> None:
        """Stop all worker processes; a busy one stops after its current task."""
        self._is_closed = True
        while not self._idle.empty():
            self._idle.get().close()


class _Worker:
    """Worker process, with a connection to send calls and receive results."""

    def __init__(self) -> None:
        self._connection, child_end = Pipe()
        descriptor = child_end.fileno()
        with child_end:
            self._process = subprocess.Popen(  # noqa: S603 - runs sys.executable
                [sys.executable, "-c", PROGRAM, str(descriptor), *sys.path],
                stdin=subprocess.DEVNULL,
                pass_fds=[descriptor],
            )

    def call(self, function: Callable[[Item], Result], item: Item) -> tuple[bool, Any]:
        """Run a function in the worker process and return (True, result) or (False, exception).

        Raises:
            EOFError, ConnectionError: The worker process died.
        """
        self._connection.send((function, item))
        reply: tuple[bool, Any] = self._connection.recv()
        return reply

    def close(self) -> None:
        """Stop the worker process by closing the connection, and wait until it has exited."""
        self._connection.close()
        self._process.wait()
