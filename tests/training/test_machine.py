"""Background work waits for a benchmark."""

import time
from pathlib import Path
from threading import Event, Thread

from workflows.machine import benchmark, wait_for_benchmark


def test_work_waits_while_a_benchmark_measures(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    wait_for_benchmark(lock)
    went_on = Event()

    def work() -> None:
        wait_for_benchmark(lock)
        went_on.set()

    with benchmark(lock):
        thread = Thread(target=work)
        thread.start()
        time.sleep(0.2)
        assert not went_on.is_set()
    thread.join(10)
    assert went_on.is_set()


def test_a_benchmark_that_failed_holds_nobody_up(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    try:
        with benchmark(lock):
            raise KeyError
    except KeyError:
        wait_for_benchmark(lock)
