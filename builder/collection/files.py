"""Files of a version or an export: their sums, and second names for them."""

import os
import shutil
from pathlib import Path

from builder.runtime.publisher import sha256


def sum_lines(folder: Path) -> str:
    """What `sha256sum` prints of every file below a folder, in order of their paths."""
    paths = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    return "".join(f"{sha256(folder / path)}  {path}\n" for path in paths)


def link(source: Path, target: Path) -> None:
    """Give a file a second name, or a copy where the file system has no links."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
