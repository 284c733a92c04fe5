"""Reads the pages of a crawl, one row group of the table `fetches` at a time."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pyarrow as pa

from builder.io import parquet
from builder.io.tables import Table
from builder.text.keys import key_to_id
from schemas import Fetches, Pages

DECODED_ROWS = 1024
"""Number of texts decoded at a time."""
NO_PAGES = pl.DataFrame(schema={**Pages.dtypes(), "doc_id": pl.String(), **Fetches.dtypes()})
"""Empty data frame with the columns of pages and of their texts."""


class RowGroup(NamedTuple):
    """Row group of the table `fetches`, with the files of the table `pages`.

    Args:
        path: Parquet file of `fetches` that contains the row group.
        number: Index of the row group in the file.
        size: Approximate compressed size of the row group in bytes.
        page_files: Parquet files of the table `pages`.
    """

    path: Path
    number: int
    size: int
    page_files: tuple[Path, ...]

    def read_pages(self) -> pl.DataFrame:
        """Read the metadata of the pages whose texts are in the row group.

        Returns:
            The columns of `schemas.Pages`, `doc_id`, and `row`: the index of the page's text in
            the row group.
        """
        with parquet.open_file(self.path) as file:
            fetches = file.read_row_group(self.number, ["number"], use_threads=False)["number"]
        first, last = fetches[0].as_py(), fetches[-1].as_py()
        return (
            parquet.scan(*self.page_files)
            .filter(pl.col("number").is_between(first, last))
            .with_columns(
                key_to_id("doc", "d").alias("doc_id"),
                (pl.col("number") - first).alias("row"),
            )
            .collect()
        )

    def add_texts(self, pages: pl.DataFrame) -> pl.DataFrame:
        """Add the columns `title` and `text` to pages of the row group, and drop the column `row`.

        The texts are copied, because a filtered data frame would keep the texts of all pages in
        memory.

        Args:
            pages: Some of the rows that `read_pages` returned.
        """
        texts, start = [], 0
        rows = pages["row"].to_numpy()
        columns = ["title", "text"]
        with parquet.open_file(self.path) as file:
            schema = pa.schema([file.schema_arrow.field(name) for name in columns])
            for batch in file.iter_batches(DECODED_ROWS, [self.number], columns, use_threads=False):
                in_batch = rows[(rows >= start) & (rows < start + len(batch))] - start
                texts.append(batch.take(pa.array(in_batch)))
                start += len(batch)
        return pages.drop("row").hstack(pl.DataFrame(pa.Table.from_batches(texts, schema)))


def iter_row_groups(fetches: Table, pages: Table) -> Iterator[RowGroup]:
    """Yield the row groups of the table `fetches`, in the order in which the table stores them."""
    for path in fetches.paths:
        with parquet.open_file(path) as file:
            count = file.num_row_groups
        size = path.stat().st_size // max(count, 1)
        yield from (RowGroup(path, number, size, pages.paths) for number in range(count))
