"""Parquet files by their names, as they are.

Both engines take the name of a file for a pattern, and with it a folder that is called `notes [2]`;
here a name is a name. A file that cannot be read is told by its name, which engines keep to
themselves.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from builder.errors import FormatError, UsageError

MOST_ROWS = 2**22
"""Rows that a file may have however small it is."""
PATTERN = str.maketrans({sign: f"[{sign}]" for sign in "[*?"})


def scan(*paths: Path) -> pl.LazyFrame:
    """Files as one lazy frame."""
    return pl.scan_parquet(list(paths), glob=False, hive_partitioning=False)


def checked(*paths: Path) -> pl.LazyFrame:
    """As `scan`, of files that may be missing or damaged.

    Raises:
        UsageError: one is not there.
        FormatError: one is no Parquet file.
    """
    check(*paths)
    return scan(*paths)


def check(*paths: Path) -> None:
    """Raise what `checked` raises."""
    for path in paths:
        with _told(path, "a Parquet table"):
            pl.read_parquet_schema(path)


def read(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """A file as a frame, or some of its columns.

    Raises:
        UsageError: it is not there.
        FormatError: it is no Parquet file, or lacks a column.
    """
    chosen = None if columns is None else list(columns)
    with _told(path, "a Parquet table" + (f" with {', '.join(chosen)}" if chosen else "")):
        return pl.read_parquet(path, columns=chosen, glob=False, hive_partitioning=False)


def read_bounded(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """As `read`, of a file that somebody hands in.

    Raises:
        FormatError: also where it says that it has more rows than `MOST_ROWS` and than bytes: rows
            have names or ids, of which few take less.
    """
    rows = int(checked(path).select(pl.len()).collect().item())
    if rows > max(MOST_ROWS, path.stat().st_size):
        raise FormatError(f"expected fewer rows in {path.stat().st_size} bytes: {rows}", path)
    return read(path, columns)


def taken(
    path: Path, wanted: Mapping[str, pl.DataType | type[pl.DataType]], what: str
) -> pl.DataFrame:
    """Some columns of a file that somebody hands in, in our types.

    Args:
        path: The file.
        wanted: Names and types.
        what: What the file is, for the message.

    Raises:
        UsageError: it is not there.
        FormatError: it is no Parquet file, lacks a column, or has values of other types.
    """
    with _told(path, f"{what} with {', '.join(wanted)}"):
        found = read_bounded(path, list(wanted))
        return found.select(pl.col(name).cast(kind) for name, kind in wanted.items())


def rows(
    connection: duckdb.DuckDBPyConnection, *paths: Path, **options: Any
) -> duckdb.DuckDBPyRelation:
    """Files as one relation of a connection.

    Args:
        connection: Of the engine.
        paths: The files, at least one.
        options: Of `read_parquet`.
    """
    names = [str(path).translate(PATTERN) for path in paths]
    return connection.read_parquet(names, hive_partitioning=False, **options)


def inside(folder: Path) -> list[Path]:
    """The files of a folder, by name."""
    return sorted(folder.glob("*.parquet"))


@contextmanager
def _told(path: Path, expected: str) -> Iterator[None]:
    if not path.is_file():
        raise UsageError(f"{path}: expected a readable file, found none")
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        told = str(error).partition("\n")[0]
        raise FormatError(f"expected {expected}: {told}", path) from error
