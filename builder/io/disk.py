"""Converts library errors about full disks, exhausted memory and unreadable files to user errors.

Libraries raise errors of their own, often without the path. They are replaced by one error that
names the path, the number of bytes written and still free, or the setting to change.
"""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from builder.errors import DataError, DiskError, LongEvalError, UsageError

ENGINE_MODULES = {"polars", "pyarrow", "duckdb", "_duckdb"}
"""Modules whose exceptions are about tables; compared by name to avoid imports."""
OUT_OF_MEMORY = "OutOfMemoryException"
"""Name of DuckDB's exception for exceeding its memory limit."""
DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
NOT_WRITABLE = {errno.EROFS, errno.EACCES, errno.EPERM}
PATH_PROBLEMS = {
    errno.ENOTDIR: "expected a folder, found a file; choose another path",
    errno.EEXIST: "expected a folder, found a file; choose another path",
    errno.EISDIR: "expected a file, found a folder; choose another path",
    errno.ENOENT: "no such file or folder",
    errno.ENAMETOOLONG: "the name is too long for the file system",
    errno.ELOOP: "the symbolic links form a loop",
}
"""Explanations of errors in a path from the command line or the definition."""
DISK_MESSAGES = {
    "No space left on device": True,
    "Disk quota exceeded": True,
    "Read-only file system": False,
}
"""Messages of engines, and whether they mean a full disk (True) or a read-only one."""


MIN_FREE_BYTES = 2**16
"""Free bytes below which any engine error is taken for a full disk: Polars reports a footer that it
could not write as an invalid one."""


@contextmanager
def explain_errors(work: str, folder: Path, *others: Path) -> Iterator[None]:
    """Context manager that converts disk and memory errors of libraries to user errors.

    Args:
        work: Name of the operation, for the message.
        folder: Folder that the operation writes to.
        others: Further folders that it writes to, such as the scratch folder.

    Raises:
        DiskError: the disk is full or read-only.
        DataError: an engine exceeded its memory limit.
    """
    try:
        yield
    except LongEvalError:
        raise
    except Exception as error:
        is_full = _is_disk_full(error)
        if is_full is None and _library_names(error):
            is_full = shutil.disk_usage(_existing_parent(folder)).free < MIN_FREE_BYTES or None
        if type(error).__name__ == OUT_OF_MEMORY:
            raise DataError(
                f"{work} needs more memory than the limit; raise --memory or lower --threads"
            ) from error
        if is_full is None:
            raise
        home = _existing_parent(folder)
        if not is_full:
            raise DiskError(
                f"{_error_path(error) or home}: no permission to write, which {work} needs. Choose "
                "another --out, or change the permissions"
            ) from error
        written = sum(_folder_bytes(path) for path in (folder, *others))
        free = shutil.disk_usage(home).free
        raise DiskError(
            f"{home}: the disk is full: {work} wrote {written:,} bytes, {free:,} bytes are free, "
            f"and it needs more than {written + free:,} bytes. Free some space and run it again; "
            "finished stages are kept"
        ) from error


def check_output_is_no_input(out: Path, *inputs: Path) -> None:
    """Raise UsageError if an output path is also one of the input paths."""
    for path in inputs:
        if out.exists() and path.exists() and out.samefile(path):
            raise UsageError(f"{out}: the output would overwrite an input; choose another path")


def to_user_error(error: BaseException) -> LongEvalError | None:
    """Convert an exception of a library or the OS to a user error; None if it indicates a bug."""
    return path_error(error) or table_error(error)


def path_error(error: BaseException) -> LongEvalError | None:
    """Convert a file system error with a path to a user error; None for other errors."""
    if not isinstance(error, OSError) or error.filename is None or error.errno is None:
        return None
    path, problem = error.filename2 or error.filename, PATH_PROBLEMS.get(error.errno)
    if problem is not None:
        return UsageError(f"{path}: {problem}")
    return DiskError(f"{path}: {os.strerror(error.errno)}")


def table_error(error: BaseException) -> LongEvalError | None:
    """Convert an engine error about a table to a user error; None for other errors.

    This is a fallback: readers of tables normally name the file themselves. Arrow reports data that
    cannot be decompressed as an OSError without errno.
    """
    engines = _library_names(error)
    if not engines or isinstance(error, MemoryError):
        return None
    message = str(error).strip().partition("\n")[0]
    return DataError(
        f"a table cannot be read ({min(engines).strip('_')}: {message}); run `longeval validate` "
        "to find damaged files of a collection, or add --debug for a traceback"
    )


def _library_names(error: BaseException) -> set[str]:
    """Return the names of the libraries that may have raised the error."""
    if isinstance(error, OSError) and error.errno is None:
        return {"pyarrow"}
    return {kind.__module__.partition(".")[0] for kind in type(error).__mro__} & ENGINE_MODULES


def _is_disk_full(error: BaseException) -> bool | None:
    """Return True if an error reports a full disk, False if a read-only one, otherwise None."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in DISK_FULL | NOT_WRITABLE:
            return cause.errno in DISK_FULL
        for message, is_full in DISK_MESSAGES.items():
            if message in str(cause):
                return is_full
        cause = cause.__cause__ or cause.__context__
    return None


def _error_path(error: BaseException) -> str | None:
    """Return the path that an OSError names; None if it names no path."""
    return str(error.filename) if isinstance(error, OSError) and error.filename else None


def _existing_parent(path: Path) -> Path:
    """Return the path if it is a folder, else its nearest existing parent."""
    return next((p for p in (path, *path.absolute().parents) if p.is_dir()), Path("/"))


def _folder_bytes(folder: Path) -> int:
    """Return the total size of the files in a folder."""
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) if folder.is_dir() else 0
