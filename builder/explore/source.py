"""A published collection that answers statements.

In: a version folder. Out: `Source`. The engine reads inside the folder alone, spills nothing, and
keeps within a limit of memory. A table that the collection lacks is an empty view; a file that is
damaged is an error of the statements that need it, and of no other.
"""

import json
from collections.abc import Set as AbstractSet
from functools import cached_property
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import Any

import duckdb

from builder.collection.read import Collection, open_collection
from builder.errors import DataError, FormatError
from builder.explore import views
from builder.explore.statements import FOLD, FOLD_SQL, Row, Statement, literal
from builder.io import parquet

MEMORY = "448MiB"
"""What the engine may use; the process is to stay below 1 GiB."""


AT_ONCE = 2
"""Statements that run at the same time; more wait, so that they do not share too little memory."""


class Source:
    """A collection that answers statements.

    Args:
        collection: The collection.
        memory: What the engine may use, as DuckDB writes sizes.

    Attributes:
        systems: Systems whose runs were loaded, sorted; see `builder.explore.runs`.
        depth: Documents of each run that are kept.
    """

    def __init__(self, collection: Collection, memory: str = MEMORY) -> None:
        self.collection = collection
        self.snapshots = collection.snapshots
        self.systems: tuple[str, ...] = ()
        self.depth = 0
        self._memory = memory
        self._ready: set[str] = set()
        self._lock = Lock()
        self._turn = BoundedSemaphore(AT_ONCE)
        self._running: set[duckdb.DuckDBPyConnection] = set()
        self._is_open = True
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
        names = {"names": list(self.snapshots)}
        self._base.execute(
            "CREATE TABLE snapshots AS SELECT unnest($names::VARCHAR[]) AS snapshot", names
        )
        self._base.execute(FOLD_SQL.replace("TEMP ", ""))

    def add(self, name: str, rows: Any) -> None:
        """Keep an Arrow table in memory under a name; before `seal`."""
        self._base.from_arrow(rows).create(name)

    def seal(self) -> None:
        """Let the engine read below the collection alone, for good."""
        folder = str(self.collection.path)
        folders = sorted({folder, folder.translate(parquet.GLOB_ESCAPES)})  # as views name it, too
        self._base.execute("SET allowed_directories = $value", {"value": folders})
        self._base.execute("SET enable_external_access = false")
        self._base.execute("SET lock_configuration = true")

    def stop(self) -> None:
        """Interrupt statements that run, and answer no more."""
        self._is_open = False
        for cursor in tuple(self._running):
            cursor.interrupt()

    def close(self) -> None:
        """Stop, and close the engine once nothing runs; the caller waits for neither."""
        self.stop()
        if not self._running:
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
            found: dict[str, Any] = json.loads(path.read_text("utf-8"))
            if not {"snapshots", "pairs", "checks"} <= found.keys():
                raise ValueError("expected snapshots, pairs and checks")
        except (OSError, ValueError, AttributeError, RecursionError) as error:
            raise FormatError(f"not a readable drift.json: {error}", path) from None
        return found

    @property
    def is_imported(self) -> bool:
        """Whether it was made of a published release."""
        return "imported" in self.collection.manifest["definition"]

    def has(self, table: str) -> bool:
        """Whether the collection, or any of its snapshots, has a row of a table.

        Raises:
            FormatError: the table is damaged.
        """
        return bool(self.rows(Statement(HAS[table])))

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
            with self._turn:
                self._running.add(cursor)
                if not self._is_open:
                    raise DataError("the explorer ends")
                cursor.execute(statement.sql, statement.bound)
                found = cursor.fetchall()
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in found]
        except duckdb.OutOfMemoryException:
            raise DataError(f"this question needs more than {self._memory} of memory") from None
        except duckdb.Error as error:
            raise self._damaged(self._tables(statement), error) from None
        finally:
            self._running.discard(cursor)
            cursor.close()

    def value(self, statement: Statement) -> Any:
        """Return the single value of a statement."""
        (row,) = self.rows(statement)
        return next(iter(row.values()))

    @staticmethod
    def _tables(statement: Statement) -> AbstractSet[str]:
        return statement.words() & views.NAMES

    def _prepare(self, name: str) -> None:
        """Create the view of a table when it is first asked for."""
        with self._lock:
            if name in self._ready:
                return
            try:
                views.create_view(self._base, self.collection, name)
            except duckdb.Error as error:
                raise self._damaged({name}, error) from None
            self._ready.add(name)

    def _damaged(self, tables: AbstractSet[str], error: duckdb.Error) -> FormatError:
        first = str(error).partition("\n")[0]
        return FormatError(
            f"cannot read {', '.join(sorted(tables))}: {first}", self.collection.path
        )

    def script(self, statement: Statement) -> str:
        """SQL that anyone can run in DuckDB for the same rows: the views, then the statement."""
        lines = []
        if "snapshots" in statement.words():
            names = literal(list(self.snapshots))
            made = f"SELECT unnest({names}) AS snapshot"
            lines.append(f"CREATE OR REPLACE TEMP TABLE snapshots AS\n{made};")
        if FOLD in statement.words():
            lines.append(FOLD_SQL.strip() + ";")
        lines += [
            views.view_text(self.collection, name) for name in sorted(self._tables(statement))
        ]
        return "\n".join([*lines, statement.written() + ";"])


HAS = {
    "documents": "SELECT 1 FROM documents LIMIT 1",
    "documents_map": "SELECT 1 FROM documents_map LIMIT 1",
    "click_estimates": "SELECT 1 FROM qrels WHERE examinations > 0 LIMIT 1",
    "sentences": "SELECT 1 FROM translations LIMIT 1",
    "rejects": "SELECT 1 FROM rejects LIMIT 1",
}
"""What asks for a row of a table."""


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
