"""The pages of a crawl, a row group of their texts at a time."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builder.io import parquet
from builder.io.tables import Table
from builder.text.keys import id_of_key

ROWS = 1024
"""Texts that are unpacked together."""


class RowGroup(NamedTuple):
    """A row group of `fetches`.

    Args:
        path: Its file.
        number: Its index in the file.
        size: About how many bytes of the file it has.
        pages: The files of `pages`.
    """

    path: Path
    number: int
    size: int
    pages: tuple[Path, ...]

    def addresses(self) -> pl.DataFrame:
        """The pages of these fetches without their texts, in the order of `number`, with `doc_id`.

        `row`: the row of the row group that has the texts.
        """
        with pq.ParquetFile(self.path) as file:
            fetches = file.read_row_group(self.number, ["number"], use_threads=False)["number"]
        first, last = fetches[0].as_py(), fetches[-1].as_py()
        return (
            parquet.scan(*self.pages)
            .filter(pl.col("number").is_between(first, last))
            .with_columns(
                id_of_key("doc", "d").alias("doc_id"),
                (pl.col("number") - first).alias("row"),
            )
            .collect()
        )

    def with_texts(self, addresses: pl.DataFrame) -> pl.DataFrame:
        """Pages with `title` and `text`, of which few more are in memory than these.

        They are copied: a frame that was filtered keeps the text of all that it had.

        Args:
            addresses: Rows of `addresses`.
        """
        found, start = [], 0
        rows = addresses["row"].to_numpy()
        columns = ["title", "text"]
        with pq.ParquetFile(self.path) as file:
            schema = pa.schema([file.schema_arrow.field(name) for name in columns])
            for batch in file.iter_batches(ROWS, [self.number], columns, use_threads=False):
                here = rows[(rows >= start) & (rows < start + len(batch))] - start
                found.append(batch.take(pa.array(here)))
                start += len(batch)
        return addresses.drop("row").hstack(pl.DataFrame(pa.Table.from_batches(found, schema)))


def row_groups(fetches: Table, pages: Table) -> Iterator[RowGroup]:
    """The row groups of a crawl, in the order read."""
    for path in fetches.paths:
        with pq.ParquetFile(path) as file:
            count = file.num_row_groups
        size = path.stat().st_size // max(count, 1)
        yield from (RowGroup(path, number, size, pages.paths) for number in range(count))
