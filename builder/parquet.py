"""Parquet files by their names, as they are.

Both engines take the name of a file for a pattern, and with it a folder that is called `notes [2]`;
here a name is a name.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

PATTERN = str.maketrans({sign: f"[{sign}]" for sign in "[*?"})


def scan(*paths: Path) -> pl.LazyFrame:
    """Files as one lazy frame."""
    return pl.scan_parquet(list(paths), glob=False, hive_partitioning=False)


def read(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """A file as a frame, or some of its columns."""
    chosen = None if columns is None else list(columns)
    return pl.read_parquet(path, columns=chosen, glob=False, hive_partitioning=False)


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
