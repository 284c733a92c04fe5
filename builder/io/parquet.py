"""Read Parquet files by literal path.

Polars and DuckDB interpret paths as glob patterns and do not find a folder called `notes [2]`; here
globbing is off. Errors name the file, which those of the engines often do not.
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
    """Scan files as one lazy frame."""
    return pl.scan_parquet(list(paths), glob=False, hive_partitioning=False)


def checked(*paths: Path) -> pl.LazyFrame:
    """Like `scan`, but check first that the files exist and have a Parquet footer.

    Raises:
        UsageError: a file does not exist.
        FormatError: a file is not Parquet.
    """
    check(*paths)
    return scan(*paths)


def check(*paths: Path) -> None:
    """Check that a file exists and has a Parquet footer; raises as `checked` does."""
    for path in paths:
        with _told(path, "a Parquet table"):
            scan(path).collect_schema()


def read(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Read a file, or the given columns of it, into a frame.

    Raises:
        UsageError: the file does not exist.
        FormatError: it is not Parquet, or a column is missing.
    """
    chosen = None if columns is None else list(columns)
    with _told(path, "a Parquet table" + (f" with {', '.join(chosen)}" if chosen else "")):
        return pl.read_parquet(path, columns=chosen, glob=False, hive_partitioning=False)


def read_bounded(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Like `read`, for an untrusted file.

    Raises:
        FormatError: also if its footer claims more rows than `MOST_ROWS` and more rows than bytes,
            since a row with an id or a name takes at least a byte.
    """
    rows = int(checked(path).select(pl.len()).collect().item())
    if rows > max(MOST_ROWS, path.stat().st_size):
        raise FormatError(f"expected fewer rows in {path.stat().st_size} bytes: {rows}", path)
    return read(path, columns)


def taken(
    path: Path, wanted: Mapping[str, pl.DataType | type[pl.DataType]], what: str
) -> pl.DataFrame:
    """Read columns of an untrusted file and cast them.

    Args:
        path: The file.
        wanted: Polars type of each column, by name.
        what: What the file contains, for error messages.

    Raises:
        UsageError: the file does not exist.
        FormatError: it is not Parquet, a column is missing, or values cannot be cast.
    """
    with _told(path, f"{what} with {', '.join(wanted)}"):
        found = read_bounded(path, list(wanted))
        return found.select(pl.col(name).cast(kind) for name, kind in wanted.items())


def rows(
    connection: duckdb.DuckDBPyConnection, *paths: Path, **options: Any
) -> duckdb.DuckDBPyRelation:
    """Files as one DuckDB relation.

    Args:
        connection: DuckDB connection.
        paths: At least one file.
        options: Options of `read_parquet`.
    """
    names = [str(path).translate(PATTERN) for path in paths]
    return connection.read_parquet(names, hive_partitioning=False, **options)


def rows_text(*paths: Path) -> str:
    """The call that reads files in DuckDB as SQL text, for people to copy."""
    names = (str(path.absolute()).translate(PATTERN).replace("'", "''") for path in paths)
    listed = ", ".join(f"'{name}'" for name in names)
    return f"read_parquet([{listed}], hive_partitioning = false)"


def inside(folder: Path) -> list[Path]:
    """Parquet files of a folder, sorted by name."""
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
