"""Errors of libraries and file systems, as a user reads them; output files that are replaced."""

import errno
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from builder.errors import DataError, DiskError, FormatError, LongEvalError, UsageError
from builder.io import disk


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Folder of an operation that has written 3 bytes."""
    (tmp_path / "out/sub").mkdir(parents=True)
    (tmp_path / "out/sub/part").write_bytes(b"abc")
    return tmp_path / "out"


def _limit_disk(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free))


def _chained() -> RuntimeError:
    """Error of a library that was caused by a full disk, two errors before."""
    first, second, third = OSError(errno.ENOSPC, "x"), RuntimeError("flush"), RuntimeError("close")
    second.__cause__, third.__context__ = first, second
    return third


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "x"),
        OSError(errno.EDQUOT, "x"),
        OSError(errno.EFBIG, "x"),
        _chained(),
        duckdb.Error("IO Error: could not write: No space left on device"),
        RuntimeError("Disk quota exceeded (os error 122)"),
    ],
)
def test_a_full_disk_is_named_with_what_was_written_and_what_is_free(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    _limit_disk(monkeypatch, 1_234_567)
    scratch = folder.parent / "scratch"
    scratch.mkdir()
    (scratch / "spilled").write_bytes(b"x" * 1997)
    with (
        pytest.raises(DiskError) as caught,
        disk.reraise_as_user_errors("build", folder, scratch, folder / "none"),
    ):
        raise error
    assert str(caught.value) == (
        f"{folder}: the disk is full: build wrote 2,000 bytes and needs more than the 1,234,567 "
        "bytes that are still free. Free some space, then run the command again; finished stages "
        "are kept"
    )
    assert caught.value.__cause__ is error


def test_a_full_disk_is_that_of_the_nearest_existing_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _limit_disk(monkeypatch, 0)
    with (
        pytest.raises(DiskError, match=f"^{tmp_path}: the disk is full: build wrote 0 bytes and"),
        disk.reraise_as_user_errors("build", tmp_path / "none/yet"),
    ):
        raise OSError(errno.ENOSPC, "x")


@pytest.mark.parametrize(
    ("error", "named"),
    [
        (OSError(errno.EACCES, "x", "/data/qrels"), "/data/qrels"),
        (OSError(errno.EPERM, "x", "/data/qrels"), "/data/qrels"),
        (OSError(errno.EROFS, "x"), None),
        (RuntimeError("Read-only file system (os error 30)"), None),
    ],
)
def test_a_folder_without_write_permission_is_named(
    folder: Path, error: Exception, named: str | None
) -> None:
    with pytest.raises(DiskError) as caught, disk.reraise_as_user_errors("export", folder):
        raise error
    assert str(caught.value) == (
        f"{named or folder}: export has no permission to write here. Choose another --out, or "
        "change the permissions"
    )


def test_an_error_of_a_library_on_a_disk_that_is_almost_full_means_a_full_disk(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Polars reports an invalid footer if it could not write the footer."""
    _limit_disk(monkeypatch, 65_535)
    for error in (pl.exceptions.ComputeError("invalid footer"), OSError("Corrupt snappy data")):
        with (
            pytest.raises(DiskError, match="needs more than the 65,535 bytes"),
            disk.reraise_as_user_errors("build", folder),
        ):
            raise error
    with pytest.raises(ValueError, match="mine"), disk.reraise_as_user_errors("build", folder):
        raise ValueError("mine")


@pytest.mark.parametrize(
    "error",
    [
        pl.exceptions.ComputeError("invalid footer"),
        OSError(errno.ENOENT, "x", "none"),
        ValueError("mine"),
        FormatError("expected text", "No space left on device"),
    ],
)
def test_other_errors_stay_as_they_are(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    _limit_disk(monkeypatch, 65_536)
    with pytest.raises(type(error)) as caught, disk.reraise_as_user_errors("build", folder):
        raise error
    assert caught.value is error


def test_a_memory_limit_that_is_too_low_is_named_as_such(folder: Path) -> None:
    with pytest.raises(DataError) as caught, disk.reraise_as_user_errors("select", folder):
        raise duckdb.OutOfMemoryException("could not allocate block")
    assert type(caught.value) is DataError
    assert str(caught.value) == (
        "select needs more memory than the limit; raise --memory or lower --threads"
    )


def test_an_output_file_is_not_an_input(tmp_path: Path) -> None:
    one, other, link = tmp_path / "one", tmp_path / "other", tmp_path / "link"
    one.touch()
    link.symlink_to(one)
    disk.check_output_is_not_input(other, one)
    disk.check_output_is_not_input(one, other)
    other.touch()
    disk.check_output_is_not_input(one, other)
    with pytest.raises(UsageError) as caught:
        disk.check_output_is_not_input(link, other, one)
    message = f"{link}: the output would overwrite an input; choose another path"
    assert str(caught.value) == message


def test_a_file_is_replaced_only_if_all_of_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "out.tsv"
    path.write_text("old")

    def fail_halfway() -> None:
        with disk.replace_on_success(path) as part:
            part.write_text("half")
            assert path.read_text() == "old"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_halfway()
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"out.tsv": "old"}
    with disk.replace_on_success(path) as part:
        assert part.name == ".out.tsv.part"
        part.write_text("new")
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"out.tsv": "new"}


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (
            OSError(errno.ENOTDIR, "x", "a"),
            UsageError,
            "a: expected a folder, found a file; choose another path",
        ),
        (
            OSError(errno.EEXIST, "x", "a"),
            UsageError,
            "a: expected a folder, found a file; choose another path",
        ),
        (
            OSError(errno.EISDIR, "x", "a"),
            UsageError,
            "a: expected a file, found a folder; choose another path",
        ),
        (OSError(errno.ENOENT, "x", "a"), UsageError, "a: no such file or folder"),
        (OSError(errno.ENOENT, "x", "a", None, "b"), UsageError, "b: no such file or folder"),
        (
            OSError(errno.ENOENT, "x", "absent/a"),
            UsageError,
            "absent/a: the folder absent does not exist",
        ),
        (OSError(errno.EACCES, "x", "a"), DiskError, "a: Permission denied"),
        (
            OSError(errno.ENOSPC, "x"),
            DiskError,
            "cannot write the output: No space left on device; free some space",
        ),
        (
            duckdb.IOException(" file is too small\nLINE 1"),
            DataError,
            (
                "a table cannot be read (duckdb: file is too small); run `longeval validate` to "
                "find damaged files of a collection, or add --debug for a traceback"
            ),
        ),
        (
            OSError("Corrupt snappy data"),
            DataError,
            (
                "a table cannot be read (pyarrow: Corrupt snappy data); run `longeval validate` to "
                "find damaged files of a collection, or add --debug for a traceback"
            ),
        ),
        (
            pl.exceptions.ColumnNotFoundError("grade"),
            DataError,
            (
                "a table cannot be read (polars: grade); run `longeval validate` to find damaged "
                "files of a collection, or add --debug for a traceback"
            ),
        ),
    ],
)
def test_errors_of_files_and_libraries_in_the_words_of_a_user(
    error: Exception, kind: type[LongEvalError], message: str
) -> None:
    found = disk.to_user_error(error)
    assert type(found) is kind
    assert str(found) == message


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EPIPE, os.strerror(errno.EPIPE)),
        ValueError("mine"),
        MemoryError(),
        pa.ArrowMemoryError("malloc of size 9 failed"),
    ],
)
def test_errors_that_are_no_users_fault_are_not_reworded(error: Exception) -> None:
    assert disk.to_user_error(error) is None
