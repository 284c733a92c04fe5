"""Files whose bytes depend on their content alone."""

import gzip
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import polars as pl


@contextmanager
def gzip_file(path: Path) -> Iterator[IO[bytes]]:
    """A gzip file without time and name, open for writing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        path.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=3, mtime=0) as file,
    ):
        yield cast("IO[bytes]", file)


def write_truth(
    folder: Path, name: str, rows: Sequence[tuple[object, ...]], columns: Mapping[str, pl.DataType]
) -> None:
    """Write a table of the truth."""
    folder.mkdir(parents=True, exist_ok=True)
    frame = pl.DataFrame(rows, schema=dict(columns), orient="row")
    frame.write_parquet(folder / f"{name}.parquet", compression="zstd", compression_level=3)
