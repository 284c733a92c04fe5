"""The addresses of a log, each document once: the table `log_urls`.

In: document keys, URL keys and addresses in any order, of which documents may repeat. Out: one row
for each document, in order of key, with the first of its addresses. Memory is bounded.
"""

from pathlib import Path

import polars as pl

from builder.errors import DataError
from builder.executors import in_order
from builder.ingest.buckets import Buckets, Load
from builder.resources import Limits
from builder.tables import TableWriter
from schemas import LogUrls

SHARE = 16
"""Which part of the memory addresses may take."""


class ShownAddresses:
    """Collects addresses.

    Args:
        limits: Memory, scratch space, threads.
    """

    def __init__(self, limits: Limits) -> None:
        self._buckets = Buckets(limits.scratch / "addresses", limits.memory // SHARE)
        self._threads = limits.threads

    def add(self, rows: pl.DataFrame) -> None:
        """Take addresses down: columns `key`, `url_key` and `url`."""
        self._buckets.add(rows)

    def write(self, path: Path) -> None:
        """Write the table.

        Raises:
            DataError: two URL keys have one document key.
        """
        self._buckets.settle()
        with TableWriter(path, LogUrls, compression="lz4", has_dictionaries=False) as table:
            for rows in in_order(_once, self._buckets.ranges(), self._threads):
                table.append(rows)

    def close(self) -> None:
        """Let go of all that was collected."""
        self._buckets.clear()


def _once(load: Load) -> pl.DataFrame:
    """The rows of a range in order, each document once."""
    rows = load()
    repeated = rows["key"].is_duplicated()
    if repeated.any():
        least, other = pl.col("url_key").min(), pl.col("url_key").max().alias("other")
        first = rows.filter(repeated).group_by("key").agg(least, pl.col("url").min(), other)
        clash = first.filter(pl.col("url_key") != pl.col("other")).sort("key")
        if clash.height:
            found = clash.select("url_key", "other").row(0)
            raise DataError(f"two different strings of a log have one key: {found}")
        rows = pl.concat([rows.filter(~repeated), first.select(rows.columns)])
    return rows[rows["key"].arg_sort()].rename({"key": "doc"})
