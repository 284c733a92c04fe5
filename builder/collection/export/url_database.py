"""Writes the SQLite database with the URLs of an export in layout `longeval-web`.

The database has one row per document: number, URL, fetch times and snapshots. URLs are unique, as
in the releases. In an imported release, the same URL may have a different document id in each
snapshot; then the document of the first snapshot keeps the URL, and the other URLs are NULL.
"""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import polars as pl

from builder.collection.export.files import LANGUAGE_FOLDERS
from builder.collection.export.numeric_ids import replace_ids_with_numbers
from builder.collection.export.source import SnapshotTables
from builder.text.names import FRENCH

URL_DATABASE = Path(LANGUAGE_FOLDERS[FRENCH]) / "collection_db.db"
"""Path of the database, relative to the folder of an export."""
_CREATE_MAPPING = """
CREATE TABLE mapping (
    id INTEGER PRIMARY KEY, url TEXT UNIQUE, last_updated_at TEXT, date TEXT
)"""
_SCHEMA = {"doc_id": pl.String, "url": pl.String, "snapshot": pl.String, "fetched_at": pl.Int64}


def write_url_database(
    snapshots: Sequence[SnapshotTables], numbers: pl.DataFrame, path: Path
) -> None:
    """Write the URL database of an export.

    Args:
        snapshots: Snapshots in chronological order.
        numbers: Numeric id (column `number`) of each document id (column `id`).
        path: Path of the database; its folder is created.
    """
    rows = replace_ids_with_numbers(_list_documents(snapshots), "doc_id", numbers).collect()
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(_CREATE_MAPPING)
        connection.executemany(
            "INSERT INTO mapping VALUES (?, ?, ?, ?)",
            (
                (number, url, json.dumps(times), json.dumps(names))
                for number, url, times, names in rows.iter_rows()
            ),
        )


def describe_omitted_urls(export: Path) -> list[str]:
    """Return a one-element list that says how many URLs are omitted, or an empty list if none are.

    Args:
        export: Folder of the export.
    """
    if not (export / URL_DATABASE).is_file():
        return []
    with closing(sqlite3.connect(export / URL_DATABASE)) as connection:
        sql = "SELECT count(*), min(id) FROM mapping WHERE url IS NULL"
        count, first = connection.execute(sql).fetchone()
    if not count:
        return []
    message = (
        f"omitted URLs (another document has the same URL): {count:,}, for example the URL of "
        f"document {first}; these URLs are NULL in {URL_DATABASE.as_posix()}"
    )
    return [message]


def _list_documents(snapshots: Sequence[SnapshotTables]) -> pl.LazyFrame:
    """Return one row per document: `doc_id`, `url`, and the lists `fetched_at` and `snapshot`."""
    frames = [
        snapshot.documents.scan().select(
            "doc_id", "url", pl.lit(snapshot.name).alias("snapshot"), "fetched_at"
        )
        for snapshot in snapshots
        if snapshot.documents.paths
    ]
    documents = (
        pl.concat([pl.LazyFrame(schema=_SCHEMA), *frames])
        .sort("doc_id", "snapshot")
        .group_by("doc_id", maintain_order=True)
        .agg(pl.col("url").last(), "fetched_at", "snapshot")
    )
    by_first_snapshot = documents.sort(pl.col("snapshot").list.first(), "doc_id")
    url = pl.when(pl.col("url").is_first_distinct()).then("url")
    return by_first_snapshot.with_columns(url=url).sort("doc_id")
