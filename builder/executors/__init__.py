"""Where the parts of a stage are worked on: here, in other processes, on other machines.

In: a function and the items that it is called with, such as the parts of a table. Out: its results
in the order of the items, whoever worked them out and however often. A worker that dies costs the
item that it held: the item is given to another one, at most `ATTEMPTS` times. Functions write whole
files that the item names, in folders that all workers see, so that to run twice is to run once.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from multiprocessing import current_process
from typing import TYPE_CHECKING

from builder.errors import UsageError, meant
from builder.executors.base import ATTEMPTS, Executor, Item, Local, Result, Task, alone
from builder.executors.cluster import Ray
from builder.executors.ordered import Beside, in_order
from builder.executors.processes import Processes

if TYPE_CHECKING:
    from builder.resources import Limits

__all__ = [
    "ATTEMPTS",
    "Beside",
    "Executor",
    "Local",
    "Processes",
    "Task",
    "alone",
    "executor_of",
    "in_order",
    "in_processes",
    "map_buckets",
    "map_pieces",
]

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


def map_pieces(
    task: Task[Item, Result], items: Iterable[Item], limits: "Limits"
) -> Iterator[Result]:
    """`map_buckets` for tasks that work in one thread: here, as many at a time as there are."""
    if limits.executor.is_here:
        return in_order(lambda item: task(item, limits), items, limits.threads)
    return map_buckets(task, items, limits)


@contextmanager
def in_processes(limits: "Limits", size: int, large: int, worker_bytes: int) -> "Iterator[Limits]":
    """Limits under which much of what holds Python's lock is worked on by processes, not threads.

    They are started with the first piece of work, and kept until the end. A process that is a
    daemon, as the workers of `multiprocessing.Pool` are, may start none.

    Args:
        limits: What may be used; those that others work under stay as they are.
        size: Bytes of the work.
        large: From how many it pays to start processes.
        worker_bytes: Memory that a process takes; where there is none for two, none is started.
    """
    count = min(limits.threads, limits.memory // worker_bytes)
    is_alone = not limits.executor.is_here or current_process().daemon
    if is_alone or count < 2 or size < large:
        yield limits
        return
    with closing(Processes(count)) as workers:
        yield replace(limits, executor=workers)
