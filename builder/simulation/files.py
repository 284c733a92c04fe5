"""Writes output files whose bytes depend only on their content, not on time or file name."""

import gzip
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import polars as pl


@contextmanager
def open_gzip(path: Path) -> Iterator[IO[bytes]]:
    """Open a gzip file for writing, with no timestamp or file name in its header."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        path.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=3, mtime=0) as file,
    ):
        yield cast("IO[bytes]", file)


def write_ground_truth_table(
    folder: Path, name: str, rows: Sequence[tuple[object, ...]], schema: Mapping[str, pl.DataType]
) -> None:
    """Write a table of the ground truth to a Parquet file.

    Args:
        folder: Output folder; created if missing.
        name: Name of the table; the file is `<name>.parquet`.
        rows: Rows of the table.
        schema: Polars data types by column.
    """
    folder.mkdir(parents=True, exist_ok=True)
    frame = pl.DataFrame(rows, schema=dict(schema), orient="row")
    frame.write_parquet(folder / f"{name}.parquet", compression="zstd", compression_level=3)
