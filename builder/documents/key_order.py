"""Reads the texts of pages in order of key, in passes of bounded size.

Input: `fetches` in the order of the crawl, and `pages`, which refer to them by `number`. Output:
the pages with their texts, sorted by key. A pass reads all of `fetches` but keeps and sorts the
texts of a single key range. A single `ORDER BY` over a gigabyte of texts runs out of memory at a
limit of 700 MiB although DuckDB spills to disk; a pass over it takes a second.
"""

from collections.abc import Iterator

import duckdb
import polars as pl

MEMORY_SHARE = 4
"""Divisor of the memory limit that bounds the texts of a pass."""
ROWS_PER_BATCH = 2048

OFFSETS = """
CREATE TABLE offsets AS
SELECT doc, number, (sum(text_bytes) OVER (ORDER BY doc) - text_bytes)::UBIGINT AS first_byte
FROM pages
"""

KEY_RANGE = """
CREATE OR REPLACE TABLE key_range AS
SELECT doc, number FROM offsets WHERE first_byte >= $start AND first_byte < $stop
"""

PAGES_IN_RANGE = "SELECT * FROM pages SEMI JOIN key_range USING (doc) ORDER BY doc"

TEXTS_IN_RANGE = "SELECT title, text FROM fetches JOIN key_range USING (number) ORDER BY doc"
"""The join hashes the two integers of `key_range`; with more columns it would hash the texts."""


def drop_texts(pages: pl.DataFrame) -> pl.DataFrame:
    """Replace `title` and `text` by `text_bytes`, the size of the text in bytes."""
    size = pl.col("text").str.len_bytes().alias("text_bytes")
    return pages.with_columns(size).drop("title", "text")


def read_in_key_order(connection: duckdb.DuckDBPyConnection, memory: int) -> Iterator[pl.DataFrame]:
    """Yield the rows of view `pages` with title and text, sorted by document key, in batches.

    Args:
        connection: Connection with the views `fetches` (see `schemas.Fetches`) and `pages` (`doc`,
            which is unique, `number`, `text_bytes`, and any columns).
        memory: Memory limit in bytes.
    """
    pass_bytes = max(memory // MEMORY_SHARE, 1)
    connection.execute(OFFSETS)
    (last,) = connection.execute("SELECT max(first_byte) FROM offsets").fetchall()[0]
    for start in range(0, 0 if last is None else last + 1, pass_bytes):
        connection.execute(KEY_RANGE, {"start": start, "stop": start + pass_bytes})
        pages, row = connection.sql(PAGES_IN_RANGE).pl(), 0
        for batch in connection.sql(TEXTS_IN_RANGE).to_arrow_reader(ROWS_PER_BATCH):
            yield pages[row : row + len(batch)].hstack(pl.DataFrame(batch))
            row += len(batch)
