"""Publish a folder of results atomically, by one process at a time.

Builds, imports, exports and classification publish through these functions: one process at a time
locks a collection (`lock_collection`); results are written into a private folder, with a manifest
that is written last (`write_manifest`); files are synced before one rename makes them visible
(`publish`).
A kill or a power cut at any moment leaves the old folder or the new one.
"""

import ctypes
import errno
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow.parquet as pq

from builder.errors import DataError

MANIFEST = "manifest.json"
SUMS = "SHA256SUMS"
PARTIAL = ".partial"
WORK = ".work"
RENAME_EXCHANGE = 2
AT_FDCWD = -100


def sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def canonical_json(value: Any) -> str:
    """JSON text with sorted keys, so that equal values give equal bytes."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, indent=1) + "\n"


def open_no_follow(path: Path) -> IO[str]:
    """Open or create a file for appending; symbolic links are refused.

    Raises:
        DataError: the path is a symbolic link.
    """
    try:
        return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+")
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise DataError(
                f"{path}: expected a regular file, found a symbolic link; remove it"
            ) from None
        raise


@contextmanager
def lock_collection(root: Path) -> Iterator[None]:
    """Lock a collection's folder; the lock ends with the process.

    Leftovers of killed processes are removed.

    Raises:
        DataError: another process holds the lock, or the work folder is a symbolic link.
    """
    work = root / WORK
    if work.is_symlink():
        raise DataError(f"{work}: expected a folder, found a symbolic link; remove it")
    work.mkdir(parents=True, exist_ok=True)
    with open_no_follow(work / "lock") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise DataError(
                f"{root}: another build or import of this collection is running; wait for it, "
                "or give another --out"
            ) from None
        for leftover in (work / "scratch", *work.rglob(f"*{PARTIAL}")):
            _remove(leftover)
        yield


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def private_folder(path: Path, mode: int = 0o777) -> Iterator[Path]:
    """Yield a new empty folder for unpublished results, which is removed at the end."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True, mode=mode)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def publish(partial: Path, final: Path) -> None:
    """Move a finished folder to its final path in one step, replacing an older one.

    Args:
        partial: The folder; its files are synced first.
        final: Final path, in the same file system.
    """
    _sync(partial)
    if final.exists():
        _exchange(partial, final)
    else:
        final.parent.mkdir(parents=True, exist_ok=True)
        partial.rename(final)
    _sync_entry(final.parent)


def _exchange(partial: Path, final: Path) -> None:
    """Swap two folders, atomically if the system supports it, and remove the old one."""
    libc = ctypes.CDLL(None, use_errno=True)
    exchange = getattr(libc, "renameat2", None)
    arguments = (AT_FDCWD, bytes(partial), AT_FDCWD, bytes(final), RENAME_EXCHANGE)
    if exchange is None or exchange(*arguments) != 0:
        aside = partial.with_name("replaced" + PARTIAL)
        final.rename(aside)
        partial.rename(final)
        partial = aside
    shutil.rmtree(partial)


def _sync(folder: Path) -> None:
    """Wait until all files and folders below a folder are on the disk."""
    for path in sorted(folder.rglob("*")):
        _sync_entry(path)
    _sync_entry(folder)


def _sync_entry(path: Path) -> None:
    if path.is_symlink():
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # not every file system can
            raise
    finally:
        os.close(handle)


def write_atomically(path: Path, text: str) -> None:
    """Write a text file so that it is there as a whole or not at all."""
    partial = path.with_name(path.name + PARTIAL)
    with partial.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.rename(path)


def describe_files(folder: Path) -> dict[str, dict[str, Any]]:
    """sha256, bytes and (of Parquet) rows of every file below a folder, by relative path."""
    described: dict[str, dict[str, Any]] = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        entry: dict[str, Any] = {"sha256": sha256(path), "bytes": path.stat().st_size}
        if path.suffix == ".parquet":
            entry["rows"] = pq.read_metadata(path).num_rows
        described[path.relative_to(folder).as_posix()] = entry
    return described


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write `manifest.json`, with every file of a finished folder, and `SHA256SUMS` over all.

    Args:
        folder: The folder.
        manifest: What else it says; `files` is added.
    """
    files = describe_files(folder)
    text = canonical_json({**manifest, "files": files})
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    sums = {name: entry["sha256"] for name, entry in files.items()}
    sums[MANIFEST] = hashlib.sha256(text.encode()).hexdigest()
    lines = [f"{digest}  {name}\n" for name, digest in sorted(sums.items())]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def published_manifest(version: Path) -> dict[str, Any] | None:
    """The manifest of a published version, or None."""
    try:
        return dict(json.loads((version / MANIFEST).read_text("utf-8")))
    except (OSError, ValueError):
        return None
