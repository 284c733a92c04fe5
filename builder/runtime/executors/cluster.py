"""Executor for Ray, on this machine or on a cluster (extra `cluster`)."""

import os
from collections import deque
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from builder.errors import DataError, MissingExtraError
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


class RayExecutor:
    """Executor that uses the Ray cluster at `$RAY_ADDRESS` or, if unset, a local Ray cluster.

    All workers need this package, and must see the collection at the same path.
    """

    in_process = False

    def __init__(self) -> None:
        try:
            ray = import_module("ray")
        except ImportError:
            raise MissingExtraError("--executor ray", "cluster") from None
        from builder.runtime.executors.frames import register_arrow_pickling

        register_arrow_pickling()
        self._ray: Any = ray
        self._started = False

    def map(
        self, task: Task[Item, Result], items: Iterable[Item], limits: "ResourceLimits"
    ) -> Iterator[Result]:
        """Run a task for every item, and yield the results in the order of the items."""
        workers = self._connect_or_start_ray(limits.threads)
        share = worker_limits(limits, limits.threads)
        call = self._ray.remote(max_retries=ATTEMPTS - 1, num_cpus=1)(_run_task)
        shared = self._ray.put((task, share))
        pending: deque[tuple[Item, Any]] = deque()
        for item in items:
            pending.append((item, call.remote(shared, item)))
            if len(pending) > workers:
                yield self._get_result(*pending.popleft())
        while pending:
            yield self._get_result(*pending.popleft())

    def _get_result(self, item: Any, reference: Any) -> Any:
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from error
        except self._ray.exceptions.RayError as error:
            raise DataError(f"Ray failed to run the task for {item}: {error}") from None

    def _connect_or_start_ray(self, threads: int) -> int:
        """Connect to the Ray cluster or start a local one; return the number of its CPUs."""
        if not self._ray.is_initialized():
            local_cpus = {} if os.environ.get("RAY_ADDRESS") else {"num_cpus": threads}
            self._ray.init(
                **local_cpus, log_to_driver=False, include_dashboard=False, configure_logging=False
            )
            self._started = True
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def close(self) -> None:
        """Close the connection to Ray if this executor opened it; shut down a local cluster."""
        if self._started:
            self._ray.shutdown()
            self._started = False


def _run_task(task_and_limits: tuple[Task[Item, Result], "ResourceLimits"], item: Item) -> Result:
    return run_in_scratch_folder(*task_and_limits, item)
