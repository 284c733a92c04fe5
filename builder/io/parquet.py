"""Reads Parquet files by their literal paths.

Polars and DuckDB interpret paths as glob patterns and would not find a folder named `notes [2]`;
the functions of this module disable globbing. They also name the file in error messages, which
Polars and DuckDB often do not.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import SEEK_END
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow.parquet as pq

from builder.errors import FormatError, UsageError
from builder.io.git import describe_checkout_fault

MAGIC = b"PAR1"
"""First and last bytes of a Parquet file."""
MAX_ROWS = 2**22
"""Maximum number of rows of an untrusted file if it has more rows than bytes."""
GLOB_ESCAPES = str.maketrans({sign: f"[{sign}]" for sign in "[*?"})


def open_file(path: Path) -> pq.ParquetFile:
    """Open a Parquet file to read its row groups or batches one after another.

    Pre-buffering is disabled, because Arrow would then keep all row groups read so far in memory
    until the file is closed.

    Raises:
        OSError: the file does not exist.
        pyarrow.ArrowInvalid: the file is not Parquet.
    """
    return pq.ParquetFile(path, pre_buffer=False)


def ends_with_magic(path: Path) -> bool:
    """Return whether a file ends with the Parquet magic number; a truncated file does not."""
    with path.open("rb") as file:
        size = file.seek(0, SEEK_END)
        file.seek(max(0, size - len(MAGIC)))
        return file.read() == MAGIC


def scan(*paths: Path) -> pl.LazyFrame:
    """Scan one or more Parquet files as one lazy frame."""
    return pl.scan_parquet(list(paths), glob=False, hive_partitioning=False)


def check_and_scan(*paths: Path) -> pl.LazyFrame:
    """Check that Parquet files exist and have a valid footer, then scan them as one lazy frame.

    Raises:
        UsageError: a file does not exist.
        FormatError: a file is not Parquet.
    """
    check_readable(*paths)
    return scan(*paths)


def check_readable(*paths: Path) -> None:
    """Check that Parquet files exist and have a valid footer.

    Raises:
        UsageError: a file does not exist.
        FormatError: a file is not Parquet.
    """
    for path in paths:
        with _reraise_as_user_errors(path, "a Parquet table"):
            scan(path).collect_schema()


def read(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Read all or some columns of a Parquet file into a data frame.

    Raises:
        UsageError: the file does not exist.
        FormatError: the file is not Parquet, or a column is missing.
    """
    names = None if columns is None else list(columns)
    with _reraise_as_user_errors(
        path, "a Parquet table" + (f" with {', '.join(names)}" if names else "")
    ):
        return pl.read_parquet(path, columns=names, glob=False, hive_partitioning=False)


def read_unless_too_many_rows(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Read an untrusted Parquet file into a data frame, unless its footer declares too many rows.

    Raises:
        UsageError: the file does not exist.
        FormatError: the file is not Parquet, a column is missing, or the footer declares more than
            `MAX_ROWS` rows and more than one row per byte of the file.
    """
    rows = int(check_and_scan(path).select(pl.len()).collect().item())
    size = path.stat().st_size
    if rows > max(MAX_ROWS, size):
        raise FormatError(
            f"the file declares {rows:,} rows but has only {size:,} bytes; expected at most one "
            "row per byte",
            path,
        )
    return read(path, columns)


def read_columns(
    path: Path, dtypes: Mapping[str, pl.DataType | type[pl.DataType]], description: str
) -> pl.DataFrame:
    """Read columns of an untrusted Parquet file, and cast them to the given types.

    Args:
        path: Parquet file.
        dtypes: Polars type of each column to read, by name.
        description: Description of the expected content, for error messages.

    Raises:
        UsageError: the file does not exist.
        FormatError: the file is not Parquet, a column is missing, or a value cannot be cast.
    """
    with _reraise_as_user_errors(path, f"{description} with {', '.join(dtypes)}"):
        frame = read_unless_too_many_rows(path, list(dtypes))
        return frame.select(pl.col(name).cast(kind) for name, kind in dtypes.items())


def read_parquet_relation(
    connection: duckdb.DuckDBPyConnection, *paths: Path, **options: Any
) -> duckdb.DuckDBPyRelation:
    """Return a DuckDB relation that reads one or more Parquet files.

    Args:
        connection: DuckDB connection.
        paths: One or more Parquet files.
        options: Further options of DuckDB's `read_parquet`.
    """
    names = [str(path).translate(GLOB_ESCAPES) for path in paths]
    return connection.read_parquet(names, hive_partitioning=False, **options)


def render_read_parquet_call(*paths: Path) -> str:
    """Return a DuckDB SQL expression that reads Parquet files, for users to copy."""
    names = (str(path.absolute()).translate(GLOB_ESCAPES).replace("'", "''") for path in paths)
    listed = ", ".join(f"'{name}'" for name in names)
    return f"read_parquet([{listed}], hive_partitioning = false)"


def list_files(folder: Path) -> list[Path]:
    """List the Parquet files of a folder, sorted by name."""
    return sorted(folder.glob("*.parquet"))


@contextmanager
def _reraise_as_user_errors(path: Path, expected_content: str) -> Iterator[None]:
    """Context manager that raises UsageError if a file is missing, FormatError if it is unreadable.

    Args:
        path: Parquet file that is read.
        expected_content: Description of the expected content, for error messages.
    """
    if not path.is_file():
        raise UsageError(f"{path}: expected a Parquet file, found none")
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        fault = describe_checkout_fault(path)
        message = f"{fault[0]}; {fault[1]}" if fault else str(error).partition("\n")[0]
        raise FormatError(f"expected {expected_content}: {message}", path) from error
