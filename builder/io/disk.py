"""Converts library errors about full disks, exhausted memory and unreadable files to user errors.

Polars, DuckDB and Arrow raise their own errors, often without the path. The user errors
(`LongEvalError`) name the path, state how many bytes were written and how many are free, or say
which option or command helps. Also guards output files: against overwriting an input, and against
being left incomplete.
"""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from builder.errors import DataError, DiskError, LongEvalError, UsageError

ENGINE_MODULES = {"polars", "pyarrow", "duckdb", "_duckdb"}
"""Names of libraries that raise exceptions about tables. An exception is attributed to a library
by name, so that the library need not be imported."""
OUT_OF_MEMORY = "OutOfMemoryException"
"""Name of the exception that DuckDB raises if it exceeds its memory limit."""
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
"""Explanation of each file system error that a wrong path can cause, by error number."""
DISK_MESSAGES = {
    "No space left on device": True,
    "Disk quota exceeded": True,
    "Read-only file system": False,
}
"""Maps texts of library errors to True if they mean a full disk, and to False if a read-only
disk."""

MIN_FREE_BYTES = 2**16
"""Number of free bytes below which every library error is attributed to a full disk. Polars, for
example, reports an invalid footer if it could not write the footer."""


@contextmanager
def reraise_as_user_errors(operation: str, folder: Path, *other_folders: Path) -> Iterator[None]:
    """Context manager that converts disk and memory errors of libraries to user errors.

    Args:
        operation: Name of the operation, for messages.
        folder: Folder to which the operation writes.
        other_folders: Other folders to which the operation writes, such as the scratch folder.

    Raises:
        DiskError: the disk is full or read-only.
        DataError: DuckDB exceeded its memory limit.
    """
    try:
        yield
    except LongEvalError:
        raise
    except Exception as error:
        is_full = _classify_disk_error(error)
        if is_full is None and _possible_source_libraries(error):
            is_full = (
                shutil.disk_usage(_nearest_existing_folder(folder)).free < MIN_FREE_BYTES or None
            )
        if type(error).__name__ == OUT_OF_MEMORY:
            raise DataError(
                f"{operation} needs more memory than the limit; raise --memory or lower --threads"
            ) from error
        if is_full is None:
            raise
        home = _nearest_existing_folder(folder)
        if not is_full:
            raise DiskError(
                f"{_path_of_error(error) or home}: {operation} has no permission to write here. "
                "Choose another --out, or change the permissions"
            ) from error
        written = sum(_folder_size(path) for path in (folder, *other_folders))
        free = shutil.disk_usage(home).free
        raise DiskError(
            f"{home}: the disk is full: {operation} wrote {written:,} bytes and needs more than "
            f"the {free:,} bytes that are still free. Free some space, then run the command again; "
            "finished stages are kept"
        ) from error


def check_output_is_not_input(out: Path, *inputs: Path) -> None:
    """Raise UsageError if the output file is the same file as one of the inputs."""
    for path in inputs:
        if out.exists() and path.exists() and out.samefile(path):
            raise UsageError(f"{out}: the output would overwrite an input; choose another path")


@contextmanager
def replace_on_success(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to a file; replace the file with it unless an error is raised."""
    part = path.with_name(f".{path.name}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def to_user_error(error: BaseException) -> LongEvalError | None:
    """Convert a library or file system error to a user error; return None for other errors."""
    return convert_path_error(error) or convert_engine_error(error)


def convert_path_error(error: BaseException) -> LongEvalError | None:
    """Convert a file system error to a user error; return None for other errors.

    An error without a path is converted only if the disk is full. Such errors occur, for example,
    if standard output is redirected to a file.
    """
    if not isinstance(error, OSError) or error.errno is None:
        return None
    if error.filename is None:
        message = f"cannot write the output: {os.strerror(error.errno)}; free some space"
        return DiskError(message) if error.errno in DISK_FULL else None
    path, problem = error.filename2 or error.filename, PATH_PROBLEMS.get(error.errno)
    if error.errno == errno.ENOENT and not (parent := Path(os.fsdecode(path)).parent).exists():
        problem = f"the folder {parent} does not exist"
    if problem is not None:
        return UsageError(f"{path}: {problem}")
    return DiskError(f"{path}: {os.strerror(error.errno)}")


def convert_engine_error(error: BaseException) -> LongEvalError | None:
    """Convert an error raised by Polars, DuckDB or Arrow to a user error.

    Return None for errors raised by other libraries, and for exhausted memory.

    This is a fallback, since most readers of tables name the file in their own errors. Arrow
    reports data that cannot be decompressed as an OSError without errno.
    """
    engines = _possible_source_libraries(error)
    if not engines or isinstance(error, MemoryError):
        return None
    message = str(error).strip().partition("\n")[0]
    return DataError(
        f"a table cannot be read ({min(engines).strip('_')}: {message}); run `longeval validate` "
        "to find damaged files of a collection, or add --debug for a traceback"
    )


def _possible_source_libraries(error: BaseException) -> set[str]:
    """Return which of Polars, DuckDB and PyArrow may have raised an error; empty if none."""
    if isinstance(error, OSError) and error.errno is None:
        return {"pyarrow"}
    return {kind.__module__.partition(".")[0] for kind in type(error).__mro__} & ENGINE_MODULES


def _classify_disk_error(error: BaseException) -> bool | None:
    """Return True if the disk was full, False if it was not writable, None for any other error."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in DISK_FULL | NOT_WRITABLE:
            return cause.errno in DISK_FULL
        for message, is_full in DISK_MESSAGES.items():
            if message in str(cause):
                return is_full
        cause = cause.__cause__ or cause.__context__
    return None


def _path_of_error(error: BaseException) -> str | None:
    """Return the path of an OSError; None if the error has no path or is not an OSError."""
    return str(error.filename) if isinstance(error, OSError) and error.filename else None


def _nearest_existing_folder(path: Path) -> Path:
    """Return a path if it is an existing folder, otherwise its nearest existing parent folder."""
    return next((p for p in (path, *path.absolute().parents) if p.is_dir()), Path("/"))


def _folder_size(folder: Path) -> int:
    """Return the total size in bytes of all files in a folder; 0 if the folder does not exist."""
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) if folder.is_dir() else 0
