"""Computes checksums of files, recognizes pointers of Git LFS, and creates hard links to files."""

import os
import shutil
from pathlib import Path

from builder.runtime.publisher import sha256

LFS_POINTER = b"version https://git-lfs.github.com/spec/"
"""First bytes of a file that Git LFS checks out instead of a large file."""


def checksum_lines(folder: Path) -> str:
    """Return the SHA-256 hash of each file below a folder, in the format of `sha256sum`."""
    paths = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    return "".join(f"{sha256(folder / path)}  {path}\n" for path in paths)


def link_or_copy(source: Path, target: Path) -> None:
    """Create a hard link to a file; copy the file if no hard link can be created."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def is_lfs_pointer(path: Path) -> bool:
    """Whether a file is a Git LFS (Large File Storage) pointer instead of the file itself."""
    with path.open("rb") as file:
        return file.read(len(LFS_POINTER)) == LFS_POINTER
