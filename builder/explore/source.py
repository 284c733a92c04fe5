"""DuckDB connection to a published collection, with restricted file access and limited memory.

DuckDB reads only files below the version folder, never spills to disk, and has a memory limit. A
table that is missing from the collection becomes an empty table. A damaged file causes errors only
in statements that read it.
"""

from collections.abc import Set as AbstractSet
from functools import cached_property
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import Any

import duckdb

from builder.collection.drift_file import read_drift
from builder.collection.layout import DRIFT
from builder.collection.read import Collection, open_collection
from builder.errors import DataError, FormatError
from builder.explore import views
from builder.explore.statements import FOLD_MACRO, FOLD_MACRO_SQL, Row, Statement, sql_literal
from builder.io import parquet

MEMORY_LIMIT = "448MiB"
"""Default memory limit of DuckDB, with which the whole process stays below 1 GiB."""

MAX_CONCURRENT = 2
"""Maximum number of concurrent SQL statements, so that each statement has enough memory."""


class CollectionSource:
    """DuckDB connection to a published collection.

    Args:
        collection: Collection to query.
        memory_limit: Memory limit of DuckDB, such as `448MiB`.

    Attributes:
        systems: Sorted names of the systems whose runs were loaded; see `builder.explore.runs`.
        depth: Number of documents that were loaded per query and run.
    """

    def __init__(self, collection: Collection, memory_limit: str = MEMORY_LIMIT) -> None:
        self.collection = collection
        self.snapshots = collection.snapshots
        self.systems: tuple[str, ...] = ()
        self.depth = 0
        self._memory = memory_limit
        self._views: set[str] = set()
        self._lock = Lock()
        self._slots = BoundedSemaphore(MAX_CONCURRENT)
        self._running: set[duckdb.DuckDBPyConnection] = set()
        self._is_open = True
        self._connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
        settings: dict[str, Any] = {
            "autoload_known_extensions": False,
            "memory_limit": memory_limit,
            "temp_directory": "",
            "parquet_metadata_cache": True,
            "enable_progress_bar": False,
        }
        for name, value in settings.items():
            self._connection.execute(f"SET {name} = $value", {"value": value})
        names = {"names": list(self.snapshots)}
        self._connection.execute(
            "CREATE TABLE snapshots AS SELECT unnest($names::VARCHAR[]) AS snapshot", names
        )
        self._connection.execute(FOLD_MACRO_SQL.replace("TEMP ", ""))

    def add_table(self, name: str, arrow_table: Any) -> None:
        """Copy an Arrow table to a new in-memory DuckDB table; call before `restrict_access`.

        Args:
            name: Name of the new table.
            arrow_table: Rows of the new table.
        """
        self._connection.from_arrow(arrow_table).create(name)

    def restrict_access(self) -> None:
        """Restrict file access to the collection's folder, and lock the DuckDB configuration."""
        folder = str(self.collection.path)
        folders = sorted(
            {folder, folder.translate(parquet.GLOB_ESCAPES)}
        )  # views use the escaped path
        self._connection.execute("SET allowed_directories = $value", {"value": folders})
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")

    def stop_statements(self) -> None:
        """Interrupt running SQL statements and reject new ones."""
        self._is_open = False
        for cursor in tuple(self._running):
            cursor.interrupt()

    def close(self) -> None:
        """Interrupt all statements; close the connection unless a statement is still running."""
        self.stop_statements()
        if not self._running:
            self._connection.close()

    @cached_property
    def drift_report(self) -> dict[str, Any] | None:
        """Parsed content of `drift.json`; None if the file does not exist.

        Raises:
            FormatError: The file is unreadable or not a drift report.
        """
        report = read_drift(self.collection.path)
        if report is not None and not {"snapshots", "pairs", "checks"} <= report.keys():
            path = self.collection.path / DRIFT
            found = ", ".join(sorted(report)) or "none"
            raise FormatError(f"expected the keys snapshots, pairs and checks, found {found}", path)
        return report

    @property
    def is_imported(self) -> bool:
        """Whether the collection was imported from a published release."""
        return "imported" in self.collection.manifest["definition"]

    def has_rows(self, table: str) -> bool:
        """Return whether a table of the collection contains at least one row.

        Raises:
            FormatError: A file of the table is damaged.
        """
        return bool(self.fetch_rows(Statement(FIRST_ROW_SQL[table])))

    def fetch_rows(self, statement: Statement) -> list[Row]:
        """Run a statement, and return its rows as dictionaries from column name to value.

        Raises:
            FormatError: A table that the statement reads is damaged.
            DataError: The statement exceeds the memory limit, or the explorer is shutting down.
        """
        for name in self._referenced_tables(statement):
            self._create_view(name)
        cursor = self._connection.cursor()
        try:
            with self._slots:
                self._running.add(cursor)
                if not self._is_open:
                    raise DataError("the explorer is shutting down")
                cursor.execute(statement.sql, statement.parameters)
                rows = cursor.fetchall()
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in rows]
        except duckdb.OutOfMemoryException:
            raise DataError(
                f"the SQL query exceeds the memory limit of {self._memory}; use narrower filters"
            ) from None
        except duckdb.Error as error:
            raise self._create_read_error(self._referenced_tables(statement), error) from None
        finally:
            self._running.discard(cursor)
            cursor.close()

    def fetch_scalar(self, statement: Statement) -> Any:
        """Run a statement that returns a single row, and return the first value of that row."""
        (row,) = self.fetch_rows(statement)
        return next(iter(row.values()))

    @staticmethod
    def _referenced_tables(statement: Statement) -> AbstractSet[str]:
        return statement.identifiers() & views.VIEW_NAMES

    def _create_view(self, name: str) -> None:
        """Create the view of a table unless the view already exists."""
        with self._lock:
            if name in self._views:
                return
            try:
                views.create_view(self._connection, self.collection, name)
            except duckdb.Error as error:
                raise self._create_read_error({name}, error) from None
            self._views.add(name)

    def _create_read_error(self, tables: AbstractSet[str], error: duckdb.Error) -> FormatError:
        first = str(error).partition("\n")[0]
        return FormatError(
            f"cannot read {', '.join(sorted(tables))}: {first}", self.collection.path
        )

    def sql_script(self, statement: Statement) -> str:
        """Return a DuckDB script that runs a statement after creating the views that it reads."""
        lines = []
        if "snapshots" in statement.identifiers():
            names = sql_literal(list(self.snapshots))
            select = f"SELECT unnest({names}) AS snapshot"
            lines.append(f"CREATE OR REPLACE TEMP TABLE snapshots AS\n{select};")
        if FOLD_MACRO in statement.identifiers():
            lines.append(FOLD_MACRO_SQL.strip() + ";")
        lines += [
            views.create_view_sql(self.collection, name)
            for name in sorted(self._referenced_tables(statement))
        ]
        return "\n".join([*lines, statement.inline_parameters() + ";"])


FIRST_ROW_SQL = {
    "documents": "SELECT 1 FROM documents LIMIT 1",
    "documents_map": "SELECT 1 FROM documents_map LIMIT 1",
    "click_estimates": "SELECT 1 FROM qrels WHERE examinations > 0 LIMIT 1",
    "sentences": "SELECT 1 FROM translations LIMIT 1",
    "rejects": "SELECT 1 FROM rejects LIMIT 1",
}
"""SQL that tests whether a table is empty, by table name; it returns one row or none."""


def open_collection_source(path: Path | str, memory_limit: str = MEMORY_LIMIT) -> CollectionSource:
    """Open a published collection for queries.

    Args:
        path: Version folder, or collection folder, whose highest version is opened.
        memory_limit: Memory limit of DuckDB.

    Raises:
        UsageError: The path does not contain a published collection.
        FormatError: The manifest is unreadable.
    """
    collection = open_collection(path)
    _ = collection.manifest  # raises if it is unreadable
    return CollectionSource(collection, memory_limit)
