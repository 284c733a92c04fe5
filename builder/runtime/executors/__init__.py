"""Executors: run a task for every partition in this process, in other processes or on Ray.

In: a function and its items, such as the partitions of a table. Out: its results in the order of
the items. When a worker dies, its item is retried on another one, up to `ATTEMPTS` times in all.
Tasks are idempotent: they write whole files, named by the item, into folders that all workers see.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from multiprocessing import current_process
from typing import TYPE_CHECKING

from builder.errors import UsageError, meant
from builder.io.threads import BackgroundThread, in_order
from builder.runtime.executors.base import (
    ATTEMPTS,
    Executor,
    Item,
    LocalExecutor,
    Result,
    Task,
    alone,
)
from builder.runtime.executors.cluster import RayExecutor
from builder.runtime.executors.processes import ProcessExecutor

if TYPE_CHECKING:
    from builder.runtime.limits import Limits

__all__ = [
    "ATTEMPTS",
    "BackgroundThread",
    "Executor",
    "LocalExecutor",
    "ProcessExecutor",
    "Task",
    "alone",
    "executor_of",
    "in_order",
    "in_processes",
    "map_partitions",
    "map_pieces",
]

EXECUTORS: dict[str, Callable[[], Executor]] = {
    "local": LocalExecutor,
    "processes": ProcessExecutor,
    "ray": RayExecutor,
}
"""Executors by their name on the command line."""


def executor_of(name: str) -> Executor:
    """A new executor.

    Raises:
        UsageError: there is none of that name.
        MissingExtraError: it needs a package that is not installed.
    """
    if name not in EXECUTORS:
        raise UsageError(f"--executor: no executor {name!r}; {meant(name, EXECUTORS)}")
    return EXECUTORS[name]()


def map_partitions(
    task: Task[Item, Result],
    items: Iterable[Item],
    limits: "Limits",
    *,
    single_threaded: bool = False,
) -> Iterator[Result]:
    """Call a task for every item, with the executor of the limits.

    Args:
        task: Called with an item and the limits of its worker; importable by name.
        items: Small descriptions of the work, such as paths.
        limits: Threads, memory and scratch space of all workers together.
        single_threaded: Whether a task uses one thread, so that several run in parallel when the
            executor is this process.

    Returns:
        The results in the order of the items; only a few are buffered.

    Raises:
        DataError: workers died `ATTEMPTS` times on one item.
    """
    if single_threaded and limits.executor.is_here:
        return in_order(lambda item: task(item, limits), items, limits.threads)
    return limits.executor.map(task, items, limits)


@contextmanager
def in_processes(limits: "Limits", size: int, large: int, worker_bytes: int) -> "Iterator[Limits]":
    """Limits whose executor is a pool of processes, for large work that holds Python's lock.

    Processes start with the first task and end with the context. The limits are returned unchanged
    for small work, under another executor, and in daemon processes, which cannot have children.

    Args:
        limits: Threads, memory and scratch space of all workers together.
        size: Bytes of the work.
        large: Bytes from which starting processes pays off.
        worker_bytes: Memory of one process; without room for two, none is started.
    """
    count = min(limits.threads, limits.memory // worker_bytes)
    is_alone = not limits.executor.is_here or current_process().daemon
    if is_alone or count < 2 or size < large:
        yield limits
        return
    with closing(ProcessExecutor(count)) as workers:
        yield replace(limits, executor=workers)
