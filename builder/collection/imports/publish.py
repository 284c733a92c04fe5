"""The tables of a release's snapshots -> a version folder: maps, changes, drift, card, manifest."""

import shutil
from calendar import monthrange
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from builder.collection import layout as places
from builder.collection.card import write_release_card
from builder.collection.croissant import write_croissant
from builder.collection.imports.files import ReleasedSnapshot, name_of
from builder.collection.manifest import write_collection_manifest
from builder.drift import compare_snapshots, measure
from builder.io.tables import Table, TableWriter, table_at, write_frame, write_query
from builder.parameters import ChangeParameters
from builder.runtime.content import content_hash
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress
from builder.runtime.publisher import sha256
from builder.text.names import ENGLISH
from schemas import RELEASED, TABLES, Topics

MAIN = ("documents", "queries", "qrels")


def publish_release(
    folder: Path,
    name: str,
    version: str,
    layout: str,
    snapshots: list[ReleasedSnapshot],
    root: Path,
    source: str,
    limits: Limits,
    progress: Progress,
) -> None:
    """Add what is made from the tables of the snapshots, and describe the whole."""
    names = [snapshot.name for snapshot in snapshots]
    _compare(folder, names, limits, progress)
    write_frame(pl.DataFrame(schema=Topics.dtypes()), folder / "topics.parquet", Topics)
    has_documents = any(snapshot.documents for snapshot in snapshots)
    defined = _define(
        name,
        version,
        layout,
        snapshots,
        root,
        languages=[source, ENGLISH] if _has_translations(folder, names) else [source],
        has_documents=has_documents,
    )
    tables = _describe_tables(folder, names, limits)
    write_release_card(folder, defined, tables)
    main = {
        f"{kind} {snapshot}": [
            path.relative_to(folder).as_posix() for path in _table(folder, snapshot, kind).paths
        ]
        for kind in MAIN
        for snapshot in names
    }
    write_croissant(folder, defined, main)
    write_collection_manifest(folder, defined, {}, tables, {})


def _table(folder: Path, snapshot: str, name: str) -> Table:
    return table_at(places.snapshot_folder(folder, snapshot), name, TABLES[name])


def _has_translations(folder: Path, snapshots: list[str]) -> bool:
    tables = [_table(folder, snapshot, kind) for snapshot in snapshots for kind in MAIN[:2]]
    english = pl.col("text_en").is_not_null().any()
    return any(table.scan().select(english).collect().item() for table in tables if table.paths)


KEYED = {
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
"""The tables of a snapshot under the keys of their ids, by which snapshots are aligned."""


def _keyed(folder: Path, snapshot: str, limits: Limits) -> dict[str, Table]:
    """`KEYED` of a snapshot, in the scratch folder."""
    home = limits.with_scratch_folder(snapshot).scratch
    found = {}
    with limits.connect(share=0.5) as connection:
        _table(folder, snapshot, "release_ids").view(connection, "ids")
        for kind, sql in KEYED.items():
            _table(folder, snapshot, kind).view(connection, kind)
            write_query(connection, sql, home / f"{kind}.parquet", TABLES[kind])
            found[kind] = table_at(home, kind, TABLES[kind])
    return found


def _compare(folder: Path, names: list[str], limits: Limits, progress: Progress) -> None:
    """Write the maps, the changes of neighbours, `drift.json` and the report, by keys."""
    scratch = limits.with_scratch_folder("compare")
    keyed = {name: _keyed(folder, name, scratch) for name in names}
    tables = {kind: {name: keyed[name][kind] for name in names} for kind in MAIN}
    series, found = compare_snapshots(folder, tables, ChangeParameters(), scratch, progress)
    measure(
        folder,
        **vars(series),
        params=ChangeParameters(),
        limits=scratch.with_scratch_folder("drift"),
        progress=progress,
    )
    (folder / "rejects.parquet").unlink()
    for name, parts in found.items():
        path = folder / f"{places.CHANGE_TABLES[name]}.parquet"
        with TableWriter(path, TABLES[name]) as writer:
            for table in parts.values():
                for batch in table.batches():
                    writer.write(batch)
    shutil.rmtree(scratch.scratch)


def _define(
    name: str,
    version: str,
    layout: str,
    snapshots: list[ReleasedSnapshot],
    root: Path,
    *,
    languages: list[str],
    has_documents: bool,
) -> dict[str, Any]:
    """What the version is made from, in the form that a build's manifest has."""
    return {
        "collection": {
            "name": name,
            "version": version,
            "languages": languages,
            "licence": "as stated by the release",
            "citation": "",
            "url": "",
        },
        "snapshots": [_snapshot(snapshot, root) for snapshot in snapshots],
        "topics": {},
        "parameters": {},
        "imported": {"layout": layout, "documents": has_documents},
    }


def _snapshot(snapshot: ReleasedSnapshot, root: Path) -> dict[str, Any]:
    start = date.fromisoformat(f"{snapshot.name}-01" if len(snapshot.name) == 7 else snapshot.name)
    days = monthrange(start.year, start.month)[1] if len(snapshot.name) == 7 else 1
    return {
        "name": snapshot.name,
        "start": start.isoformat(),
        "end": (start + timedelta(days=days)).isoformat(),
        "release": {name_of(path, root): sha256(path) for path in snapshot.paths},
    }


def _describe_tables(folder: Path, names: list[str], limits: Limits) -> dict[str, Any]:
    """Rows, content hash and contract of every table by its path."""
    collection = {**places.COLLECTION_TABLES, **places.CHANGE_TABLES}
    found = {place: (folder, place, name) for name, place in collection.items()}
    for snapshot in names:
        home = places.snapshot_folder(folder, snapshot)
        for name in (*MAIN, *places.RELEASE_TABLES):
            found[f"snapshots/{snapshot}/{name}"] = (home, name, name)
    described = {}
    for path, (home, place, name) in found.items():
        table = table_at(home, place, TABLES[name])
        if table.paths:
            content = content_hash(table, limits)
            rows = int(content.partition("-")[0])
            contract = RELEASED.get(name, TABLES[name]).signature()
            described[path] = {"rows": rows, "content": content, "contract": contract}
    return described
