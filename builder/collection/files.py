"""Compares the files of a version with its manifest, writes checksums, and creates hard links."""

import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from builder.errors import DataError
from builder.io.git import describe_checkout_fault
from builder.io.parquet import ends_with_magic
from builder.io.tables import table_at
from builder.runtime.publisher import SUMS, has_current_checksums, sha256
from builder.text.listing import join_names
from schemas import TableSchema

MAX_LISTED = 3
"""Maximum number of files listed in an error message."""

REBUILD = "rebuild the version from its definition, or download it again"
CONVERTED = "the line endings of the file were converted to CRLF"
KEEP_LINE_ENDINGS = (
    "put a line such as `collections/** -text` into .gitattributes, so that Git does not convert "
    "line endings, and check out the file again"
)


class FileChange(NamedTuple):
    """Difference between a file and the manifest of its version.

    Args:
        description: Clause such as `the file is missing`.
        fix: How to correct the difference.
    """

    description: str
    fix: str


def checksum_lines(folder: Path) -> str:
    """Return the SHA-256 hash of each file below a folder, in the format of `sha256sum`."""
    paths = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    return "".join(f"{sha256(folder / path)}  {path}\n" for path in paths)


def find_changed_files(
    version: Path, entries: Mapping[str, Mapping[str, Any]]
) -> dict[str, FileChange]:
    """Return the files in a manifest that are missing or have changed, sorted by path.

    Args:
        version: Version folder.
        entries: Manifest entry `files`, or a part of it: `sha256` and `bytes` of each file, by
            path in the version folder.
    """
    changed = {}
    for name, entry in sorted(entries.items()):
        path = version / name
        try:
            if not path.is_file():
                changed[name] = FileChange("the file is missing", REBUILD)
            elif sha256(path) != entry["sha256"]:
                changed[name] = _describe_change(path, entry["sha256"], int(entry.get("bytes", 0)))
        except OSError as error:
            changed[name] = describe_unreadable_file(error)
    return changed


def is_intact(version: Path, entries: Mapping[str, Mapping[str, Any]], *, is_draft: bool) -> bool:
    """Return whether the files of a published version are those of its manifest.

    Args:
        version: Version folder.
        entries: Manifest entry `files`; see `find_changed_files`.
        is_draft: Whether the version may be built again.

    Raises:
        DataError: files of a version that is not a draft were changed or deleted.
    """
    changed = [*find_changed_files(version, entries)]
    changed += [] if has_current_checksums(version, entries) else [SUMS]
    if changed and not is_draft:
        names = join_names(changed, MAX_LISTED, ", ")
        raise DataError(
            f"{version} is already published, but files were changed or deleted afterwards "
            f"({names}); restore them, or delete the folder to publish "
            "the version again"
        )
    return not changed


def describe_unreadable_file(error: OSError) -> FileChange:
    """Return the `FileChange` for a file that exists but cannot be read."""
    fix = "correct the permissions of the file, or copy the version again"
    return FileChange(f"cannot read the file: {error.strerror or error}", fix)


def find_changed_table_files(
    version: Path, entries: Mapping[str, Mapping[str, Any]], table: str
) -> dict[str, FileChange]:
    """Return the files of a table that differ from the manifest or are not listed in it.

    Args:
        version: Version folder.
        entries: Manifest entry `files`; see `find_changed_files`.
        table: Path of the table in the version folder, such as `snapshots/2022-06/qrels`.
    """
    listed = {
        name: entry
        for name, entry in entries.items()
        if name == f"{table}.parquet" or name.rpartition("/")[0] == table
    }
    paths = table_at(version, table, TableSchema).paths
    found = {path.relative_to(version).as_posix() for path in paths}
    unlisted = FileChange("the file is not listed in the manifest", "remove the file")
    changed = find_changed_files(version, listed) | dict.fromkeys(found - listed.keys(), unlisted)
    return dict(sorted(changed.items()))


def _describe_change(path: Path, expected_hash: str, expected_bytes: int) -> FileChange:
    """Return how a file differs from its published version, and how to correct the difference."""
    if fault := describe_checkout_fault(path):
        return FileChange(*fault)
    if hash_with_unix_line_endings(path) == expected_hash:
        return FileChange(CONVERTED, KEEP_LINE_ENDINGS)
    size = path.stat().st_size
    if size == expected_bytes:
        return FileChange("the SHA-256 hash of the file differs from the manifest", REBUILD)
    is_truncated = size < expected_bytes and _is_truncated(path)
    change = "the file was truncated" if is_truncated else "the file was changed"
    return FileChange(f"{change}: {size:,} bytes instead of {expected_bytes:,}", REBUILD)


def _is_truncated(path: Path) -> bool:
    """Whether a file is empty, or is a Parquet file whose footer is missing."""
    is_empty = not path.stat().st_size
    return is_empty or (path.suffix == ".parquet" and not ends_with_magic(path))


def hash_with_unix_line_endings(path: Path) -> str:
    """Return the SHA-256 that a file would have with LF line endings instead of CRLF."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for line in file:
            digest.update(line.replace(b"\r\n", b"\n"))
    return digest.hexdigest()


def link_or_copy(source: Path, target: Path) -> None:
    """Create a hard link to a file; copy the file if no hard link can be created."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
