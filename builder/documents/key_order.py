"""Reads the texts of pages sorted by document key, with bounded memory.

Input: `fetches` in the order of the crawl, and `pages`, which refer to fetches by `number`. Output:
the pages with their texts, sorted by document key. The texts are read in several passes. Each pass
scans all of `fetches`, but keeps and sorts only the texts in one range of keys. The alternative, a
single `ORDER BY`, runs out of memory for 1 GB of texts at a limit of 700 MiB, although DuckDB
spills to disk; a pass over these texts takes a second.
"""

from collections.abc import Iterator

import duckdb
import polars as pl

MEMORY_SHARE = 4
"""Ratio of the memory limit to the maximum size of the texts read in one pass."""
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
"""SQL query that reads the texts in a range of keys. `key_range` has only two integer columns, so
that DuckDB builds the hash table of the join from it; with more columns, DuckDB would hash the
texts."""


def drop_texts(pages: pl.DataFrame) -> pl.DataFrame:
    """Replace the columns `title` and `text` with `text_bytes`, the size of `text` in bytes."""
    size = pl.col("text").str.len_bytes().alias("text_bytes")
    return pages.with_columns(size).drop("title", "text")


def read_pages_in_key_order(
    connection: duckdb.DuckDBPyConnection, memory: int
) -> Iterator[pl.DataFrame]:
    """Yield the rows of the view `pages` with title and text, sorted by document key, in batches.

    Args:
        connection: DuckDB connection with the views `fetches` (see `schemas.Fetches`) and `pages`.
            `pages` must have the columns `doc` (unique), `number` and `text_bytes`.
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
