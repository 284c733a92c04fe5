"""What an executor is, and the one that works here, one item after the other."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

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


def alone(task: Task[Item, Result], limits: "Limits", item: Item) -> Result:
    """A task with a scratch folder of its own, which goes away."""
    with tempfile.TemporaryDirectory(prefix="worker-", dir=limits.scratch) as scratch:
        return task(item, replace(limits, scratch=Path(scratch)))


def worker_limits(limits: "Limits", workers: int) -> "Limits":
    """What one of several workers may use: one thread, its share of the memory, no workers."""
    return replace(limits, threads=1, memory=max(1, limits.memory // workers), executor=Local())
