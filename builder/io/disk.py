"""Translate errors about full disks, exhausted memory and damaged tables.

Engines raise errors of their own, often without the path. Here they become one error that names the
path, the bytes written and the bytes left, or the setting to raise.
"""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from builder.errors import DataError, DiskError, LongEvalError, UsageError

ENGINES = {"polars", "pyarrow", "duckdb", "_duckdb"}
"""Modules whose errors are about tables; told by name, as the next."""
OUT_OF_MEMORY = "OutOfMemoryException"
"""What DuckDB raises; told by its name, so that nothing heavy is imported for it."""
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
CLOSED = {errno.EROFS, errno.EACCES, errno.EPERM}
MISPLACED = {
    errno.ENOTDIR: "a file stands where a folder is needed; name another place",
    errno.EEXIST: "a file stands where a folder is needed; name another place",
    errno.EISDIR: "a folder stands where a file is needed; name another place",
    errno.ENOENT: "no such file or folder, and none can be made",
    errno.ENAMETOOLONG: "the name is too long for the file system",
    errno.ELOOP: "its links lead back to it",
}
"""What is wrong with a path that a person gave."""
WORDS = {
    "No space left on device": True,
    "Disk quota exceeded": True,
    "Read-only file system": False,
}
"""What engines say, and whether it means that the disk is full."""


LEAST_FREE = 2**16
"""Free bytes below which an engine's error means that the disk is full, whatever it says: Polars
reports a footer that it could not write as an invalid one."""


@contextmanager
def explain_errors(work: str, folder: Path, *others: Path) -> Iterator[None]:
    """Translate errors raised inside the `with` block; see Raises.

    Args:
        work: The operation, for the message.
        folder: Folder that is written to.
        others: Further folders that are written to, such as the scratch folder.

    Raises:
        DiskError: the disk is full or read-only.
        DataError: an engine exceeded its memory limit.
    """
    try:
        yield
    except LongEvalError:
        raise
    except Exception as error:
        is_full = _is_full(error)
        if is_full is None and _engines_of(error):
            is_full = shutil.disk_usage(_existing(folder)).free < LEAST_FREE or None
        if type(error).__name__ == OUT_OF_MEMORY:
            raise DataError(
                f"{work} needs more memory than it may hold; raise --memory, or lower --threads"
            ) from error
        if is_full is None:
            raise
        home = _existing(folder)
        if not is_full:
            raise DiskError(
                f"{_path_in(error) or home}: may not be written to; {work} needs that. Give "
                "another --out, or permission"
            ) from error
        written = sum(_size(path) for path in (folder, *others))
        free = shutil.disk_usage(home).free
        raise DiskError(
            f"{home}: the disk is full: {work} had written {written:,} bytes, {free:,} bytes were "
            f"left, and it needs more than these {written + free:,} bytes. Free some space and run "
            "it again; finished stages are kept"
        ) from error


def keep_apart(out: Path, *inputs: Path) -> None:
    """Raise a `UsageError` if an output path is also an input path."""
    for given in inputs:
        if out.exists() and given.exists() and out.samefile(given):
            raise UsageError(f"{out}: a result cannot replace what it is made of; name another")


def about(error: BaseException) -> LongEvalError | None:
    """User message for an exception of a library or the OS; None if it indicates a bug here."""
    return about_a_path(error) or about_a_table(error)


def about_a_path(error: BaseException) -> LongEvalError | None:
    """User message for a file system error with a path; None for any other error."""
    if not isinstance(error, OSError) or error.filename is None or error.errno is None:
        return None
    path, wrong = error.filename2 or error.filename, MISPLACED.get(error.errno)
    if wrong is not None:
        return UsageError(f"{path}: {wrong}")
    return DiskError(f"{path}: {os.strerror(error.errno)}")


def about_a_table(error: BaseException) -> LongEvalError | None:
    """User message for an engine error about a table; None for any other error.

    This is a fallback: readers of tables normally name the file themselves. Arrow reports data that
    cannot be decompressed as an OSError without errno.
    """
    engines = _engines_of(error)
    if not engines or isinstance(error, MemoryError):
        return None
    told = str(error).strip().partition("\n")[0]
    return DataError(
        f"a table cannot be used ({min(engines).strip('_')}: {told}); `longeval validate` tells "
        "what is damaged in a collection, --debug where this was met"
    )


def _engines_of(error: BaseException) -> set[str]:
    """Names of the engines that may have raised the error."""
    if isinstance(error, OSError) and error.errno is None:
        return {"pyarrow"}
    return {kind.__module__.partition(".")[0] for kind in type(error).__mro__} & ENGINES


def _is_full(error: BaseException) -> bool | None:
    """Whether an error reports a full disk (True) or a read-only one (False); None if neither."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.errno in FULL | CLOSED:
            return seen.errno in FULL
        for words, is_full in WORDS.items():
            if words in str(seen):
                return is_full
        seen = seen.__cause__ or seen.__context__
    return None


def _path_in(error: BaseException) -> str | None:
    return str(error.filename) if isinstance(error, OSError) and error.filename else None


def _existing(path: Path) -> Path:
    """The path itself if it exists, else its nearest existing parent."""
    return next((p for p in (path, *path.absolute().parents) if p.is_dir()), Path("/"))


def _size(folder: Path) -> int:
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) if folder.is_dir() else 0
