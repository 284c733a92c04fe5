"""Atomic publication of a folder of results, by one process at a time.

A process locks the collection (`lock_collection`), writes the results to a temporary folder and the
manifest last (`write_manifest`), syncs the files, and makes the folder visible with a single rename
(`publish_folder`). After a crash or power failure, either the old or the new folder exists.
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
from builder.io.git import describe_checkout_fault

MANIFEST = "manifest.json"
SUMS = "SHA256SUMS"
PARTIAL = ".partial"
WORK = ".work"
RENAME_EXCHANGE = 2
AT_FDCWD = -100


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file as a hexadecimal string."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def canonical_json(value: Any) -> str:
    """Serialize a value as JSON with sorted keys, so that equal values have equal bytes."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, indent=1) + "\n"


def open_unless_symlink(path: Path) -> IO[str]:
    """Open or create a file for reading and writing, unless the path is a symbolic link.

    Raises:
        DataError: The path is a symbolic link.
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
    """Lock a collection's folder while the context is open, and remove files of interrupted runs.

    A file `.gitignore` keeps the work folder out of Git.

    Raises:
        DataError: Another process holds the lock, or the work folder is a symbolic link.
    """
    work = root / WORK
    if work.is_symlink():
        raise DataError(f"{work}: expected a folder, found a symbolic link; remove it")
    work.mkdir(parents=True, exist_ok=True)
    with open_unless_symlink(work / "lock") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DataError(
                f"{root}: another build or import of this collection is running; wait until it "
                "has finished, or use another --out"
            ) from None
        except OSError as error:
            raise DataError(
                f"{work / 'lock'}: cannot lock the file ({error.strerror}); some network file "
                "systems have no locks, so choose an --out on a local disk"
            ) from error
        for leftover in (work / "scratch", *work.rglob(f"*{PARTIAL}")):
            _remove_file_or_folder(leftover)
        if not (work / ".gitignore").exists():
            write_atomically(work / ".gitignore", "*\n")
        yield


def _remove_file_or_folder(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def temporary_folder(path: Path, mode: int = 0o777) -> Iterator[Path]:
    """Create an empty folder, and remove it when the context exits, unless it has been moved."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True, mode=mode)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def publish_folder(new_folder: Path, target: Path) -> None:
    """Sync a folder and atomically move it to its final path, replacing an existing folder.

    Args:
        new_folder: Folder to publish.
        target: Final path, in the same file system.
    """
    _fsync_tree(new_folder)
    if target.exists():
        _replace_folder(target, new_folder)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        new_folder.rename(target)
    _fsync_path(target.parent)


def _replace_folder(target: Path, new_folder: Path) -> None:
    """Replace the folder `target` with `new_folder`, atomically if the system supports it."""
    libc = ctypes.CDLL(None, use_errno=True)
    exchange = getattr(libc, "renameat2", None)
    arguments = (AT_FDCWD, bytes(new_folder), AT_FDCWD, bytes(target), RENAME_EXCHANGE)
    if exchange is None or exchange(*arguments) != 0:
        aside = new_folder.with_name("replaced" + PARTIAL)
        target.rename(aside)
        new_folder.rename(target)
        new_folder = aside
    shutil.rmtree(new_folder)


def _fsync_tree(folder: Path) -> None:
    """Sync a folder and everything below it to disk."""
    for path in sorted(folder.rglob("*")):
        _fsync_path(path)
    _fsync_path(folder)


def _fsync_path(path: Path) -> None:
    if path.is_symlink():
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # unsupported by the file system
            raise
    finally:
        os.close(handle)


def write_atomically(path: Path, text: str) -> None:
    """Write a text file under a temporary name, sync it and rename it to its final name."""
    partial = path.with_name(path.name + PARTIAL)
    with partial.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.rename(path)


def describe_files(folder: Path) -> dict[str, dict[str, Any]]:
    """Return SHA-256, size and Parquet row count of each file in a folder, by relative path."""
    described: dict[str, dict[str, Any]] = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        entry: dict[str, Any] = {"sha256": sha256(path), "bytes": path.stat().st_size}
        if path.suffix == ".parquet":
            entry["rows"] = pq.read_metadata(path).num_rows
        described[path.relative_to(folder).as_posix()] = entry
    return described


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write `manifest.json`, which lists all files in a folder, and `SHA256SUMS`.

    Args:
        folder: Folder to describe.
        manifest: Content of the manifest, to which `files` is added.
    """
    files = describe_files(folder)
    text = canonical_json({**manifest, "files": files})
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    (folder / SUMS).write_text(_checksum_lines(folder, files), encoding="utf-8")


def _checksum_lines(folder: Path, files: Mapping[str, Any]) -> str:
    """Return the content of `SHA256SUMS`: hashes of the manifest and of the files that it lists."""
    sums = {name: entry["sha256"] for name, entry in files.items()}
    sums[MANIFEST] = sha256(folder / MANIFEST)
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items()))


def has_current_checksums(folder: Path, files: Mapping[str, Any]) -> bool:
    """Whether `SHA256SUMS` matches the manifest in a folder and the hashes of the given files."""
    sums = folder / SUMS
    return sums.is_file() and sums.read_bytes() == _checksum_lines(folder, files).encode()


def read_manifest_or_none(folder: Path) -> dict[str, Any] | None:
    """Read the manifest of a published version; return None if it is missing or invalid."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return manifest if isinstance(manifest, dict) else None


def check_publishable(target: Path, *, is_draft: bool) -> None:
    """Raise an error if publishing to a folder would delete files that a build cannot restore.

    A draft may be replaced even if some of its files are damaged.

    Args:
        target: Folder in which the version will be published.
        is_draft: Whether the version is a draft, which a build may replace.

    Raises:
        DataError: The path is a file, a symbolic link or a folder that is not a version, or the
            folder contains a release whose manifest cannot be read.
    """
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        found = "symbolic link" if target.is_symlink() else "file"
        raise DataError(f"{target}: expected a version folder, found a {found}; move it elsewhere")
    if not target.exists() or not any(target.iterdir()):
        return
    if not any((target / name).exists() for name in (MANIFEST, SUMS)):
        raise DataError(
            f"{target}: expected a version folder, found a folder without {MANIFEST}; move it "
            "elsewhere, because a build would replace it"
        )
    if not is_draft and read_manifest_or_none(target) is None:
        fault = describe_checkout_fault(target / MANIFEST)
        raise DataError(
            f"{target} is already published, but {MANIFEST} is missing or cannot be read"
            f"{f' ({fault[0]})' if fault else ''}; restore it, or delete the folder to publish the "
            "version again"
        )
