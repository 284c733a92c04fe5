"""The executor protocol, and the executor that runs tasks in this process."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from builder.runtime.limits import Limits

Item = TypeVar("Item")
Result = TypeVar("Result")
Task = Callable[[Item, "Limits"], Result]
"""A module-level function, or a `functools.partial` of one, that workers can import."""

ATTEMPTS = 3
"""Attempts for an item before it is considered the cause of the dying workers."""


class Executor(Protocol):
    """Runs a task for every item.

    Attributes:
        is_here: Whether tasks run sequentially in this process, each with all threads.
    """

    is_here: bool

    def map(
        self, task: Task[Item, Result], items: Iterable[Item], limits: "Limits"
    ) -> Iterator[Result]:
        """Results in the order of the items."""

    def close(self) -> None:
        """Stop the workers."""


class LocalExecutor:
    """Runs tasks sequentially in this process, each with all threads."""

    is_here = True

    def map(
        self, task: Task[Item, Result], items: Iterable[Item], limits: "Limits"
    ) -> Iterator[Result]:
        """See `map_partitions`."""
        for item in items:
            yield task(item, limits)

    def close(self) -> None:
        """Do nothing: there are no workers."""


def alone(task: Task[Item, Result], limits: "Limits", item: Item) -> Result:
    """Run a task with a temporary scratch folder of its own."""
    with tempfile.TemporaryDirectory(prefix="worker-", dir=limits.scratch) as scratch:
        return task(item, replace(limits, scratch=Path(scratch)))


def worker_limits(limits: "Limits", workers: int) -> "Limits":
    """Limits of one of several workers: one thread, its share of the memory, no workers."""
    return replace(
        limits, threads=1, memory=max(1, limits.memory // workers), executor=LocalExecutor()
    )
