"""Pool of in-memory DuckDB instances, since opening one takes longer than most queries.

A caller gets a connection with an empty catalog, which is dropped afterwards. An instance that
raised an error or spilled to disk is closed instead of reused.
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
"""The file cache is off because scratch files of one name are rewritten."""
MAX_IDLE = 2
"""Maximum idle instances; several are in use while connections overlap."""

_idle: list[duckdb.DuckDBPyConnection] = []
_lock = Lock()
_numbers = count()


@contextmanager
def pooled_connection(
    settings: Mapping[str, str], spills: Path
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Context manager that yields a connection to an empty in-memory DuckDB database of the pool.

    Args:
        settings: DuckDB settings, such as `threads` and `memory_limit`.
        spills: Folder for spilled data; created on first use.
    """
    base = _take_instance({**settings, "temp_directory": str(spills)})
    name = f"work_{next(_numbers)}"
    connection = base.cursor()
    is_clean = False
    try:
        connection.execute(f"ATTACH ':memory:' AS {name}; USE {name}")
        connection.execute("SET enable_progress_bar = false")
        yield connection
        connection.close()
        base.execute(f"DETACH {name}")
        is_clean = not spills.exists()
    finally:
        connection.close()
        _release(base, is_clean=is_clean)


def append_rows(connection: duckdb.DuckDBPyConnection, table: str, rows: pl.DataFrame) -> None:
    """Append rows to a table by column position; the table name must be trusted."""
    connection.register("appended", rows.to_arrow())
    connection.execute(f"INSERT INTO {table} FROM appended")
    connection.unregister("appended")


def set_variables(
    connection: duckdb.DuckDBPyConnection, **values: bool | int | float | str | list[str]
) -> None:
    """Set SQL variables, which statements read with `getvariable`."""
    for name, value in values.items():
        connection.execute(f"SET VARIABLE {name} = ?", [value])


def _take_instance(settings: Mapping[str, str]) -> duckdb.DuckDBPyConnection:
    """Take an idle DuckDB instance and apply the settings, or open a new instance."""
    with _lock:
        base = _idle.pop() if _idle else None
    if base is None:
        return duckdb.connect(config={**FIXED_SETTINGS, **settings})
    try:
        for name, value in settings.items():
            base.execute(f"SET GLOBAL {name} = $value", {"value": value})
    except duckdb.Error:
        base.close()
        raise
    return base


@atexit.register
def _close() -> None:
    """Close the idle DuckDB instances at interpreter exit."""
    with _lock:
        while _idle:
            _idle.pop().close()


def _release(base: duckdb.DuckDBPyConnection, *, is_clean: bool) -> None:
    """Return a DuckDB instance to the pool, or close it if it is not clean."""
    with _lock:
        if is_clean and len(_idle) < MAX_IDLE:
            _idle.append(base)
            return
    base.close()
