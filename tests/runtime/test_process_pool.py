"""Where processes are started instead of threads, and where not."""

import multiprocessing
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from builder.runtime.executors import ProcessExecutor, map_partitions, process_pool
from builder.runtime.limits import ResourceLimits

LIMITS = ResourceLimits(Path(), threads=2, memory=2**30)


def double(number: int, limits: ResourceLimits) -> int:
    assert limits.threads == 1
    return 2 * number


def thread_of(_: int, limits: ResourceLimits) -> int:
    return threading.get_ident()


def test_only_single_threaded_tasks_share_the_threads_of_the_process() -> None:
    here = threading.get_ident()
    assert set(map_partitions(thread_of, range(4), LIMITS)) == {here}
    assert here not in set(map_partitions(thread_of, range(4), LIMITS, single_threaded=True))


def stays_as_it_is() -> bool:
    with process_pool(LIMITS, 10, 10, 2**29) as some:
        return some is LIMITS


def test_large_work_uses_processes() -> None:
    with process_pool(LIMITS, 10, 10, 2**29) as some:
        assert isinstance(some.executor, ProcessExecutor)
        assert list(map_partitions(double, range(5), some, single_threaded=True)) == [0, 2, 4, 6, 8]


@pytest.mark.parametrize(
    ("limits", "size"),
    [
        (LIMITS, 9),  # little work
        (replace(LIMITS, threads=1), 10),
        (replace(LIMITS, memory=2**30 - 1), 10),
        (replace(LIMITS, memory=2**28), 10),
        (replace(LIMITS, executor=ProcessExecutor()), 10),
    ],
)
def test_other_fields_are_unchanged(limits: ResourceLimits, size: int) -> None:
    with process_pool(limits, size, 10, 2**29) as some:
        assert some is limits


def test_no_pool_in_a_daemon_process() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(stays_as_it_is)
    assert not stays_as_it_is()
