"""Computes and compares checksums, detects Git LFS pointers, and creates hard links."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from builder.io.tables import table_at
from builder.runtime.publisher import sha256
from schemas import TableSchema

LFS_POINTER = b"version https://git-lfs.github.com/spec/"
"""First bytes of a Git LFS pointer, which is checked out if the large file was not downloaded."""


def checksum_lines(folder: Path) -> str:
    """Return the SHA-256 hash of each file below a folder, in the format of `sha256sum`."""
    paths = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    return "".join(f"{sha256(folder / path)}  {path}\n" for path in paths)


def find_changed_files(
    version: Path, entries: Mapping[str, Mapping[str, Any]], table: str
) -> dict[str, str]:
    """Return the files of a table that differ from the manifest, each with a description.

    Args:
        version: Version folder.
        entries: Manifest entry `files`: `sha256` of each file, by path in the version folder.
        table: Path of the table in the version folder, such as `snapshots/2022-06/qrels`.

    Returns:
        Descriptions such as `the file was changed after publication`, by path in the version
        folder, sorted.
    """
    listed = {
        name: entry["sha256"]
        for name, entry in entries.items()
        if name == f"{table}.parquet" or name.rpartition("/")[0] == table
    }
    paths = table_at(version, table, TableSchema).paths
    found = {path.relative_to(version).as_posix() for path in paths}
    changed = dict.fromkeys(listed.keys() - found, "the file is missing")
    changed |= dict.fromkeys(found - listed.keys(), "the file is not listed in the manifest")
    changed |= {
        name: "the file was changed after publication"
        for name in found & listed.keys()
        if sha256(version / name) != listed[name]
    }
    return dict(sorted(changed.items()))


def link_or_copy(source: Path, target: Path) -> None:
    """Create a hard link to a file; copy the file if no hard link can be created."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def is_lfs_pointer(path: Path) -> bool:
    """Whether a file is a Git LFS (Large File Storage) pointer instead of the actual content."""
    with path.open("rb") as file:
        return file.read(len(LFS_POINTER)) == LFS_POINTER
