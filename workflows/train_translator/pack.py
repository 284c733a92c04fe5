"""Pack data and code into one archive, to train on another machine.

In: a work folder after `prepare`, and the model to start from. Out: `train.tar.xz` with the pairs,
the vocabulary, the newest checkpoint if asked for, the start model, and this package. Training from
it needs only PyTorch, NumPy and SentencePiece.
"""

import tarfile
from pathlib import Path

LIMIT = 64 * 2**20
"""Bytes that a machine with a GPU receives at most."""
PREPARED = ("pairs.tsv", "validation.tsv", "shared.spm", "prepared.json")
CODE = Path(__file__).parents[1]


def pack(work: Path, out: Path, start: Path | None) -> int:
    """Write the archive and return its size in bytes.

    Args:
        work: Folder that `prepare` filled.
        out: The archive.
        start: Folder of the model to start from; None for random weights.

    Raises:
        SystemExit: the archive is larger than `LIMIT`.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(out, "w:xz", preset=6) as archive:
        for name in PREPARED:
            archive.add(work / name, f"work/{name}")
        for path in _code():
            archive.add(path, f"code/{path.relative_to(CODE.parent)}")
        if start is not None:
            for name in ("model.bin", "shared.spm"):
                archive.add(start / name, f"start/{name}")
    size = out.stat().st_size
    if size > LIMIT:
        raise SystemExit(f"{out}: {size:,} bytes, more than {LIMIT:,}; take fewer pairs")
    return size


def _code() -> list[Path]:
    here = Path(__file__).parent
    return [CODE / "machine.py", *sorted(here.glob("*.py")), *sorted(here.glob("*.t*"))]
