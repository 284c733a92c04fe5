"""Compare definitions, `drift.json` and the versions of stages and libraries of two versions."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from builder.collection.drift_file import read_drift
from builder.collection.manifest import STAGE_PREFIX


def diff_values(old: Any, new: Any, path: str = "") -> list[str]:
    """Return one line per changed key, such as `parameters.select.min_users: 5 -> 6`.

    Args:
        old: Old value, of JSON types.
        new: New value, of JSON types.
        path: Dotted key of the two values, used as a prefix.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        return [
            line
            for key in sorted({*old, *new})
            for line in diff_values(old.get(key), new.get(key), f"{path}.{key}".lstrip("."))
        ]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [
            line
            for index, (before, after) in enumerate(zip(old, new, strict=True))
            for line in diff_values(before, after, f"{path}[{index}]")
        ]
    if old == new:
        return []
    if isinstance(old, list | dict) or isinstance(new, list | dict):
        return [f"{path} changed"]
    return [f"{path}: {old} -> {new}"]


def diff_producers(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Return one line per stage or library of another version, such as `stage clicks: 4 -> 5`.

    Stages that only one side has are omitted: they depend on the number of snapshots.

    Args:
        old: `producer_versions` of the old version.
        new: Those of the new version.
    """
    before, after = (
        {k: v for k, v in side.items() if k in other or not k.startswith(STAGE_PREFIX)}
        for side, other in ((old, new), (new, old))
    )
    return diff_values(before, after)


def diff_drift(old: Path, new: Path) -> tuple[str, ...]:
    """Return the top-level keys of `drift.json` whose values differ, sorted.

    A version without a `drift.json` is treated as if its file had no keys.

    Args:
        old: Folder of the old version.
        new: Folder of the new version.

    Raises:
        FormatError: A file is not a JSON object.
    """
    before, after = (read_drift(version) or {} for version in (old, new))
    changed = (key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
    return tuple(sorted(changed))
