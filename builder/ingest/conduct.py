"""What only the whole log shows: impressions that were logged twice, and users that are programs.

In: a log in scratch space (see `staging`). Out: the impressions to leave out, each
with the first rule that it falls under:

    bot_rate             its user has at least `bot_rate` impressions within an hour of the clock
    bot_no_variation     its user has at least `bot_alike`, all with the same two or more clicks
    repeated_impression  the same user, query and second as an earlier one

Impressions without a user fall under none of them. Users are judged in ranges of their pseudonyms,
which are spread evenly, as many at a time as find room in memory.
"""

from collections.abc import Iterator

import numpy as np
import polars as pl

from builder.ingest.staging import Staging
from builder.parameters import LogParameters
from builder.resources import Limits
from builder.sorting import Keys, mixed, order_of, repeats

SHARE = 0.25
"""Part of the memory for the impressions that are looked at together."""
BYTES_A_ROW = 128
"""What one of them takes with all that is made of it."""
HOUR = 3600
LEAST_CLICKS = 2
HALF = np.uint64(32)
SAME = ("user", "query", "seconds")
COLUMNS = ("user", "query", "clicks", "seconds")
ROWS = {
    "user": pl.UInt64,
    "query": pl.UInt64,
    "seconds": pl.Int64,
    "clicked": pl.Int32,
    "impression": pl.UInt64,
}

Left = tuple[str, int, int]
"""Reason, number of the file, number of the record."""


class Conduct:
    """The verdict on a staged log.

    Args:
        staging: The log.
        params: `[log]`.
        limits: Memory.

    Attributes:
        left_out: The impressions to leave out, in order.
        numbers: Their numbers.
    """

    def __init__(self, staging: Staging, params: LogParameters, limits: Limits) -> None:
        self._staging, self._params = staging, params
        judged = [pl.DataFrame(schema={"impression": pl.UInt64, "reason": pl.String})]
        ranges = 1 + int(len(staging) * BYTES_A_ROW / (SHARE * limits.memory))
        for place in range(ranges):
            judged += self._judge(_of_users(staging, place, ranges))
        first = pl.concat(judged).unique("impression", keep="first").sort("impression")
        self.numbers: Keys = first["impression"].to_numpy()
        found = staging.rows(self.numbers, ["file", "record"])
        places = (found[name].to_pylist() for name in ("file", "record"))
        self.left_out: list[Left] = list(zip(first["reason"].to_list(), *places, strict=True))

    def _judge(self, rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """The impressions that fall under each rule, one rule after the other."""
        if self._params.bots == "drop":
            users = rows.group_by("user").agg(pl.len().alias("shown"), pl.col("clicked").min())
            for name, programs in (
                ("bot_rate", self._hasty(rows, users)),
                ("bot_no_variation", self._alike(rows, users)),
            ):
                yield _told(rows.filter(pl.col("user").is_in(programs.implode())), name)
        if self._params.repeats == "drop":
            yield _told(_repeated(rows), "repeated_impression")

    def _hasty(self, rows: pl.DataFrame, users: pl.DataFrame) -> pl.Series:
        """Users with too many impressions within an hour."""
        rate = self._params.bot_rate
        busy = users.filter(pl.col("shown") >= rate)["user"]
        hourly = (
            rows.filter(pl.col("user").is_in(busy.implode()))
            .group_by("user", pl.col("seconds") // HOUR)
            .len()
        )
        return hourly.filter(pl.col("len") >= rate)["user"].unique()

    def _alike(self, rows: pl.DataFrame, users: pl.DataFrame) -> pl.Series:
        """Users with enough impressions that all have the same clicks."""
        enough = pl.col("shown") >= self._params.bot_alike
        clicking = users.filter(enough & (pl.col("clicked") >= LEAST_CLICKS))["user"]
        theirs = rows.filter(pl.col("user").is_in(clicking.implode()))
        numbers = theirs["impression"].to_numpy()
        clicks = pl.Series(pl.from_arrow(self._staging.rows(numbers, ["clicks"])["clicks"]))
        texts = clicks.cast(pl.List(pl.String)).list.join(" ")
        differ = theirs.with_columns(texts.alias("clicks")).group_by("user")
        return differ.agg(pl.col("clicks").n_unique()).filter(pl.col("clicks") == 1)["user"]


def _told(rows: pl.DataFrame, reason: str) -> pl.DataFrame:
    return rows.select("impression", pl.lit(reason).alias("reason"))


def _of_users(staging: Staging, place: int, ranges: int) -> pl.DataFrame:
    """The impressions of users in one of some ranges, in their order.

    Returns:
        `user`, `query`, `seconds`, the number of clicks as `clicked`, and `impression`.
    """
    first, found = 0, [pl.DataFrame(schema=ROWS)]
    for batch in staging.batches(COLUMNS):
        users = batch["user"].fill_null(0).to_numpy()
        within = batch["user"].is_valid().to_numpy(zero_copy_only=False)
        if ranges > 1:
            within = within & ((users >> HALF) * np.uint64(ranges) >> HALF == place)
        columns = {
            "user": users,
            "query": batch["query"].to_numpy(),
            "seconds": batch["seconds"].to_numpy(),
            "clicked": batch["clicks"].value_lengths().to_numpy(),
            "impression": np.arange(first, first + len(batch), dtype=np.uint64),
        }
        first += len(batch)
        found.append(pl.DataFrame({n: c[within] for n, c in columns.items()}, ROWS))
    return pl.concat(found, rechunk=True)


def _repeated(rows: pl.DataFrame) -> pl.DataFrame:
    """Impressions with the same user, query and second as an earlier one.

    Those whose hash nobody shares are told first: there are hardly any others.
    """
    user, query, seconds = (rows[name].to_numpy() for name in SAME)
    hashes = mixed(mixed(mixed(user) ^ query) ^ seconds.view(np.uint64))
    order = order_of(hashes)
    same = repeats(hashes[order])
    shared = order[same | np.append(same[1:], False)]
    first = pl.col("impression").min().over(SAME)
    return rows[np.sort(shared)].filter(pl.col("impression") > first)
