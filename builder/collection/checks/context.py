"""Defines `ValidationContext`, through which checks read the collection to validate."""

from collections.abc import Iterator
from datetime import datetime
from functools import cached_property
from typing import Any

import polars as pl

from builder.collection import layout
from builder.collection.checks.table_summary import TableSummary, fill_table_summary
from builder.collection.read import Collection
from builder.io.sources import Interval
from builder.io.tables import Table, table_at
from builder.runtime.stage import SCHEMAS
from schemas import RELEASED


def _parse_interval(start: str, end: str) -> Interval | None:
    try:
        return Interval.from_dates(datetime.fromisoformat(start), datetime.fromisoformat(end))
    except ValueError:
        return None


class ValidationContext:
    """Collection to validate, with the manifest, table summaries and lazy frames for checks."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        self.manifest = collection.manifest

    @property
    def is_imported(self) -> bool:
        """Whether the collection is an imported release."""
        return "imported" in self.manifest["definition"]

    @property
    def has_documents(self) -> bool:
        """Whether the collection includes documents, which an imported release may omit."""
        return bool(self.manifest["definition"].get("imported", {}).get("documents", True))

    @cached_property
    def intervals(self) -> dict[str, Interval | None]:
        """Interval of each snapshot, by name; None if its start or end is not an ISO 8601 time."""
        return {
            entry["name"]: _parse_interval(entry["start"], entry["end"])
            for entry in self.manifest["definition"]["snapshots"]
        }

    @cached_property
    def table_summaries(self) -> dict[str, TableSummary]:
        """Summaries of all tables of the collection, by path relative to the version folder."""
        return {
            where: fill_table_summary(TableSummary(table.schema, table.paths), where)
            for where, table in self.list_tables()
        }

    @property
    def are_tables_loaded(self) -> bool:
        """Whether the tables have been read, which the first use of `table_summaries` does."""
        return "table_summaries" in vars(self)

    def list_tables(self) -> Iterator[tuple[str, Table]]:
        """Yield (path, table) for each table expected in the collection, without reading rows."""
        expected = self.manifest["tables"] if self.is_imported else None
        schemas = {**SCHEMAS, **(RELEASED if self.is_imported else {})}
        collection = {**layout.COLLECTION_TABLES, **layout.CHANGE_TABLES}
        tables = [
            (table_path, self.collection.path, table_path, name)
            for name, table_path in collection.items()
        ]
        for snapshot in self.collection.snapshots:
            folder = layout.snapshot_folder(self.collection.path, snapshot)
            table_paths = {**layout.SNAPSHOT_TABLES, "rejects": "rejects"}
            table_paths |= layout.RELEASE_TABLES if self.is_imported else {}
            tables += [
                (f"snapshots/{snapshot}/{table_path}", folder, table_path, name)
                for name, table_path in table_paths.items()
            ]
        for where, folder, table_path, name in tables:
            table = table_at(folder, table_path, schemas[name])
            if expected is None or where in expected or table.paths:
                yield where, table

    def open_table(self, table_path: str) -> Table:
        """Return the table at this path in the version folder, whether or not it can be read."""
        summary = self.table_summaries[table_path]
        return Table(summary.paths, summary.schema)

    def scan_table(self, table_path: str) -> pl.LazyFrame | None:
        """Return the table at this path as a lazy frame; None if it cannot be read."""
        summary = self.table_summaries.get(table_path)
        return summary.scan() if summary and summary.is_readable else None

    def scan_snapshots(self, *tables: str) -> Iterator[tuple[str, Any]]:
        """Yield (snapshot name, lazy frames of the given tables) for each snapshot.

        Snapshots in which one of the tables cannot be read are skipped. If only one table is given,
        the second value is a frame instead of a tuple of frames.
        """
        for name in self.collection.snapshots:
            frames = [self.scan_table(f"snapshots/{name}/{table}") for table in tables]
            if all(frame is not None for frame in frames):
                yield name, frames[0] if len(frames) == 1 else tuple(frames)

    def replace_ids_with_keys(self, rows: pl.LazyFrame, snapshot: str, column: str) -> pl.LazyFrame:
        """Replace the ids of an imported release with keys that are the same in all snapshots.

        Ids of a built collection, which are already the same in all snapshots, are kept.
        """
        ids = self.scan_table(f"snapshots/{snapshot}/release_ids") if self.is_imported else None
        if ids is None:
            return rows
        kind = {"doc_id": "document", "query_id": "query"}[column]
        keys = ids.filter(kind=kind).select("key", pl.col("id").alias(column))
        return rows.join(keys, on=column).drop(column).rename({"key": column})
