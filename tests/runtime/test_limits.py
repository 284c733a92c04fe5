"""Sizes of memory."""

import errno
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from builder.errors import DataError, UsageError
from builder.io.disk import convert_path_error, reraise_as_user_errors
from builder.runtime import limits as runtime_limits
from builder.runtime.limits import (
    DEFAULT_MEMORY,
    ResourceLimits,
    check_thread_count,
    count_usable_cores,
    limits_or_default,
    parse_byte_size,
    parse_memory,
    usable_memory_bytes,
)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4GiB", 4 * 2**30),
        ("900MB", 900 * 10**6),
        ("1.5 gib", 3 * 2**29),
        ("2g", 2 * 10**9),
        ("900000KiB", 900_000 * 2**10),
        ("900000k", 900_000_000),
        ("256MiB", 2**28),
        (" 300m ", 300_000_000),
        ("1GB", 10**9),
        ("1gi", 2**30),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "much", "4 elephants", "-1GiB", "1MiB", "4GiBs", "1e9"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(UsageError, match="--memory"):
        parse_memory(text)


def test_a_number_of_threads_is_positive() -> None:
    assert check_thread_count(1) == 1
    for number in (0, -1):
        with pytest.raises(UsageError, match=f"--threads: expected at least 1, found {number}"):
            check_thread_count(number)


def test_limits_do_not_change_while_stages_run(tmp_path: Path) -> None:
    limits = ResourceLimits(tmp_path)
    assert limits.memory == parse_memory(DEFAULT_MEMORY)
    with pytest.raises(FrozenInstanceError):
        limits.threads = 2  # type: ignore[misc]


def test_the_engine_gets_its_limits(tmp_path: Path) -> None:
    with ResourceLimits(tmp_path, threads=1, memory=2**30).connect_to_duckdb() as connection:
        query = "SELECT current_setting('threads'), current_setting('memory_limit')"
        threads, memory = connection.execute(query).fetchall()[0]
    assert threads == 1
    assert memory == "716.0 MiB"


@pytest.mark.parametrize(
    ("quota", "cores"),
    [
        ("max 100000", 8),
        ("150000 100000", 2),
        ("300000 100000", 3),
        ("50000 100000", 1),
        ("0 100000", 1),
        ("9900000 100000", 8),
        ("150000 0", 8),
        ("", 8),
    ],
)
def test_cores_are_those_that_affinity_and_quota_allow(
    quota: str, cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime_limits, "CONTROL_GROUP", tmp_path)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)))
    (tmp_path / "cpu.max").write_text(f"{quota}\n")
    assert count_usable_cores() == cores


def test_memory_is_what_the_machine_has_and_the_control_group_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime_limits, "CONTROL_GROUP", tmp_path)
    monkeypatch.setattr("os.sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1000}.__getitem__)
    assert usable_memory_bytes() == 4_096_000
    for bound, memory in (("max", 4_096_000), ("5000", 5000), ("5000000", 4_096_000)):
        (tmp_path / "memory.max").write_text(f"{bound}\n")
        assert usable_memory_bytes() == memory
    monkeypatch.delattr("os.sysconf")
    assert usable_memory_bytes() is None


def test_the_path_of_an_error_is_told() -> None:
    moved = convert_path_error(OSError(errno.EISDIR, "", ".x.part", None, "x"))
    assert isinstance(moved, UsageError)
    assert str(moved) == "x: expected a file, found a folder; choose another path"
    full = convert_path_error(OSError(errno.EIO, "", "y"))
    assert isinstance(full, DataError)
    assert str(full).startswith("y: ")
    assert convert_path_error(OSError(errno.EPIPE, "")) is None
    redirected = convert_path_error(OSError(errno.ENOSPC, "No space left on device"))
    assert str(redirected) == "cannot write the output: No space left on device; free some space"
    assert convert_path_error(ValueError("z")) is None


def test_an_engine_without_memory_is_told_what_to_raise(tmp_path: Path) -> None:
    limits = ResourceLimits(tmp_path, threads=1, memory=2**20)
    with (
        pytest.raises(DataError, match="stage x needs more memory than the limit; raise --mem"),
        reraise_as_user_errors("stage x", tmp_path),
        limits.connect_to_duckdb() as connection,
    ):
        connection.execute("SELECT list(i) FROM range(10_000_000) r(i)").fetchall()


def test_an_engine_gets_its_share_and_never_less_than_it_needs(tmp_path: Path) -> None:
    def limit(memory: int, share: float) -> str:
        with ResourceLimits(tmp_path, threads=1, memory=memory).connect_to_duckdb(
            share
        ) as connection:
            row = connection.execute("SELECT current_setting('memory_limit')").fetchone()
        return str(row[0]) if row else ""

    assert limit(2**30, 0.5) == "512.0 MiB"
    assert limit(2**28, 0.2) == "128.0 MiB"
    assert limit(2**26, 0.2) == "64.0 MiB"


def test_a_memory_limit_has_a_minimum_and_other_sizes_have_none() -> None:
    with pytest.raises(UsageError) as caught:
        parse_memory("255MiB")
    assert str(caught.value) == "--memory: the minimum is 256MiB, found '255MiB'"
    assert [parse_byte_size(size, "--x") for size in ("1", "0", "0.4", "2KiB")] == [1, 1, 1, 2048]
    with pytest.raises(UsageError) as caught:
        parse_byte_size("many", "--max-size")
    message = "--max-size: expected a size such as 4GiB or 900MB, found 'many'"
    assert str(caught.value) == message


def test_limits_for_a_part_of_the_work_have_their_own_folder(tmp_path: Path) -> None:
    limits = ResourceLimits(tmp_path, threads=3, memory=2**29)
    part = limits.with_scratch_folder("part")
    assert (part.scratch, part.threads, part.memory) == (tmp_path / "part", 3, 2**29)
    assert part.scratch.is_dir()


def test_default_limits_have_a_folder_that_is_removed(tmp_path: Path) -> None:
    given_ = ResourceLimits(tmp_path)
    with limits_or_default(given_) as limits:
        assert limits is given_
    assert tmp_path.is_dir()
    with limits_or_default(None) as limits:
        assert limits.scratch.is_dir()
        assert limits.memory == 4_294_967_296
    assert not limits.scratch.exists()


def test_unknown_sizes_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_limits, "CONTROL_GROUP", Path("/nowhere"))
    monkeypatch.delattr("os.sched_getaffinity")
    for cores, expected in ((None, 1), (6, 6)):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        assert count_usable_cores() == expected
