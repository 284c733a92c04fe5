"""Executors that run a task for every partition: in this process, in worker processes, or on Ray.

Results are returned in the order of the items. If a worker dies, its item is retried in another
worker, with at most `ATTEMPTS` attempts in total. Tasks must therefore be idempotent: they write
whole files, named after the item, into folders that every worker can see.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from multiprocessing import current_process
from typing import TYPE_CHECKING

from builder.errors import UsageError, suggest
from builder.io.threads import ordered_map
from builder.runtime.executors.base import (
    ATTEMPTS,
    Executor,
    Item,
    LocalExecutor,
    Result,
    Task,
    run_in_scratch_folder,
)
from builder.runtime.executors.cluster import RayExecutor
from builder.runtime.executors.processes import ProcessExecutor

if TYPE_CHECKING:
    from builder.runtime.limits import ResourceLimits

__all__ = [
    "ATTEMPTS",
    "Executor",
    "LocalExecutor",
    "ProcessExecutor",
    "Task",
    "create_executor",
    "map_partitions",
    "ordered_map",
    "process_pool",
    "run_in_scratch_folder",
]

EXECUTORS: dict[str, Callable[[], Executor]] = {
    "local": LocalExecutor,
    "processes": ProcessExecutor,
    "ray": RayExecutor,
}
"""Executor class for each value of the option `--executor`."""


def create_executor(name: str) -> Executor:
    """Create the executor registered under a name.

    Raises:
        UsageError: No executor has this name.
        MissingExtraError: The executor needs a package that is not installed.
    """
    if name not in EXECUTORS:
        raise UsageError(f"--executor: unknown executor {name!r}; {suggest(name, EXECUTORS)}")
    return EXECUTORS[name]()


def map_partitions(
    task: Task[Item, Result],
    items: Iterable[Item],
    limits: "ResourceLimits",
    *,
    single_threaded: bool = False,
) -> Iterator[Result]:
    """Run a task for every item on the executor in `limits`, and yield the results.

    Args:
        task: Called with an item and the limits of its worker; must be importable by name.
        items: Small descriptions of the work, such as paths.
        limits: Executor, and the threads, memory and scratch space shared by its workers.
        single_threaded: Whether the task uses a single thread, so that the in-process executor may
            run several tasks in parallel threads.

    Returns:
        Results in the order of the items, computed lazily with bounded read-ahead.

    Raises:
        DataError: Workers died `ATTEMPTS` times on the same item.
    """
    if single_threaded and limits.executor.in_process:
        return ordered_map(lambda item: task(item, limits), items, limits.threads)
    return limits.executor.map(task, items, limits)


@contextmanager
def process_pool(
    limits: "ResourceLimits", input_bytes: int, min_input_bytes: int, memory_per_worker: int
) -> "Iterator[ResourceLimits]":
    """Context manager that yields limits whose executor is a process pool, if the input is large.

    The pool is shut down on exit. The limits are yielded unchanged if the input is small, if the
    memory or threads suffice for one process only, if the limits already have another executor, or
    in a daemon process, which cannot have child processes.

    Args:
        limits: Threads, memory and scratch space shared by all workers.
        input_bytes: Size of the input in bytes.
        min_input_bytes: Minimum input size in bytes for which a pool is created.
        memory_per_worker: Memory per process in bytes; no pool is created unless two processes fit.
    """
    count = min(limits.threads, limits.memory // memory_per_worker)
    is_unsupported = not limits.executor.in_process or current_process().daemon
    if is_unsupported or count < 2 or input_bytes < min_input_bytes:
        yield limits
        return
    with closing(ProcessExecutor(count)) as executor:
        yield replace(limits, executor=executor)
