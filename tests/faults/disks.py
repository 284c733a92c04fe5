"""Disks that fill at a random byte of a build, and what must hold when there is space again."""

import os
import random
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import builder
from builder.errors import LongEvalError
from tests.faults.kills import command

ROOMY = 256 * 2**20


@contextmanager
def mounted(folder: Path, size: int = ROOMY) -> Iterator[Path | None]:
    """A file system of a size in a folder; None where none may be mounted."""
    folder.mkdir(exist_ok=True)
    options = ["-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        done = subprocess.run(["mount", *options], capture_output=True, check=False)
    except OSError:
        done = None
    if done is None or done.returncode:
        yield None
        return
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def resize(folder: Path, size: int) -> None:
    """Give a file system another size."""
    subprocess.run(["mount", "-o", f"remount,size={size}", str(folder)], check=True)


def most_used(definition: Path, folder: Path) -> int:
    """Bytes that a build needs: what its folder has in the end."""
    builder.build(definition, folder)
    return total_size(folder)


def total_size(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def fill(definition: Path, folder: Path, size: int, wanted: str) -> str | None:
    """Build on a disk of a size, then give it more; what is wrong, or None.

    Args:
        definition: What is built.
        folder: Where the file system is mounted.
        size: Its bytes at first.
        wanted: `SHA256SUMS` of an undisturbed build.
    """
    with mounted(folder, size) as disk:
        if disk is None:
            return f"{size}: mounting is not permitted here"
        out = disk / "out"
        first = _build(definition, out, disk)
        if first.returncode != 1:
            return f"{size}: exit {first.returncode}: {first.stderr}"
        for words in (
            "the disk is full",
            "bytes that are still free",
            "needs more than",
            str(disk),
        ):
            if words not in first.stderr:
                return f"{size}: {words!r} is not in: {first.stderr}"
        if "Traceback" in first.stderr:
            return f"{size}: {first.stderr}"
        resize(disk, ROOMY)
        try:
            builder.build(definition, out)
        except LongEvalError as error:
            return f"{size}: not resumed: {error}"
        if (builder.open_collection(out).path / "SHA256SUMS").read_text() != wanted:
            return f"{size}: other bytes"
    return None


def _build(definition: Path, out: Path, disk: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(definition, out),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TMPDIR": str(disk)},
    )


def offsets(needed: int, count: int, seed: int) -> list[int]:
    """Random sizes of a disk on which a build that needs so many bytes must fail."""
    rng = random.Random(seed)
    return [rng.randrange(4096, int(needed * 0.75)) // 4096 * 4096 for _ in range(count)]
