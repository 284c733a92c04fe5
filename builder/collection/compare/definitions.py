"""Compares the definitions, `drift.json`, stages and libraries of two collection versions."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from builder.collection.drift_file import read_drift
from builder.collection.manifest import STAGE_PREFIX, hashes_of_list_files, snapshot_parameters


def diff_values(old: Any, new: Any, dotted_key: str = "") -> list[str]:
    """Return one line per changed key, such as `parameters.select.min_users: 5 -> 6`.

    If only one of the values has a mapping, the entries of the mapping are compared with None.

    Args:
        old: Old value, as parsed from JSON.
        new: New value, as parsed from JSON.
        dotted_key: Dotted key of both values, used as a prefix of each line.
    """
    if isinstance(old, dict | None) and isinstance(new, dict | None):
        old, new = old or {}, new or {}
        return [
            line
            for key in sorted({*old, *new})
            for line in diff_values(old.get(key), new.get(key), f"{dotted_key}.{key}".lstrip("."))
        ]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [
            line
            for index, (before, after) in enumerate(zip(old, new, strict=True))
            for line in diff_values(before, after, f"{dotted_key}[{index}]")
        ]
    if old == new:
        return []
    if isinstance(old, list | dict) or isinstance(new, list | dict):
        return [f"{dotted_key} changed"]
    return [f"{dotted_key}: {old} -> {new}"]


def diff_definitions(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return one line per changed key of the definitions in two manifests.

    Overrides of snapshots and hashes of list files are taken from the stage records, because they
    are missing from the definitions in older manifests.
    """
    before, after = (_recorded_definition(manifest) for manifest in (old, new))
    return diff_values(before, after)


def _recorded_definition(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the definition in a manifest, plus snapshot overrides and hashes of list files."""
    definition = manifest["definition"]
    snapshots = [
        {**s, "overrides": _recorded_overrides(manifest, s["name"])}
        for s in definition["snapshots"]
    ]
    return {**definition, "snapshots": snapshots, "lists": hashes_of_list_files(manifest)}


def _recorded_overrides(manifest: Mapping[str, Any], snapshot: str) -> dict[str, Any]:
    """Return the parameters of a snapshot that differ from those of the whole collection."""
    overrides = {}
    for key, value in snapshot_parameters(manifest, snapshot).items():
        section, _, name = key.partition(".")
        common = manifest["definition"]["parameters"].get(section, {}).get(name)
        if isinstance(value, dict) and isinstance(common, dict):
            overrides[key] = {k: v for k, v in value.items() if v != common.get(k)}
        elif value != common:
            overrides[key] = value
    return overrides


def diff_code_versions(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Return one line per stage or library whose version differs, such as `stage clicks: 4 -> 5`.

    Stages recorded in only one version are omitted, because the number of snapshots determines
    which stages run.

    Args:
        old: Result of `code_versions` for the old version.
        new: Result of `code_versions` for the new version.
    """
    before, after = (
        {k: v for k, v in side.items() if k in other or not k.startswith(STAGE_PREFIX)}
        for side, other in ((old, new), (new, old))
    )
    return diff_values(before, after)


def diff_drift_files(old: Path, new: Path) -> tuple[str, ...]:
    """Return the top-level keys of `drift.json` whose values differ between two versions, sorted.

    A missing `drift.json` is treated as an empty JSON object.

    Args:
        old: Folder of the old version.
        new: Folder of the new version.

    Raises:
        FormatError: A file is not a JSON object.
    """
    before, after = (read_drift(version) or {} for version in (old, new))
    changed = (key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
    return tuple(sorted(changed))
