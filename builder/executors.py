"""Where the parts of a stage are worked on: here, in other processes, on other machines.

In: a function and the items that it is called with, such as the parts of a table. Out: its results
in the order of the items, whoever worked them out and however often. A worker that dies costs the
item that it held: the item is given to another one, at most `ATTEMPTS` times. Functions write whole
files that the item names, in folders that all workers see, so that to run twice is to run once.
"""

import os
import signal
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import partial
from importlib import import_module
from multiprocessing import connection, get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from builder.errors import DataError, MissingExtraError, UsageError, meant

if TYPE_CHECKING:
    from builder.resources import Limits

Item = TypeVar("Item")
Result = TypeVar("Result")
Task = Callable[[Item, "Limits"], Result]
"""A function of a module, or a `functools.partial` of one: others must be able to import it."""

ATTEMPTS = 3
"""Times an item is given to a worker before it is taken for the cause of the deaths."""


class Executor(Protocol):
    """Calls a task with every item.

    Args:
        is_here: Whether tasks run one after the other in this process, with all its threads.
    """

    is_here: bool

    def map(
        self, task: Task[Item, Result], items: Iterable[Item], limits: "Limits"
    ) -> Iterator[Result]:
        """Results in the order of the items."""

    def close(self) -> None:
        """Let workers go."""


def map_buckets(
    task: Task[Item, Result], items: Iterable[Item], limits: "Limits"
) -> Iterator[Result]:
    """Call a task with every item, by the executor of the limits.

    Args:
        task: Gets an item and the limits of its worker; it must be importable by name.
        items: Small things that say what to work on, such as paths.
        limits: What all workers together may use.

    Returns:
        The results in the order of the items; few wait at a time.

    Raises:
        DataError: workers died of one item again and again.
    """
    return limits.executor.map(task, items, limits)


class Local:
    """One item after the other, in this process, with all its threads."""

    is_here = True

    def map(
        self, task: Task[Item, Result], items: Iterable[Item], limits: "Limits"
    ) -> Iterator[Result]:
        """See `map_buckets`."""
        for item in items:
            yield task(item, limits)

    def close(self) -> None:
        """There is nothing to let go."""


class Processes:
    """As many processes as threads are allowed, started when they are first needed.

    They are started afresh (`spawn`), because engines with threads do not survive a fork.
    """

    is_here = False

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    def map(
        self, task: Task[Item, Result], items: Iterable[Item], limits: "Limits"
    ) -> Iterator[Result]:
        """See `map_buckets`."""
        workers = limits.threads
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
            self._pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=_obey)
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


class Ray:
    """Core tasks of Ray, on this machine or on the cluster that `RAY_ADDRESS` names.

    Workers need the collection's folder at the same path, and this package.
    """

    is_here = False

    def __init__(self) -> None:
        try:
            ray = import_module("ray")
        except ImportError:
            raise MissingExtraError("--executor ray", "cluster") from None
        self._ray: Any = ray
        self._started = False

    def map(
        self, task: Task[Item, Result], items: Iterable[Item], limits: "Limits"
    ) -> Iterator[Result]:
        """See `map_buckets`."""
        workers = self._start(limits.threads)
        share = worker_limits(limits, limits.threads)
        call = self._ray.remote(max_retries=ATTEMPTS - 1, num_cpus=1)(_given)
        given = self._ray.put((task, share))
        waiting: deque[tuple[Item, Any]] = deque()
        for item in items:
            waiting.append((item, call.remote(given, item)))
            if len(waiting) > workers:
                yield self._result(*waiting.popleft())
        while waiting:
            yield self._result(*waiting.popleft())

    def _result(self, item: Any, reference: Any) -> Any:
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from error
        except self._ray.exceptions.RayError as error:
            raise DataError(f"ray gave up on {item}: {error}") from None

    def _start(self, threads: int) -> int:
        """Join the cluster, or start workers here; returns how many there are."""
        if not self._started and not self._ray.is_initialized():
            here = {} if os.environ.get("RAY_ADDRESS") else {"num_cpus": threads}
            self._ray.init(
                **here, log_to_driver=False, include_dashboard=False, configure_logging=False
            )
        self._started = True
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        if self._started:
            self._ray.shutdown()
            self._started = False


def alone(task: Task[Item, Result], limits: "Limits", item: Item) -> Result:
    """A task with a scratch folder of its own, which goes away."""
    with tempfile.TemporaryDirectory(prefix="worker-", dir=limits.scratch) as scratch:
        return task(item, replace(limits, scratch=Path(scratch)))


def _given(given: tuple[Task[Item, Result], "Limits"], item: Item) -> Result:
    return alone(*given, item)


EXECUTORS: dict[str, Callable[[], Executor]] = {
    "local": Local,
    "processes": Processes,
    "ray": Ray,
}
"""Executors by the name that they have on the command line."""


def executor_of(name: str) -> Executor:
    """A new executor.

    Raises:
        UsageError: there is none of that name.
        MissingExtraError: it needs a package that is not installed.
    """
    if name not in EXECUTORS:
        raise UsageError(f"--executor: no executor {name!r}; {meant(name, EXECUTORS)}")
    return EXECUTORS[name]()


def worker_limits(limits: "Limits", workers: int) -> "Limits":
    """What one of several workers may use: one thread, its share of the memory, no workers."""
    return replace(limits, threads=1, memory=max(1, limits.memory // workers), executor=Local())


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
