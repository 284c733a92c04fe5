"""Releases of which no file exists, the files that an import finds in them, and its rejects."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from builder.collection.imports.files import SnapshotFiles, relative_path
from builder.collection.imports.import_log import ImportLog
from builder.collection.imports.layouts import find_snapshots
from builder.collection.imports.origin import Release
from builder.collection.imports.walk import ReleaseFiles

ROOT = Path("/no/such/release")
WEB = Release(ROOT, "longeval-web", "fr")
Reject = tuple[str, str, int, str | None]


def described(snapshot: SnapshotFiles, root: Path = ROOT) -> dict[str, Any]:
    """The files of a snapshot by kind, relative to the release; empty kinds are left out."""
    of = {
        "queries": [(relative_path(p, root), *rest) for p, *rest in snapshot.queries],
        "qrels": [relative_path(p, root) for p in snapshot.qrels],
        "documents": {
            language: [relative_path(p, root) for p in paths]
            for language, paths in snapshot.documents.items()
        },
        "urls": snapshot.url_list and relative_path(snapshot.url_list, root),
        "databases": [relative_path(p, root) for p in snapshot.url_databases],
        "texts": [(relative_path(p, root), language) for p, language in snapshot.query_texts],
        "skipped": {relative_path(p, root): reason for p, reason in snapshot.skipped.items()},
        "months": None if snapshot.months == 1 else f"{snapshot.months} months",
        "number": snapshot.number,
    }
    return {kind: found for kind, found in of.items() if found}


def found(
    layout: str, names: Sequence[str], variant: str | None = None, root: Path = ROOT
) -> dict[str, Any]:
    """The snapshots that files with these names have in a layout; none of the files exists."""
    files = ReleaseFiles(root, sorted(root / name for name in names))
    return {s.name: described(s, root) for s in find_snapshots(files, layout, variant)}


def rejects(log: ImportLog, folder: Path) -> list[Reject]:
    """The reason, file, line and key of each reject, in the order of files and lines."""
    log.write_tables(folder)
    table = pl.read_parquet(folder / "rejects.parquet")
    return table.select("reason", "file", "line", "key").sort("file", "line").rows()
