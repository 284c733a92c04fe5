"""Wherever the parts of a stage are worked on, results are the same, in order, each once."""

import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import closing
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import builder
from builder.errors import DataError, FormatError, UsageError
from builder.runtime.executors import (
    ATTEMPTS,
    Executor,
    LocalExecutor,
    ProcessExecutor,
    create_executor,
    map_partitions,
    worker,
)
from builder.runtime.executors.base import worker_limits
from builder.runtime.limits import ResourceLimits

NAMES = ("local", "processes", "ray")


@pytest.fixture(scope="module", params=NAMES)
def executor(request: pytest.FixtureRequest):
    """Each executor in turn; the one that needs an extra only where it is installed."""
    if request.param == "ray":
        pytest.importorskip("ray")
    workers = create_executor(request.param)
    yield workers
    workers.close()


def squared(number: int, limits: ResourceLimits, home: Path) -> int:
    """Leave a trace, and answer later the earlier the item."""
    assert limits.scratch.is_dir()
    (limits.scratch / "mine").write_text("x")
    with (home / f"{number}").open("a") as file:
        file.write(f"{limits.threads} {limits.memory}\n")
    time.sleep(0.02 * (number % 3))
    return number * number


def test_results_are_in_order_and_scratch_is_private(executor: Executor, tmp_path: Path) -> None:
    scratch, home = tmp_path / "scratch", tmp_path / "home"
    scratch.mkdir()
    home.mkdir()
    limits = ResourceLimits(scratch, threads=2, memory=1000, executor=executor)
    assert list(map_partitions(partial(squared, home=home), range(7), limits)) == [
        number * number for number in range(7)
    ]
    shares = {path.read_text() for path in home.iterdir()}
    is_local = type(executor).__name__ == "LocalExecutor"
    assert shares == {"2 1000\n" if is_local else "1 500\n"}
    assert is_local or list(scratch.iterdir()) == []


SCRIPT = """
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from builder.runtime.executors import ProcessExecutor, map_partitions
from builder.runtime.limits import ResourceLimits
from tests.runtime.test_executors import squared
print("begun")
home = Path({home!r})
limits = ResourceLimits(home / "scratch", threads=2, memory=1000, executor=ProcessExecutor())
print(list(map_partitions(partial(squared, home=home), range(3), limits)))
limits.executor.close()
"""


@pytest.mark.parametrize("is_piped", [True, False])
def test_scripts_need_no_main_guard(tmp_path: Path, is_piped: bool) -> None:
    (tmp_path / "scratch").mkdir()
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(home=str(tmp_path)), "utf-8")
    done = subprocess.run(
        [sys.executable, "-" if is_piped else str(script)],
        input=script.read_text() if is_piped else None,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stdout == "begun\n[0, 1, 4]\n"


def test_main_module_is_unchanged(tmp_path: Path) -> None:
    """Another thread may need it while workers start, to pickle an object of the script."""
    main, seen, is_done = sys.modules["__main__"], set(), threading.Event()

    def watch() -> None:
        while not is_done.is_set():
            seen.add(sys.modules["__main__"])

    watcher = threading.Thread(target=watch)
    watcher.start()
    with closing(ProcessExecutor()) as workers:
        list(workers.map(process_of, range(3), ResourceLimits(tmp_path, threads=2)))
    is_done.set()
    watcher.join()
    assert seen == {main}


ORPHANS = """
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from builder.runtime.executors import ProcessExecutor
from builder.runtime.limits import ResourceLimits
from tests.runtime.test_executors import waits
limits = ResourceLimits(Path({home!r}), threads=2)
list(ProcessExecutor().map(waits, [Path({home!r}, name) for name in "ab"], limits))
"""


def waits(path: Path, limits: ResourceLimits) -> None:
    """Write the number of the process, and wait."""
    path.with_suffix(".part").write_text(str(os.getpid()))
    path.with_suffix(".part").rename(path)
    time.sleep(600)


def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    code = ORPHANS.format(home=str(tmp_path))
    parent = subprocess.Popen([sys.executable, "-c", code], env=environment)
    paths = [tmp_path / name for name in "ab"]
    _wait(lambda: all(path.exists() for path in paths))
    parent.kill()
    parent.wait()
    _wait(lambda: not any(_is_running(int(path.read_text())) for path in paths))


def _wait(is_so: Callable[[], bool]) -> None:
    """Wait until something is so, for five minutes at most."""
    until = time.monotonic() + 300
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)


def _is_running(process: int) -> bool:
    stat = Path(f"/proc/{process}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


def dies_once(number: int, limits: ResourceLimits, home: Path) -> int:
    """The worker of item 3 is killed when it first gets it."""
    if number == 3 and not (home / "died").exists():
        (home / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def dies(number: int, limits: ResourceLimits) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def fails(number: int, limits: ResourceLimits) -> int:
    raise FormatError(f"no {number}", "file.txt", number)


def test_item_of_a_dead_worker_is_retried(executor: Executor, tmp_path: Path) -> None:
    if isinstance(executor, LocalExecutor):
        pytest.skip("its worker is this process")
    limits = ResourceLimits(tmp_path, threads=2, executor=executor)
    task = partial(dies_once, home=tmp_path)
    assert list(map_partitions(task, range(8), limits)) == list(range(8))
    assert (tmp_path / "died").exists()
    assert list(map_partitions(task, range(4), limits)) == [0, 1, 2, 3]


def test_item_that_kills_all_workers_is_reported(tmp_path: Path) -> None:
    with closing(ProcessExecutor()) as workers:
        limits = ResourceLimits(tmp_path, threads=2, executor=workers)
        with pytest.raises(DataError, match=f"died {ATTEMPTS} times while processing 0"):
            list(map_partitions(dies, range(3), limits))


def test_errors_of_workers_are_those_of_the_task(executor: Executor, tmp_path: Path) -> None:
    limits = ResourceLimits(tmp_path, threads=2, executor=executor)
    with pytest.raises(FormatError, match=r"file\.txt, line 5: no 5") as raised:
        list(map_partitions(fails, [5], limits))
    assert raised.value.line == 5
    assert raised.value.exit_code == 1


def gives_what_cannot_be_sent(_: int, limits: ResourceLimits) -> object:
    return lambda: None


def test_unpicklable_result_raises(tmp_path: Path) -> None:
    with (
        closing(ProcessExecutor()) as workers,
        pytest.raises(RuntimeError, match=r"cannot pickle the result .*lambda"),
    ):
        list(workers.map(gives_what_cannot_be_sent, [1], ResourceLimits(tmp_path, threads=2)))


def process_of(_: int, limits: ResourceLimits) -> int:
    """The process that works here."""
    return os.getpid()


def test_fewer_processes_than_threads(tmp_path: Path) -> None:
    workers = ProcessExecutor(max_workers=1)
    found = set(workers.map(process_of, range(6), ResourceLimits(tmp_path, threads=3)))
    workers.close()
    assert len(found) == 1
    assert found != {os.getpid()}


def test_unknown_executors_are_refused() -> None:
    with pytest.raises(UsageError, match="did you mean 'processes'"):
        create_executor("proceses")


@pytest.mark.parametrize("name", NAMES[1:])
def test_a_collection_is_the_same_bytes(
    name: str, undisturbed: tuple[Path, str], tmp_path: Path
) -> None:
    definition, wanted = undisturbed
    if name == "ray":
        pytest.importorskip("ray")
    report = builder.build(definition, tmp_path, threads=2, executor=name)
    assert report.version is not None
    assert (report.version / "SHA256SUMS").read_text() == wanted


class _EndedError(Exception):
    """Raised instead of the end of the process."""


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Exit codes with which a worker that runs in this process ended."""
    codes: list[int] = []

    def end(code: int) -> None:
        codes.append(code)
        raise _EndedError

    monkeypatch.setattr("os._exit", end)
    return codes


def test_a_worker_answers_every_call_until_its_parent_closes_the_connection(
    ends: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    watched: list[Any] = []
    handlers: list[Any] = []
    monkeypatch.setattr(worker, "Thread", lambda **options: watched.append(options) or Started())
    monkeypatch.setattr("signal.signal", lambda *handler: handlers.append(handler))

    class Started:
        def start(self) -> None:
            watched.append("started")

    parent, child = multiprocessing.Pipe()
    descriptor = os.dup(child.fileno())
    child.close()
    replies: list[Any] = []

    def ask() -> None:
        for call in ((abs, -3), (len, 5), (gives_lambda, 0), (abs, -4)):
            parent.send(call)
            replies.append(parent.recv())
        parent.close()

    asking = threading.Thread(target=ask)
    asking.start()
    with pytest.raises(_EndedError):
        worker.serve_calls(descriptor)
    asking.join()
    assert ends == [1]
    assert handlers == [(signal.SIGINT, signal.SIG_IGN)]
    assert watched[-1] == "started"
    assert {**watched[0], "target": None} == {"target": None, "args": (descriptor,), "daemon": True}
    assert [is_result for is_result, _ in replies] == [True, False, False, True]
    assert (replies[0][1], replies[3][1]) == (3, 4)
    assert isinstance(replies[1][1], TypeError)
    assert "in _run_next_call" in "".join(replies[1][1].__notes__)
    assert re.fullmatch(
        "cannot pickle the result <function gives_lambda.*lambda.*>: .*", str(replies[2][1])
    )


def gives_lambda(_: int) -> Callable[[], None]:
    return lambda: None


def test_a_worker_ends_when_its_parent_does_and_not_when_a_call_waits(ends: list[int]) -> None:
    parent, child = multiprocessing.Pipe()
    parent.send("a call that nobody has received yet")

    def watch() -> None:
        with pytest.raises(_EndedError):
            worker._exit_when_parent_exits(child.fileno())

    watching = threading.Thread(target=watch)
    watching.start()
    watching.join(0.05)
    assert ends == []
    parent.close()
    watching.join()
    assert ends == [1]


def test_an_executor_that_is_closed_starts_no_worker_and_keeps_none() -> None:
    class Worker:
        is_closed = False

        def close(self) -> None:
            self.is_closed = True

    executor, idle, busy = ProcessExecutor(), Worker(), Worker()
    executor._release_worker(idle)  # type: ignore[arg-type]
    assert executor._acquire_worker() is idle
    executor._release_worker(idle)  # type: ignore[arg-type]
    executor.close()
    assert idle.is_closed
    executor._release_worker(busy)  # type: ignore[arg-type]
    assert busy.is_closed
    with pytest.raises(CancelledError):
        executor._acquire_worker()


def test_a_worker_gets_a_share_of_the_memory_and_one_thread(tmp_path: Path) -> None:
    limits = ResourceLimits(tmp_path, threads=4, memory=1000, executor=ProcessExecutor())
    for workers, memory in ((3, 333), (2000, 1)):
        share = worker_limits(limits, workers)
        assert (share.threads, share.memory, share.scratch) == (1, memory, tmp_path)
        assert isinstance(share.executor, LocalExecutor)


class FakeRay:
    """Ray's calls, run at once; `connected` is whether a cluster is in use."""

    def __init__(self, connected: bool) -> None:
        self.connected = connected
        self.options: dict[str, int] = {}
        self.started: dict[str, object] = {}
        self.exceptions = SimpleNamespace(RayTaskError=KeyError, RayError=OSError)

    def is_initialized(self) -> bool:
        return self.connected

    def init(self, **options: object) -> None:
        self.started = options
        self.connected = True

    def shutdown(self) -> None:
        self.connected = False

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}

    def put(self, value: object) -> object:
        return value

    def get(self, value: object) -> object:
        if isinstance(value, Exception):
            raise value
        return value

    def remote(self, **options: int) -> Callable[[Any], Any]:
        self.options = options
        return lambda function: SimpleNamespace(remote=function)


@pytest.mark.parametrize("connected", [False, True])
def test_ray_retries_and_ends_only_the_connection_that_was_opened_here(
    connected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = FakeRay(connected)
    monkeypatch.setitem(sys.modules, "ray", ray)
    executor = create_executor("ray")
    limits = ResourceLimits(tmp_path, threads=2, memory=1000, executor=executor)
    task = partial(squared, home=tmp_path)
    for _ in range(2):
        assert list(map_partitions(task, range(5), limits)) == [0, 1, 4, 9, 16]
    assert ray.options == {"max_retries": ATTEMPTS - 1, "num_cpus": 1}
    executor.close()
    assert ray.connected == connected


@pytest.mark.parametrize("address", [None, "ray://head:10001"])
def test_ray_is_started_with_as_many_processors_as_threads_unless_it_runs_elsewhere(
    address: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = FakeRay(connected=False)
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    if address:
        monkeypatch.setenv("RAY_ADDRESS", address)
    executor = create_executor("ray")
    assert not executor.in_process
    limits = ResourceLimits(tmp_path, threads=5, memory=1000, executor=executor)
    list(map_partitions(partial(squared, home=tmp_path), [1], limits))
    options = {"log_to_driver": False, "include_dashboard": False, "configure_logging": False}
    assert ray.started == ({} if address else {"num_cpus": 5}) | options
    assert (tmp_path / "1").read_text() == "1 200\n"  # a thread and a fifth of the memory


def test_ray_is_asked_ahead_for_as_many_items_as_it_has_processors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", FakeRay(connected=True))
    limits = ResourceLimits(tmp_path, threads=5, executor=create_executor("ray"))
    asked: list[int] = []
    items = (asked.append(n) or n for n in range(6))
    found = map_partitions(partial(squared, home=tmp_path), items, limits)
    assert (next(found), asked) == (0, [0, 1, 2])
    assert (list(found), asked) == ([1, 4, 9, 16, 25], list(range(6)))


@pytest.mark.parametrize(("resources", "ahead"), [({}, 2), ({"CPU": 0.5}, 2), ({"CPU": 3.0}, 4)])
def test_a_cluster_has_at_least_one_processor(
    resources: dict[str, float], ahead: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = FakeRay(connected=True)
    monkeypatch.setattr(ray, "cluster_resources", lambda: resources)
    monkeypatch.setitem(sys.modules, "ray", ray)
    limits = ResourceLimits(tmp_path, threads=5, executor=create_executor("ray"))
    asked: list[int] = []
    items = (asked.append(n) or n for n in range(6))
    next(map_partitions(partial(squared, home=tmp_path), items, limits))
    assert len(asked) == ahead


def test_errors_of_ray_are_told_from_those_of_a_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = FakeRay(connected=True)
    monkeypatch.setitem(sys.modules, "ray", ray)
    limits = ResourceLimits(tmp_path, threads=1, executor=create_executor("ray"))
    failed = KeyError()
    failed.cause = FormatError("no 5", "file.txt", 5)  # type: ignore[attr-defined]
    given = [failed, OSError("out of memory")]
    monkeypatch.setattr(
        ray, "remote", lambda **_: lambda _: SimpleNamespace(remote=lambda *_: given.pop(0))
    )
    with pytest.raises(FormatError, match="no 5"):
        list(map_partitions(fails, [5], limits))
    with pytest.raises(DataError) as caught:
        list(map_partitions(fails, [5], limits))
    assert str(caught.value) == "Ray failed to run the task for 5: out of memory"
