"""Single bits of a published version turned over: each must be found."""

import random
import shutil
from pathlib import Path

from builder.collection.validate import validate
from builder.errors import LongEvalError


def count_found(version: Path, copy: Path, flips: int, seed: int) -> int:
    """How many of so many random flips, one at a time over all files, validation finds.

    Args:
        version: A good version.
        copy: Where to put the copy that is damaged.
        flips: How many.
        seed: Of places and bits.
    """
    rng = random.Random(seed)
    shutil.copytree(version, copy)
    files = sorted(p for p in copy.rglob("*") if p.is_file() and p.stat().st_size)
    found = 0
    for _ in range(flips):
        path = rng.choice(files)
        whole = path.read_bytes()
        at = rng.randrange(len(whole))
        path.write_bytes(
            whole[:at] + bytes([whole[at] ^ (1 << rng.randrange(8))]) + whole[at + 1 :]
        )
        found += is_found(copy)
        path.write_bytes(whole)
    return found


def is_found(version: Path) -> bool:
    """Whether the checks on files find something, or the manifest cannot be read."""
    try:
        return bool(validate(version, select=("LB00",)))
    except LongEvalError:
        return True
