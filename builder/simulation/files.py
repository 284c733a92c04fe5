"""Output files whose bytes depend only on their content, not on time or file name."""

import gzip
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import polars as pl


@contextmanager
def open_gzip(path: Path) -> Iterator[IO[bytes]]:
    """Open a gzip file for writing, without timestamp and file name in its header."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        path.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=3, mtime=0) as file,
    ):
        yield cast("IO[bytes]", file)


def write_truth_table(
    folder: Path, name: str, rows: Sequence[tuple[object, ...]], schema: Mapping[str, pl.DataType]
) -> None:
    """Write rows of the ground truth to a Parquet file in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    frame = pl.DataFrame(rows, schema=dict(schema), orient="row")
    frame.write_parquet(folder / f"{name}.parquet", compression="zstd", compression_level=3)
