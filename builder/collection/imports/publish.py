"""Completes an imported version with the id maps, change tables, drift report and card."""

import shutil
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from builder.collection import layout as collection_layout
from builder.collection.card import write_card
from builder.collection.croissant import write_croissant
from builder.collection.imports.files import SnapshotFiles, relative_path
from builder.collection.manifest import write_collection_manifest
from builder.drift import compare_snapshots, measure_drift
from builder.io.tables import Table, TableWriter, table_at, write_frame, write_query_result
from builder.parameters import ChangeParameters
from builder.runtime.content import content_hash
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress
from builder.runtime.publisher import sha256
from builder.text.names import ENGLISH
from schemas import RELEASED, TABLES, Topics

MAIN = ("documents", "queries", "qrels")


def complete_release_version(
    folder: Path,
    name: str,
    version: str,
    layout: str,
    snapshots: list[SnapshotFiles],
    root: Path,
    source_language: str,
    limits: ResourceLimits,
    progress: Progress,
) -> None:
    """Add the id maps, change tables, drift report, card and manifest to an imported version."""
    names = [snapshot.name for snapshot in snapshots]
    _write_comparisons(folder, names, limits, progress)
    write_frame(pl.DataFrame(schema=Topics.dtypes()), folder / "topics.parquet", Topics)
    has_documents = any(snapshot.documents for snapshot in snapshots)
    definition = _build_definition(
        name,
        version,
        layout,
        snapshots,
        root,
        languages=[source_language, ENGLISH]
        if _has_translations(folder, names)
        else [source_language],
        has_documents=has_documents,
    )
    tables = _describe_tables(folder, names, limits)
    write_card(folder, definition, tables, {})
    main = {
        f"{kind} {snapshot}": [
            path.relative_to(folder).as_posix()
            for path in _open_snapshot_table(folder, snapshot, kind).paths
        ]
        for kind in MAIN
        for snapshot in names
    }
    write_croissant(folder, definition, tables, main)
    write_collection_manifest(folder, definition, {}, tables, {})


def _open_snapshot_table(folder: Path, snapshot: str, name: str) -> Table:
    return table_at(collection_layout.snapshot_folder(folder, snapshot), name, TABLES[name])


def _has_translations(folder: Path, snapshots: list[str]) -> bool:
    tables = [
        _open_snapshot_table(folder, snapshot, kind) for snapshot in snapshots for kind in MAIN[:2]
    ]
    english = pl.col("text_en").is_not_null().any()
    return any(table.scan().select(english).collect().item() for table in tables if table.paths)


STABLE_ID_QUERIES = {
    "documents": """
SELECT d.* REPLACE (i.key AS doc_id) FROM documents AS d
JOIN ids AS i ON i.kind = 'document' AND i.id = d.doc_id ORDER BY 1""",
    "queries": """
SELECT q.* REPLACE (i.key AS query_id) FROM queries AS q
JOIN ids AS i ON i.kind = 'query' AND i.id = q.query_id ORDER BY 1""",
    "qrels": """
SELECT r.* REPLACE (i.key AS query_id, j.key AS doc_id) FROM qrels AS r
JOIN ids AS i ON i.kind = 'query' AND i.id = r.query_id
JOIN ids AS j ON j.kind = 'document' AND j.id = r.doc_id ORDER BY 1, 2""",
}
"""SQL query that replaces the ids in each table with keys that are the same in all snapshots."""


def write_tables_with_stable_ids(
    folder: Path, snapshot: str, limits: ResourceLimits
) -> dict[str, Table]:
    """Write documents, queries and qrels of a snapshot to the scratch folder, with keys as ids.

    Unlike the ids of a release, the keys are the same in all snapshots.

    Args:
        folder: Version folder of an imported release.
        snapshot: Name of the snapshot.
        limits: Memory limit, thread count and scratch folder, which must not contain a folder with
            the name of the snapshot.

    Returns:
        The tables `documents`, `queries` and `qrels` by name.
    """
    snapshot_folder = limits.with_scratch_folder(snapshot).scratch
    tables = {}
    with limits.connect_to_duckdb(memory_share=0.5) as connection:
        _open_snapshot_table(folder, snapshot, "release_ids").create_view(connection, "ids")
        for kind, sql in STABLE_ID_QUERIES.items():
            _open_snapshot_table(folder, snapshot, kind).create_view(connection, kind)
            write_query_result(connection, sql, snapshot_folder / f"{kind}.parquet", TABLES[kind])
            tables[kind] = table_at(snapshot_folder, kind, TABLES[kind])
    return tables


def _write_comparisons(
    folder: Path, snapshot_names: list[str], limits: ResourceLimits, progress: Progress
) -> None:
    """Write the id maps, changes between consecutive snapshots, `drift.json` and the report."""
    scratch = limits.with_scratch_folder("compare")
    keyed = {name: write_tables_with_stable_ids(folder, name, scratch) for name in snapshot_names}
    tables = {kind: {name: keyed[name][kind] for name in snapshot_names} for kind in MAIN}
    series, changes = compare_snapshots(folder, tables, ChangeParameters(), scratch, progress)
    measure_drift(
        folder,
        **vars(series),
        params=ChangeParameters(),
        limits=scratch.with_scratch_folder("drift"),
        progress=progress,
    )
    (folder / "rejects.parquet").unlink()
    for name, parts in changes.items():
        path = folder / f"{collection_layout.CHANGE_TABLES[name]}.parquet"
        with TableWriter(path, TABLES[name]) as writer:
            for table in parts.values():
                for batch in table.iter_batches():
                    writer.write(batch)
    shutil.rmtree(scratch.scratch)


def _build_definition(
    name: str,
    version: str,
    layout: str,
    snapshots: list[SnapshotFiles],
    root: Path,
    *,
    languages: list[str],
    has_documents: bool,
) -> dict[str, Any]:
    """Return the manifest entry `definition` of an imported release."""
    return {
        "collection": {
            "name": name,
            "version": version,
            "languages": languages,
            "licence": "as stated by the release",
            "citation": "",
            "url": "",
        },
        "snapshots": [_describe_snapshot(snapshot, root) for snapshot in snapshots],
        "topics": {},
        "parameters": {},
        "imported": {"layout": layout, "documents": has_documents},
    }


def _describe_snapshot(snapshot: SnapshotFiles, root: Path) -> dict[str, Any]:
    number = {} if snapshot.number is None else {"number": snapshot.number}
    start, end = _snapshot_interval(snapshot)
    return {
        "name": snapshot.name,
        "start": start.isoformat(),
        "end": end.isoformat(),
        "release": {relative_path(path, root): sha256(path) for path in snapshot.paths},
        **number,
    }


def _snapshot_interval(snapshot: SnapshotFiles) -> tuple[date, date]:
    """Return the first day of a snapshot, and the day after its last day."""
    if len(snapshot.name) > len("2022-06"):
        start = date.fromisoformat(snapshot.name)
        return start, start + timedelta(days=1)
    start = date.fromisoformat(f"{snapshot.name}-01")
    years, month = divmod(start.month - 1 + snapshot.months, 12)
    return start, date(start.year + years, month + 1, 1)


def _describe_tables(
    folder: Path, snapshot_names: list[str], limits: ResourceLimits
) -> dict[str, Any]:
    """Return the manifest entry (row count, content hash, schema) of each table, by path."""
    collection = {**collection_layout.COLLECTION_TABLES, **collection_layout.CHANGE_TABLES}
    tables = {table_path: (folder, table_path, name) for name, table_path in collection.items()}
    for snapshot in snapshot_names:
        snapshot_folder = collection_layout.snapshot_folder(folder, snapshot)
        for name in (*MAIN, *collection_layout.RELEASE_TABLES):
            tables[f"snapshots/{snapshot}/{name}"] = (snapshot_folder, name, name)
    described = {}
    for path, (snapshot_folder, table_path, name) in tables.items():
        table = table_at(snapshot_folder, table_path, TABLES[name])
        if table.paths:
            content = content_hash(table, limits)
            rows = int(content.partition("-")[0])
            schema = RELEASED.get(name, TABLES[name]).signature()
            described[path] = {"rows": rows, "content": content, "contract": schema}
    return described
