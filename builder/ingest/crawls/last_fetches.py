"""Which of several fetches of one address counts: the last, by a total order.

In: what is known of each fetch but its text. Out: those that others supersede. Of several fetches
of one URL key the last counts; of equal times the greatest URL, then the text with the greatest
64-bit key, then the last that was read.
"""

from collections.abc import Callable

import polars as pl

from builder.errors import DataError
from builder.ingest.buckets import Buckets, Load
from builder.ingest.crawls.page_parts import Numbers
from builder.runtime.executors import ordered_map
from builder.runtime.limits import Limits

FETCHES = {
    "key": pl.UInt64(),
    "url_key": pl.String(),
    "url": pl.String(),
    "fetched_at": pl.Int64(),
    "file": pl.UInt32(),
    "line": pl.UInt64(),
    "number": pl.Int64(),
}
"""A fetch: key of its URL key, file and line that it was read from, and its number among them."""
PLACE = ["number", "file", "line"]

TextKeys = Callable[[Numbers], list[int]]
"""The 64-bit keys of the texts of fetches that are told by ascending numbers."""


class LastFetches:
    """Collects the fetches of a snapshot, and says which do not count.

    Args:
        limits: Scratch space and memory for what is known of them, threads.
    """

    def __init__(self, limits: Limits) -> None:
        self._buckets = Buckets(limits.scratch, limits.memory // 8)
        self._threads = limits.threads

    def add(self, fetches: pl.DataFrame) -> None:
        """Take fetches down; columns of `FETCHES`."""
        self._buckets.add(fetches.select(pl.col(name).cast(kind) for name, kind in FETCHES.items()))

    def superseded(self, text_keys: TextKeys) -> pl.DataFrame:
        """`number`, `file` and `line` of the fetches that do not count, in order of number.

        Args:
            text_keys: Called for those that have address and time in common with another.

        Raises:
            DataError: two URL keys have one document id.
        """
        older, tied = [], []
        for ours, theirs in ordered_map(_compared, self._buckets.ranges(), self._threads):
            older.append(ours)
            tied.append(theirs)
        self._buckets.clear()
        nothing = pl.DataFrame(schema=FETCHES).select("key", *PLACE)
        equal = pl.concat([nothing, *tied]).sort("number")
        if equal.height:
            keys = pl.Series("text", text_keys(equal["number"].to_numpy()), dtype=pl.UInt64)
            ordered = equal.with_columns(keys).sort("key", "text", "number")
            older.append(ordered.filter(~_is_last("key")).select(PLACE))
        return pl.concat([nothing.select(PLACE), *older]).sort("number")


def _is_last(*columns: str) -> pl.Expr:
    """Whether a row is the last of those with the same values, in a frame sorted by them."""
    return pl.any_horizontal(
        (pl.col(name) != pl.col(name).shift(-1)).fill_null(value=True) for name in columns
    )


def _compared(load: Load) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Of the fetches of a range those that came before another, and those in doubt.

    These are the fetches of an address that have its greatest time and URL, where they are several:
    `key`, `number`, `file` and `line`.
    """
    fetches = load()
    several = fetches.filter(fetches["key"].is_duplicated())
    if several.is_empty():
        return several.select(PLACE), several.select("key", *PLACE)
    _check(several)
    last = several.sort("key", "fetched_at", "url", "number").with_columns(
        (pl.col(name) == pl.col(name).last().over("key")).alias(f"last_{name}")
        for name in ("fetched_at", "url")
    )
    is_last = pl.col("last_fetched_at") & pl.col("last_url")
    tied = last.filter(is_last).filter(pl.col("key").is_duplicated())
    return last.filter(~is_last).select(PLACE), tied.select("key", *PLACE)


def _check(several: pl.DataFrame) -> None:
    clash = several.filter(pl.col("url_key").n_unique().over("key") > 1)
    if clash.height:
        raise DataError(
            "expected one address for each document id, found two with the same: "
            f"{clash['url_key'].unique().sort().to_list()[:2]}; leave one of them out of the crawl"
        )
