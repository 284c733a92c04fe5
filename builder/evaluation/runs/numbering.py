"""Determines the snapshot numbers to which run paths such as `bm25/snapshot-2` refer.

If an imported release numbers its snapshots, as LongEval 2026 does, its numbers are used, even if
only some snapshots were imported. Numbers in names such as `snapshot-2.qrels` are used as well. In
all other collections, `snapshot-2` is the second snapshot.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from builder.collection import layout
from builder.collection.manifest_schema import read_manifest
from builder.runtime.publisher import MANIFEST
from builder.text.names import NUMBERED_SNAPSHOT, natural_sort_key
from schemas import SNAPSHOT_PATTERN


def determine_snapshot_numbers(folders: Mapping[str, Path]) -> dict[str, int]:
    """Return the number of each snapshot, used in run paths such as `bm25/snapshot-2`.

    Args:
        folders: Folder of each snapshot, by name.

    Returns:
        Numbers by snapshot name. If the manifest of the collection contains numbers, these are
        returned, and snapshots without a number in it are omitted. Otherwise, the numbers come
        from `numbers_from_snapshot_names`.

    Raises:
        FormatError: The manifest of the collection is malformed.
    """
    versions = {
        folder.absolute().parent.parent
        for name, folder in folders.items()
        if folder.absolute() == layout.snapshot_folder(folder.absolute().parent.parent, name)
    }
    stated = {
        snapshot["name"]: snapshot["number"]
        for version in versions
        if (version / MANIFEST).is_file()
        for snapshot in read_manifest(version / MANIFEST)["definition"]["snapshots"]
        if snapshot.get("number") is not None
    }
    if not stated:
        return numbers_from_snapshot_names(folders)
    return {name: number for name, number in stated.items() if name in folders}


def numbers_from_snapshot_names(names: Iterable[str]) -> dict[str, int]:
    """Return the number in each snapshot name such as `snapshot-2`, by name.

    Names without a number are omitted. If no name contains a number in this form, all names are
    sorted and numbered from 1.
    """
    ordered = sorted(names, key=natural_sort_key)
    found = {
        name: int(match[1]) for name in ordered if (match := re.search(NUMBERED_SNAPSHOT, name))
    }
    return found or {name: number for number, name in enumerate(ordered, 1)}


def undated_names_warning(names: Iterable[str]) -> str | None:
    """Return a warning if the order of the snapshot names may not be chronological.

    Returns None if the names are dates, or differ in one number only, such as `round1` and
    `round2`.
    """
    ordered = sorted(names, key=natural_sort_key)
    if all(re.fullmatch(SNAPSHOT_PATTERN, name) for name in ordered):
        return None
    texts = {re.sub(r"\d+", "", name) for name in ordered}
    numbers = zip(*(re.findall(r"\d+", name) for name in ordered), strict=False)
    if len(texts) == 1 and sum(len({*values}) > 1 for values in numbers) < 2:
        return None
    return (
        f"snapshots are compared in the order of their names ({', '.join(ordered)}); if this order "
        "is not chronological, name the files after dates, such as 2022-06.qrels"
    )
