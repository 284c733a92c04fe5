"""A collection whose every row is written down here, so that pages can be compared with them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from builder.collection import layout
from builder.explore import CollectionSource, open_collection_source
from builder.explore.runs import _to_arrow_table
from schemas import TABLES

SNAPSHOTS = ("2022-06", "2022-07", "2022-09")
Rows = Sequence[dict[str, Any]]


def write_collection(
    folder: Path,
    tables: dict[str, Rows],
    snapshot_tables: dict[str, dict[str, Rows]],
    *,
    snapshots: tuple[str, ...] = SNAPSHOTS,
    **definition: Any,
) -> Path:
    """Write a version of a collection; columns that a row lacks are null.

    Args:
        folder: Folder of the version.
        tables: Rows of the tables of the whole collection, by table.
        snapshot_tables: Rows of the tables of each snapshot, by snapshot and table.
        snapshots: Names of the snapshots.
        definition: Other keys of the definition in the manifest.
    """
    for name, rows in tables.items():
        _write(folder / f"{layout.PUBLISHED[name]}.parquet", name, rows)
    counts = {}
    for snapshot, contents in snapshot_tables.items():
        for name, rows in contents.items():
            path = layout.snapshot_folder(folder, snapshot) / name
            is_split = name == "documents"
            _write(path / "part-0.parquet" if is_split else Path(f"{path}.parquet"), name, rows)
            counts[f"snapshots/{snapshot}/{name}"] = {"rows": len(rows)}
    manifest = {
        "name": "literal",
        "version": "1.0.0",
        "signature": "literal 1.0.0 abc",
        "definition": {
            "collection": {"languages": ["fr", "en"]},
            "snapshots": [{"name": name, "start": "", "end": ""} for name in snapshots],
            "parameters": {"documents": {"sample_share": 0.25}},
            **definition,
        },
        "files": {},
        "tables": counts,
        "units": {},
        "tools": {},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    return folder


def _write(path: Path, table: str, rows: Rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(rows, schema=TABLES[table].dtypes()).write_parquet(path)


def open_with_scores(version: Path, scores: Rows, ranked: Rows) -> CollectionSource:
    """Open a collection with the scores and rankings of two systems, `a` and `b`."""
    source = open_collection_source(version)
    for name, rows, schema in (
        ("scores", scores, ["snapshot", "system", "measure", "query_key", "score"]),
        ("ranked", ranked, ["snapshot", "system", "query_key", "doc_id", "score"]),
    ):
        types = {column: pl.Float64 if column == "score" else pl.String for column in schema}
        source.add_table(name, _to_arrow_table(pl.DataFrame(rows, schema=types)))
    source.systems = ("a", "b")
    source.depth = 10
    source.restrict_access()
    return source
