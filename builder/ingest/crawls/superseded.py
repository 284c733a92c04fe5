"""Which of several fetches of one address counts: the last, by a total order.

In: all there is to say of each fetch but its texts. Out: `pages`, and the fetches that others
supersede. Of several fetches of one URL key the last counts; of equal times the greatest URL, then
the text with the greatest md5, then the last that was read.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import polars as pl

from builder.errors import DataError
from builder.io import parquet
from builder.io.tables import write_query
from builder.runtime.limits import Limits
from schemas import Pages

SHARE = 0.3
"""Fraction of the memory limit for the engine that compares fetches."""
ROWS_PER_BATCH = 65_536
PLACE = {"file": pl.UInt32(), "line": pl.UInt64()}

SEVERAL = """
CREATE TABLE several AS
SELECT * FROM fetched
WHERE doc IN (SELECT doc FROM fetched GROUP BY doc HAVING count(*) > 1)
"""

CLASH = """
SELECT min(url_key), max(url_key) FROM several
GROUP BY doc HAVING min(url_key) <> max(url_key)
ORDER BY doc LIMIT 1
"""

TIED = """
CREATE TABLE tied AS
SELECT number FROM several QUALIFY count(*) OVER (PARTITION BY doc, fetched_at, url) > 1
"""

SUPERSEDED = """
CREATE TABLE superseded AS
WITH digests AS (SELECT number, md5(text) AS digest FROM texts SEMI JOIN tied USING (number))
SELECT s.number, s.file, s.line FROM several AS s LEFT JOIN digests USING (number)
WINDOW of_page AS (
    PARTITION BY s.doc ORDER BY s.fetched_at DESC, s.url DESC, digest DESC, s.number DESC
)
QUALIFY row_number() OVER of_page > 1
"""

PAGES = "SELECT * FROM fetched ANTI JOIN superseded USING (number) ORDER BY number"


class LastFetches:
    """Collects the fetches of a snapshot; a context manager.

    Args:
        limits: Scratch space and memory.
    """

    def __init__(self, limits: Limits) -> None:
        self._stack = ExitStack()
        self._connection = self._stack.enter_context(limits.connect(SHARE))
        schema = pl.DataFrame(schema={**Pages.dtypes(), **PLACE})
        self._columns = schema.columns
        self._connection.register("added", schema.to_arrow())
        self._connection.execute("CREATE TABLE fetched AS FROM added")
        self._connection.execute("CREATE TABLE superseded (number UBIGINT)")

    def add(self, fetches: pl.DataFrame) -> None:
        """Note fetches: the columns of `schemas.Pages`, `file` and `line`."""
        self._connection.register("added", fetches.select(self._columns).to_arrow())
        self._connection.execute("INSERT INTO fetched FROM added")
        self._connection.unregister("added")

    def superseded(self, texts: Path) -> Iterator[tuple[int, int]]:
        """Index of the file, and line, of the fetches that do not count, in the order read.

        Args:
            texts: File of `fetches`, whose texts are read where fetches tie.

        Raises:
            DataError: two URL keys have one document id.
        """
        self._connection.execute(SEVERAL)
        if clash := self._connection.execute(CLASH).fetchall():
            raise DataError(
                "expected one address for each document id, found two with the same: "
                f"{list(clash[0])}; leave one of them out of the crawl"
            )
        self._connection.execute(TIED)
        parquet.rows(self._connection, texts).create_view("texts")
        self._connection.execute("DROP TABLE superseded")
        self._connection.execute(SUPERSEDED)
        rows = self._connection.sql("SELECT file, line FROM superseded ORDER BY number")
        for batch in rows.to_arrow_reader(ROWS_PER_BATCH):
            yield from zip(batch["file"].to_pylist(), batch["line"].to_pylist(), strict=True)

    def write(self, path: Path) -> int:
        """Write `pages`, once `superseded` was read; returns how many there are."""
        return write_query(self._connection, PAGES, path, Pages)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()
