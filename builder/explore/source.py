"""A published collection as DuckDB views: every table with all its snapshots, under stable ids.

In: a version folder. Out: `Source`, which answers statements. The engine reads inside the folder
alone, spills nothing, and keeps within a limit of memory. A table that the collection lacks is an
empty view; a file that is damaged is an error of the statements that need it, and of no other.
"""

import json
from collections.abc import Iterator, Sequence
from functools import cached_property, reduce
from pathlib import Path
from threading import Lock
from typing import Any

import duckdb

from builder.collection import layout
from builder.collection.read import Collection, open_collection
from builder.errors import DataError, FormatError
from builder.explore.statements import FOLD, FOLD_SQL, Row, Statement, literal
from builder.io import parquet
from builder.io.tables import Table, arrow_schema, table_at
from schemas import TABLES

MEMORY = "448MiB"
"""What the engine may use; the process is to stay below 1 GiB."""
OF_COLLECTION = {**layout.COLLECTION_TABLES, **layout.CHANGE_TABLES}
OF_SNAPSHOT = {**layout.SNAPSHOT_TABLES, **layout.RELEASE_TABLES, "rejects": "rejects"}
KEYS = {
    "documents": {"doc_id": "document"},
    "queries": {"query_id": "query"},
    "qrels": {"query_id": "query", "doc_id": "document"},
}
"""Columns with ids of a snapshot and what they name; a view has the stable id as `query_key` or
`doc_key`, which is another one in imported releases alone (see `schemas.ReleaseIds`)."""


class Source:
    """A collection that answers statements.

    Args:
        collection: The collection.
        memory: What the engine may use, as DuckDB writes sizes.
    """

    def __init__(self, collection: Collection, memory: str = MEMORY) -> None:
        self.collection = collection
        self.snapshots = collection.snapshots
        self.systems: tuple[str, ...] = ()
        self.depth = 0
        self._ready: dict[str, list[Path]] = {}
        self._lock = Lock()
        self._base = duckdb.connect(config={"autoinstall_known_extensions": "false"})
        settings: dict[str, Any] = {
            "autoload_known_extensions": False,
            "memory_limit": memory,
            "temp_directory": "",
            "parquet_metadata_cache": True,
            "enable_progress_bar": False,
        }
        for name, value in settings.items():
            self._base.execute(f"SET {name} = $value", {"value": value})
        self._base.execute(
            "CREATE TABLE snapshots AS SELECT unnest($names::VARCHAR[]) AS snapshot",
            {"names": list(self.snapshots)},
        )
        self._base.execute(FOLD_SQL.replace("TEMP ", ""))

    def seal(self) -> None:
        """Let the engine read below the collection alone, for good."""
        folder = str(self.collection.path)
        self._base.execute("SET allowed_directories = $value", {"value": [folder]})
        self._base.execute("SET enable_external_access = false")
        self._base.execute("SET lock_configuration = true")

    def close(self) -> None:
        """Interrupt what runs, and close the engine."""
        self._base.interrupt()
        self._base.close()

    @cached_property
    def drift(self) -> dict[str, Any] | None:
        """The content of `drift.json`; None where there is none.

        Raises:
            FormatError: it is not readable.
        """
        path = self.collection.path / "drift.json"
        if not path.is_file():
            return None
        try:
            found = json.loads(path.read_text("utf-8"))
            found["snapshots"], found["pairs"], found["checks"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise FormatError(f"not a readable drift.json: {error}", path) from None
        return dict(found)

    @cached_property
    def is_imported(self) -> bool:
        """Whether it was made of a published release."""
        return "imported" in self.collection.manifest["definition"]

    def has(self, table: str) -> bool:
        """Whether a snapshot, or the collection, has a row of a table, as the manifest counts."""
        counted = self.collection.manifest["tables"]
        if table in OF_COLLECTION:
            own = OF_COLLECTION[table]
            return any(c["rows"] for n, c in counted.items() if n == own or n.startswith(f"{own}/"))
        names = {f"snapshots/{name}/{OF_SNAPSHOT[table]}" for name in self.snapshots}
        return any(c["rows"] for n, c in counted.items() if n in names)

    def add(self, name: str, rows: Any) -> None:
        """Keep an Arrow table in memory as a table; before `seal`."""
        self._base.from_arrow(rows).create(name)

    def rows(self, statement: Statement) -> list[Row]:
        """The rows of a statement.

        Raises:
            FormatError: a table that it reads is damaged.
            DataError: it needs more memory than the engine may use.
        """
        for name in self._tables(statement):
            self._prepare(name)
        cursor = self._base.cursor()
        try:
            cursor.execute(statement.sql, statement.bound)
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        except duckdb.OutOfMemoryException as error:
            raise DataError(f"a question needs more than {MEMORY} of memory: {error}") from None
        except duckdb.Error as error:
            names = sorted(self._tables(statement))
            what = f"cannot read {', '.join(names)}: {str(error).partition(chr(10))[0]}"
            raise FormatError(what, self.collection.path) from None
        finally:
            cursor.close()

    def value(self, statement: Statement) -> Any:
        """The only value of a statement."""
        (row,) = self.rows(statement)
        return next(iter(row.values()))

    @staticmethod
    def _tables(statement: Statement) -> set[str]:
        return statement.words() & (OF_COLLECTION.keys() | OF_SNAPSHOT.keys())

    def _prepare(self, name: str) -> None:
        """Create the view of a table when it is first asked for."""
        with self._lock:
            if name in self._ready:
                return
            contract = TABLES[name]
            try:
                parts = [self._relation(table, name, at) for table, at in self._files(name)]
                if not any(parts):
                    self._base.from_arrow(self._nothing(name)).create(name)
                else:
                    kept = [part for part in parts if part is not None]
                    reduce(lambda whole, part: whole.union(part), kept).create_view(name)
            except duckdb.Error as error:
                first = str(error).partition("\n")[0]
                raise FormatError(f"expected the table {contract.table_name()}: {first}",
                                  self.collection.path) from None
            self._ready[name] = [p for table, _ in self._files(name) for p in table.paths]

    def _files(self, name: str) -> Iterator[tuple[Table, str | None]]:
        """The table of each snapshot, with its name; or the only one."""
        if name in OF_COLLECTION:
            yield table_at(self.collection.path, OF_COLLECTION[name], TABLES[name]), None
            return
        for snapshot in self.snapshots:
            folder = self.collection.snapshot(snapshot).folder
            yield table_at(folder, OF_SNAPSHOT[name], TABLES[name]), snapshot

    def _relation(
        self, table: Table, name: str, snapshot: str | None
    ) -> duckdb.DuckDBPyRelation | None:
        """The rows of a table in a snapshot; None without a file."""
        if not table.paths:
            if name == "documents" and snapshot is not None:
                self.collection.snapshot(snapshot).documents_parts()
            return None
        parquet.check(*table.paths)
        columns = [duckdb.ColumnExpression(column) for column in TABLES[name].dtypes()]
        own = table.rows(self._base).select(*columns)
        if snapshot is None:
            return own
        keyed = self._keyed(own, name, snapshot)
        if "snapshot" in keyed.columns:
            return keyed
        return keyed.select(duckdb.ConstantExpression(snapshot).alias("snapshot"),
                            duckdb.StarExpression())

    def _keyed(
        self, rows: duckdb.DuckDBPyRelation, name: str, snapshot: str
    ) -> duckdb.DuckDBPyRelation:
        """Rows with their stable ids."""
        folder = self.collection.snapshot(snapshot).folder
        ids = table_at(folder, "release_ids", TABLES["release_ids"])
        for column, kind in KEYS.get(name, {}).items():
            key = column.replace("_id", "_key")
            if not ids.paths:
                rows = rows.select(duckdb.StarExpression(),
                                   duckdb.ColumnExpression(column).alias(key))
                continue
            parquet.check(*ids.paths)
            known = ids.rows(self._base).filter(
                duckdb.ColumnExpression("kind") == duckdb.ConstantExpression(kind)
            ).select(duckdb.ColumnExpression("id").alias(column),
                     duckdb.ColumnExpression("key").alias(f"{key}_known"))
            rows = rows.join(known, column, how="left").select(
                duckdb.StarExpression(exclude=[f"{key}_known"]),
                duckdb.CoalesceOperator(duckdb.ColumnExpression(f"{key}_known"),
                                        duckdb.ColumnExpression(column)).alias(key),
            )
        return rows

    def _nothing(self, name: str) -> Any:
        """An empty table with the columns of a view."""
        empty = arrow_schema(TABLES[name]).empty_table()
        if name in OF_COLLECTION:
            return empty
        text = arrow_schema(TABLES["rejects"]).field("stage").type
        for column in ("snapshot", *(c.replace("_id", "_key") for c in KEYS.get(name, {}))):
            if column not in empty.column_names:
                empty = empty.append_column(column, [[]] if text is None else _empty(text))
        return empty

    def script(self, statement: Statement) -> str:
        """SQL that anyone can run in DuckDB for the same rows: the views, then the statement."""
        lines = []
        if "snapshots" in statement.words():
            names = literal(list(self.snapshots))
            lines.append(
                f"CREATE OR REPLACE TEMP TABLE snapshots AS\nSELECT unnest({names}) AS snapshot;"
            )
        if FOLD in statement.words():
            lines.append(FOLD_SQL.strip() + ";")
        lines += [self._view(name) for name in sorted(self._tables(statement))]
        return "\n".join([*lines, statement.written() + ";"])

    def _view(self, name: str) -> str:
        """The definition of a view, as text."""
        columns = list(TABLES[name].dtypes())
        parts = []
        for table, snapshot in self._files(name):
            if table.paths:
                parts.append(self._written(name, table.paths, snapshot, columns))
        if not parts:
            self._prepare(name)
            table = self._base.cursor().table(name)
            kinds = zip(table.columns, table.types, strict=True)
            empty = ", ".join(f"NULL::{kind} AS {column}" for column, kind in kinds)
            parts = [f"SELECT {empty} WHERE false"]
        return f"CREATE OR REPLACE TEMP VIEW {name} AS\n" + "\nUNION ALL\n".join(parts) + ";"

    def _written(
        self, name: str, paths: Sequence[Path], snapshot: str | None, columns: Sequence[str]
    ) -> str:
        chosen = [f"own.{column}" for column in columns]
        joins = ""
        if snapshot is not None:
            ids = table_at(
                self.collection.snapshot(snapshot).folder, "release_ids", TABLES["release_ids"]
            )
            if "snapshot" not in columns:
                chosen.insert(0, f"{literal(snapshot)} AS snapshot")
            for column, kind in KEYS.get(name, {}).items():
                key = column.replace("_id", "_key")
                if not ids.paths:
                    chosen.append(f"own.{column} AS {key}")
                    continue
                chosen.append(f"coalesce({kind}.key, own.{column}) AS {key}")
                joins += (
                    f"\nLEFT JOIN (FROM read_parquet({_listed(ids.paths)})"
                    f" WHERE kind = '{kind}') AS {kind} ON {kind}.id = own.{column}"
                )
        return f"SELECT {', '.join(chosen)}\nFROM read_parquet({_listed(paths)}) AS own{joins}"


def _empty(kind: Any) -> Any:
    """An empty Arrow array."""
    import pyarrow as pa

    return pa.array([], kind)


def _listed(paths: Sequence[Path]) -> str:
    return literal([str(path.resolve()).translate(parquet.PATTERN) for path in paths])


def open_source(path: Path | str, memory: str = MEMORY) -> Source:
    """Open a published collection for questions.

    Args:
        path: A version folder, or a folder above it; of several versions the highest is opened.
        memory: What the engine may use.

    Raises:
        UsageError: there is no published collection.
        FormatError: its manifest is not readable.
    """
    collection = open_collection(path)
    _ = collection.manifest
    return Source(collection, memory)
