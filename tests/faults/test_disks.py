"""Disks that fill, and folders that may not be written to."""

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import builder
from builder.disk import told
from builder.errors import DataError, DiskError
from tests.faults.kills import command, make_world


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A definition, and the sums of its version."""
    return make_world(tmp_path_factory.mktemp("faults"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, where one may be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)]
    try:
        done = subprocess.run(["mount", *options], capture_output=True, check=False)
    except OSError:
        pytest.skip("no mount here")
    if done.returncode:
        pytest.skip("mounting is not permitted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=False)


def _resize(folder: Path, size: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(folder)], check=True)


def test_a_disk_that_fills(undisturbed: tuple[Path, str], small_disk: Path) -> None:
    definition, wanted = undisturbed
    rng = random.Random(4)
    out = small_disk / "out"
    full = 0
    size = 100_000
    while True:
        _resize(small_disk, size)
        done = subprocess.run(command(definition, out), capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1)
        if not done.returncode:
            break
        full += 1
        assert "the disk is full" in done.stderr, done.stderr
        assert str(small_disk) in done.stderr
        assert "bytes were left" in done.stderr
        assert "Traceback" not in done.stderr
        size += rng.randint(100_000, 400_000)
    assert full >= 3
    assert (builder.open_collection(out).path / "SHA256SUMS").read_text() == wanted


def test_a_read_only_place(undisturbed: tuple[Path, str], small_disk: Path) -> None:
    definition, _ = undisturbed
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(DiskError, match="may not be written to"):
        builder.build(definition, small_disk / "out")


def test_what_engines_say_of_a_full_disk(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 1234)
    for error in (
        OSError(28, "x"),
        RuntimeError("IO Error: No space left on device (os error 28)"),
    ):
        message = r"had written 1,234 bytes, [0-9,]+ bytes were left"
        with pytest.raises(DiskError, match=message), told("stage x", tmp_path):
            raise error
    with pytest.raises(DataError, match="something else"), told("stage x", tmp_path):
        raise DataError("something else")
    with pytest.raises(ValueError, match="y"), told("stage x", tmp_path):
        raise ValueError("y")
