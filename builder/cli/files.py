"""Writes a table to a file whose suffix names the format."""

from pathlib import Path
from typing import TYPE_CHECKING

from builder.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

SUFFIXES = (".csv", ".tsv", ".parquet", ".json")


def check_suffix(path: Path) -> None:
    """Refuse a file name that names no format.

    Raises:
        UsageError: the suffix is not in `SUFFIXES`, or the folder does not exist.
    """
    if path.suffix not in SUFFIXES:
        raise UsageError(f"{path}: expected a file name that ends in {', '.join(SUFFIXES)}")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: expected an existing folder")


def write_table(frame: "pl.DataFrame", path: Path) -> None:
    """Write a table as CSV, TSV, Parquet or a JSON array of objects; see `check_suffix`."""
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".json":
        frame.write_json(path)
    else:
        frame.write_csv(path, separator="," if path.suffix == ".csv" else "\t")
