"""Defines the file layout of a published version.

```
<version>/manifest.json SHA256SUMS README.md drift.json report.html
<version>/topics.parquet documents_map.parquet queries_map.parquet near_leaks.parquet
<version>/snapshots/<snapshot>/{documents/part-*,queries,qrels,rejects}.parquet
<version>/snapshots/<snapshot>/{click_estimates,click_diagnostics,grade_cuts,...}.parquet
<version>/changes/{documents,queries,qrels}.parquet
<version>/trec/<snapshot>/...
```
"""

import os
from collections.abc import Mapping
from pathlib import Path

from builder.runtime.publisher import MANIFEST, SUMS

CARD = "README.md"
DRIFT = "drift.json"
REPORT = "report.html"

COLLECTION_TABLES: Mapping[str, str] = {
    "topics": "topics",
    "documents_map": "documents_map",
    "queries_map": "queries_map",
    "near_leaks": "near_leaks",
}
SNAPSHOT_TABLES: Mapping[str, str] = {
    "documents": "documents",
    "queries": "queries",
    "sentences": "sentences",
    "translations": "translations",
    "query_collisions": "query_collisions",
    "qrels": "qrels",
    "click_estimates": "click_estimates",
    "click_diagnostics": "click_diagnostics",
    "coverage": "coverage",
    "host_coverage": "host_coverage",
    "grade_cuts": "grade_cuts",
    "grade_sensitivity": "grade_sensitivity",
}
CHANGE_TABLES: Mapping[str, str] = {
    "document_changes": "changes/documents",
    "query_changes": "changes/queries",
    "qrel_changes": "changes/qrels",
}
RELEASE_TABLES: Mapping[str, str] = {
    "release_ids": "release_ids",
    "irregularities": "irregularities",
}
"""Path of each table that only imported releases have, relative to the snapshot folder."""
PUBLISHED = {**COLLECTION_TABLES, **SNAPSHOT_TABLES, **CHANGE_TABLES}
"""Path of each published table, without file suffix: relative to the snapshot folder for
`SNAPSHOT_TABLES`, and to the version folder for all other tables."""


def snapshot_folder(version: Path, snapshot: str) -> Path:
    """Return the folder that contains the tables of a snapshot in a version folder."""
    return version / "snapshots" / snapshot


def find_latest_version(path: Path) -> Path | None:
    """Return the version folder with the highest version number at or below a path.

    Args:
        path: Folder of a version, or a folder that contains versions at most two levels below.

    Returns:
        The version folder; None if no version was found.
    """
    if (path / MANIFEST).is_file():
        return path
    found = [
        manifest.parent
        for depth in ("*", "*/*")
        for manifest in path.glob(f"{depth}/{MANIFEST}")
        if not any(part.startswith(".") for part in manifest.relative_to(path).parts)
    ]
    return max(found, key=lambda folder: (version_sort_key(folder.name), folder.name), default=None)


def find_versions(path: Path) -> list[Path]:
    """Return all version folders at or below a path, sorted by path.

    A version folder contains at least two of `manifest.json`, `SHA256SUMS` and `snapshots/`, so
    that a version is found even if its manifest was deleted. Hidden folders are skipped.
    """
    versions = []
    for folder, subfolders, files in os.walk(path):
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        if len({MANIFEST, SUMS, "snapshots"} & {*subfolders, *files}) > 1:
            versions.append(Path(folder))
    return sorted(versions)


def version_sort_key(version: str) -> tuple[tuple[int, ...], bool]:
    """Return a key that sorts versions by number, and pre-releases before their release."""
    numbers, release = [], True
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if digits:
            numbers.append(int(digits))
        if digits != part:
            release = False
            break
    return tuple(numbers), release
