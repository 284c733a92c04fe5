"""Pool of in-memory DuckDB instances, since opening an instance takes longer than most queries.

A caller gets a connection to an empty database, which is dropped afterwards. An instance is closed
instead of reused if the caller raised an error or data were spilled to disk.
"""

import atexit
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from threading import Lock

import duckdb
import polars as pl

FIXED_SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "enable_external_file_cache": "false",
    "preserve_insertion_order": "true",
}
"""DuckDB settings of all instances. The file cache is off because temporary files are overwritten
with files of the same name."""
MAX_IDLE = 2
"""Maximum number of idle instances in the pool."""

_idle: list[duckdb.DuckDBPyConnection] = []
_lock = Lock()
_numbers = count()


@contextmanager
def pooled_duckdb_connection(
    settings: Mapping[str, str], spill_folder: Path
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to an empty in-memory database in a DuckDB instance from the pool.

    This is a context manager; the database is dropped on exit.

    Args:
        settings: DuckDB settings, such as `threads` and `memory_limit`.
        spill_folder: Folder for data that DuckDB spills to disk; created on first use.
    """
    instance = _acquire_duckdb_instance({**settings, "temp_directory": str(spill_folder)})
    name = f"work_{next(_numbers)}"
    connection = instance.cursor()
    is_clean = False
    try:
        connection.execute(f"ATTACH ':memory:' AS {name}; USE {name}")
        connection.execute("SET enable_progress_bar = false")
        yield connection
        connection.close()
        instance.execute(f"DETACH {name}")
        is_clean = not spill_folder.exists()
    finally:
        connection.close()
        _release_duckdb_instance(instance, is_clean=is_clean)


def append_rows(connection: duckdb.DuckDBPyConnection, table: str, rows: pl.DataFrame) -> None:
    """Append the rows of a data frame to a DuckDB table, matching columns by position.

    The table name is inserted into SQL and must therefore be trusted.
    """
    connection.register("appended", rows.to_arrow())
    connection.execute(f"INSERT INTO {table} FROM appended")
    connection.unregister("appended")


def set_sql_variables(
    connection: duckdb.DuckDBPyConnection, **values: bool | int | float | str | list[str]
) -> None:
    """Set variables of a DuckDB connection, which SQL statements read with `getvariable`."""
    for name, value in values.items():
        connection.execute(f"SET VARIABLE {name} = ?", [value])


def _acquire_duckdb_instance(settings: Mapping[str, str]) -> duckdb.DuckDBPyConnection:
    """Take an idle DuckDB instance from the pool and apply settings to it, or open a new one."""
    with _lock:
        instance = _idle.pop() if _idle else None
    if instance is None:
        return duckdb.connect(config={**FIXED_SETTINGS, **settings})
    try:
        for name, value in settings.items():
            instance.execute(f"SET GLOBAL {name} = $value", {"value": value})
    except duckdb.Error:
        instance.close()
        raise
    return instance


@atexit.register
def _close_idle_duckdb_instances() -> None:
    """Close the idle DuckDB instances at interpreter exit."""
    with _lock:
        while _idle:
            _idle.pop().close()


def _release_duckdb_instance(instance: duckdb.DuckDBPyConnection, *, is_clean: bool) -> None:
    """Return a DuckDB instance to the pool; close it if it is not clean or the pool is full."""
    with _lock:
        if is_clean and len(_idle) < MAX_IDLE:
            _idle.append(instance)
            return
    instance.close()
