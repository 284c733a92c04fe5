"""Finds dates such as `2022-06`, and snapshot numbers, in the paths of runs."""

import re
from collections.abc import Sequence
from pathlib import Path

from builder.errors import UsageError
from builder.text.names import NUMBERED_SNAPSHOT

MONTH = re.compile(
    r"(?<!\d)(?:19|20)\d\d(?:-(?:0[1-9]|1[0-2])(?:-\d\d)?|_(?:0[1-9]|1[0-2])(?:_\d\d)?"
    r"|(?:0[1-9]|1[0-2]))(?!\d)"
)
"""Matches a month or day, such as `2022-06`, `2022_06`, `202206`, `2022-06-30` or `2022_06_30`."""
CHECKED_PARTS = 3
"""Number of path components searched for a snapshot (file name, parent and grandparent folder)."""


def find_snapshot_name(path: Path) -> str | None:
    """Return the snapshot given in a file's name, or in its parent or grandparent folder's name.

    The file name takes precedence, then the parent folder.

    Returns:
        Date in the form `2022-06` or `2022-06-30`, or number in the form `snapshot-2`; None if
        the names contain neither a date nor a number.
    """
    for part in path.parts[: -CHECKED_PARTS - 1 : -1]:
        if date := MONTH.search(part):
            digits = re.sub(r"\D", "", date[0])
            return "-".join(filter(None, (digits[:4], digits[4:6], digits[6:])))
        if number := re.search(NUMBERED_SNAPSHOT, part):
            return f"snapshot-{int(number[1])}"
    return None


def check_distinct_runs(paths: Sequence[Path]) -> None:
    """Raise an error if a list of run files contains the same file twice.

    Raises:
        UsageError: Two paths refer to the same file.
    """
    given = [path.resolve() for path in paths]
    for number, path in enumerate(given):
        if path in given[:number]:
            raise UsageError(f"{paths[number]}: expected distinct runs, found this run twice")


def different_snapshots_warning(paths: Sequence[Path]) -> str | None:
    """Return a warning if the paths of runs name different snapshots, and None otherwise."""
    names = sorted({name for name in map(find_snapshot_name, paths) if name is not None})
    if len(names) < 2:
        return None
    return (
        f"expected runs of the same snapshot, found paths that name {', '.join(names)}; results "
        "of different snapshots should not be combined"
    )
