"""Disks that fill, and folders that may not be written to."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import builder
from builder.errors import DataError, DiskError
from builder.io import disk
from builder.io.disk import reraise_as_user_errors
from tests.faults.disks import fill, mounted, offsets, total_size
from tests.faults.kills import published


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, where one may be mounted."""
    with mounted(tmp_path / "disk") as folder:
        if folder is None:
            pytest.skip("mounting is not permitted here")
        yield folder


def test_a_disk_that_fills(undisturbed: tuple[Path, str], small_disk: Path) -> None:
    definition, wanted = undisturbed
    needed = total_size(published(definition).parent)
    for size in offsets(needed, 1, seed=4):
        assert fill(definition, small_disk, size, wanted) is None


def test_a_read_only_place(undisturbed: tuple[Path, str], small_disk: Path) -> None:
    definition, _ = undisturbed
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(DiskError, match="no permission to write here"):
        builder.build(definition, small_disk / "out")


def test_what_engines_say_of_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"x" * 1234)
    for error in (
        OSError(28, "x"),
        RuntimeError("IO Error: No space left on device (os error 28)"),
    ):
        message = r"wrote 1,234 bytes and needs more than the [0-9,]+ bytes that are still free"
        with pytest.raises(DiskError, match=message), reraise_as_user_errors("stage x", tmp_path):
            raise error
    monkeypatch.setattr(disk, "MIN_FREE_BYTES", 2**62)
    with (
        pytest.raises(DiskError, match="the disk is full"),
        reraise_as_user_errors("stage x", tmp_path),
    ):
        raise pl.exceptions.ComputeError("parquet: File out of specification")
    with (
        pytest.raises(DataError, match="something else"),
        reraise_as_user_errors("stage x", tmp_path),
    ):
        raise DataError("something else")
    with pytest.raises(ValueError, match="y"), reraise_as_user_errors("stage x", tmp_path):
        raise ValueError("y")
