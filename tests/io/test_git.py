"""Files that Git left unusable."""

from pathlib import Path

import pytest

from builder.io import git

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"


@pytest.mark.parametrize(
    ("content", "is_pointer", "is_conflict"),
    [
        (POINTER, True, False),
        (b"\n" + POINTER, False, False),
        (b"query\n<<<<<<< HEAD\neau\n=======\nprix\n>>>>>>> main\n", False, True),
        (b"query <<<<<<< HEAD\n", False, False),
        (b"", False, False),
    ],
)
def test_a_pointer_begins_a_file_and_a_conflict_marker_a_line(
    tmp_path: Path, content: bytes, is_pointer: bool, is_conflict: bool
) -> None:
    path = tmp_path / "t"
    path.write_bytes(content)
    assert git.is_lfs_pointer(path) is is_pointer
    assert git.has_conflict_markers(path) is is_conflict


def test_each_fault_has_a_remedy(tmp_path: Path) -> None:
    path = tmp_path / "t"
    assert git.describe_checkout_fault(path) is None
    path.write_bytes(POINTER)
    assert git.describe_checkout_fault(path) == (
        "the file is a Git LFS pointer",
        "fetch the file with `git lfs pull`; in GitHub Actions, check out with `lfs: true`",
    )
    path.write_bytes(b"a\n<<<<<<< HEAD\n")
    assert git.describe_checkout_fault(path) == (
        "the file contains conflict markers of Git",
        (
            "restore the file from one branch, for example with `git checkout --theirs`; files of "
            "a version cannot be merged"
        ),
    )
    path.write_bytes(b"a\n")
    assert git.describe_checkout_fault(path) is None
