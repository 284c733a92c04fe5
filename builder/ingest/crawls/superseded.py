"""Finds the latest fetch of every canonical URL; all other fetches are superseded.

Input: all columns of the fetches except texts. Output: the table `pages` of the latest fetches, and
the superseded fetches. If several fetches have the same latest time, the one with the greatest URL
is kept. Further ties are broken by the greatest MD5 hash of the text, then by reading order: the
fetch that was read last is kept.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import polars as pl

from builder.errors import DataError
from builder.io import parquet
from builder.io.tables import write_query_result
from builder.runtime.limits import ResourceLimits
from schemas import Pages

MEMORY_SHARE = 0.3
"""Fraction of the memory limit that DuckDB may use."""
ROWS_PER_BATCH = 65_536
ORIGIN_DTYPES = {"file": pl.UInt32(), "line": pl.UInt64()}

REFETCHED = """
CREATE TABLE refetched AS
SELECT * FROM fetched
WHERE doc IN (SELECT doc FROM fetched GROUP BY doc HAVING count(*) > 1)
"""

CLASH = """
SELECT min(url_key), max(url_key) FROM refetched
GROUP BY doc HAVING min(url_key) <> max(url_key)
ORDER BY doc LIMIT 1
"""

TIED = """
CREATE TABLE tied AS
SELECT number FROM refetched QUALIFY count(*) OVER (PARTITION BY doc, fetched_at, url) > 1
"""

SUPERSEDED = """
CREATE TABLE superseded AS
WITH digests AS (SELECT number, md5(text) AS digest FROM texts SEMI JOIN tied USING (number))
SELECT s.number, s.file, s.line FROM refetched AS s LEFT JOIN digests USING (number)
WINDOW per_page AS (
    PARTITION BY s.doc ORDER BY s.fetched_at DESC, s.url DESC, digest DESC, s.number DESC
)
QUALIFY row_number() OVER per_page > 1
"""

PAGES = "SELECT * FROM fetched ANTI JOIN superseded USING (number) ORDER BY number"


class LatestFetchSelector:
    """Context manager that collects fetches, and selects the latest fetch of each canonical URL.

    Args:
        limits: Memory limit and scratch folder.
    """

    def __init__(self, limits: ResourceLimits) -> None:
        self._stack = ExitStack()
        self._connection = self._stack.enter_context(limits.connect_to_duckdb(MEMORY_SHARE))
        schema = pl.DataFrame(schema={**Pages.dtypes(), **ORIGIN_DTYPES})
        self._columns = schema.columns
        self._connection.register("added", schema.to_arrow())
        self._connection.execute("CREATE TABLE fetched AS FROM added")
        self._connection.execute("CREATE TABLE superseded (number UBIGINT)")

    def add(self, fetches: pl.DataFrame) -> None:
        """Add fetches; their texts are ignored."""
        self._connection.register("added", fetches.select(self._columns).to_arrow())
        self._connection.execute("INSERT INTO fetched FROM added")
        self._connection.unregister("added")

    def find_superseded_fetches(self, fetches_path: Path) -> Iterator[tuple[int, int]]:
        """Yield the file index and line of every superseded fetch, in reading order.

        Args:
            fetches_path: Parquet file of the table `fetches`, whose texts are read only to break
                ties.

        Raises:
            DataError: two canonical URLs have the same document key.
        """
        self._connection.execute(REFETCHED)
        if clash := self._connection.execute(CLASH).fetchall():
            raise DataError(
                "expected one URL per document id, found two URLs with the same id: "
                f"{list(clash[0])}; remove one of them from the crawl"
            )
        self._connection.execute(TIED)
        parquet.read_parquet_relation(self._connection, fetches_path).create_view("texts")
        self._connection.execute("DROP TABLE superseded")
        self._connection.execute(SUPERSEDED)
        rows = self._connection.sql("SELECT file, line FROM superseded ORDER BY number")
        for batch in rows.to_arrow_reader(ROWS_PER_BATCH):
            yield from zip(batch["file"].to_pylist(), batch["line"].to_pylist(), strict=True)

    def write_pages(self, path: Path) -> int:
        """Write the table `pages`, and return the number of rows.

        Call it after all superseded fetches have been read.
        """
        return write_query_result(self._connection, PAGES, path, Pages)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()
