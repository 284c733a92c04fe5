"""Recognizes files that Git left unusable: Git LFS pointers, and files with conflict markers."""

from pathlib import Path

LFS_POINTER = b"version https://git-lfs.github.com/spec/"
"""First bytes of a Git LFS pointer: the text file that Git checks out in place of a large file that
was not downloaded."""
CONFLICT_MARKER = b"<<<<<<< "
"""Start of the line that Git inserts at the beginning of each merge conflict in a file."""
FETCH_FROM_LFS = "fetch the file with `git lfs pull`; in GitHub Actions, check out with `lfs: true`"
RESOLVE_CONFLICT = (
    "restore the file from one branch, for example with `git checkout --theirs`; files of a "
    "version cannot be merged"
)


def is_lfs_pointer(path: Path) -> bool:
    """Whether a file is a Git LFS (Large File Storage) pointer instead of the actual content."""
    with path.open("rb") as file:
        return file.read(len(LFS_POINTER)) == LFS_POINTER


def has_conflict_markers(path: Path) -> bool:
    """Whether a file contains the markers of an unresolved merge conflict."""
    with path.open("rb") as file:
        return any(line.startswith(CONFLICT_MARKER) for line in file)


def describe_checkout_fault(path: Path) -> tuple[str, str] | None:
    """Return the problem with a file that Git left unusable, and the remedy; None if it is fine."""
    try:
        if is_lfs_pointer(path):
            return "the file is a Git LFS pointer", FETCH_FROM_LFS
        if has_conflict_markers(path):
            return "the file contains conflict markers of Git", RESOLVE_CONFLICT
    except OSError:  # the file does not exist or cannot be read, which the caller reports
        pass
    return None
