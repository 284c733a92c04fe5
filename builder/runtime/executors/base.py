"""The `Executor` protocol and its in-process implementation."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from builder.runtime.limits import ResourceLimits

Item = TypeVar("Item")
Result = TypeVar("Result")
Task = Callable[[Item, "ResourceLimits"], Result]
"""Module-level function, or `functools.partial` of one, so that worker processes can import it."""

ATTEMPTS = 3
"""Maximum number of attempts per item before the run fails."""


class Executor(Protocol):
    """Interface of executors, which run a task for every item.

    Attributes:
        in_process: Whether tasks run one after another in this process, each with all threads.
    """

    in_process: bool

    def map(
        self, task: Task[Item, Result], items: Iterable[Item], limits: "ResourceLimits"
    ) -> Iterator[Result]:
        """Run a task for every item, and yield the results in the order of the items."""

    def close(self) -> None:
        """Stop the workers of the executor."""


class LocalExecutor:
    """Executor that runs tasks one after another in this process, each with all threads."""

    in_process = True

    def map(
        self, task: Task[Item, Result], items: Iterable[Item], limits: "ResourceLimits"
    ) -> Iterator[Result]:
        """Run a task for every item, and yield the results in the order of the items."""
        for item in items:
            yield task(item, limits)

    def close(self) -> None:
        """Do nothing: this executor has no workers."""


def run_in_scratch_folder(task: Task[Item, Result], limits: "ResourceLimits", item: Item) -> Result:
    """Run a task in a temporary scratch folder, which is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="worker-", dir=limits.scratch) as scratch:
        return task(item, replace(limits, scratch=Path(scratch)))


def worker_limits(limits: "ResourceLimits", worker_count: int) -> "ResourceLimits":
    """Return the limits of one of several workers: one thread and an equal share of the memory."""
    return replace(
        limits, threads=1, memory=max(1, limits.memory // worker_count), executor=LocalExecutor()
    )
