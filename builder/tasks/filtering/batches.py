"""Time cut into batches.

In: a period in unix seconds and a granularity. Out: the edges of consecutive batches that cover
the period without a gap. Kenter et al. (2015), section 3 (batches) and 5.2 (granularity).

`hour`, `day`, `week` (from Monday) and `month` follow the calendar in UTC; a number of seconds
counts from the start of the period.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from builder.errors import UsageError

Seconds: TypeAlias = npt.NDArray[np.int64]

CALENDAR = {"hour": 3600, "day": 86_400, "week": 604_800, "month": None}
MONDAY = 4 * 86_400
"""The first Monday after the unix epoch, 1970-01-05."""
MOST_BATCHES = 1_000_000
LONGEST = 10**10
"""Seconds of a batch: some 300 years."""


@dataclass(frozen=True, slots=True)
class Batches:
    """Consecutive batches.

    Args:
        edges: n + 1 ascending unix seconds; batch i is [edges[i], edges[i + 1]).
        seconds: Length of a batch; null for months, which differ.
    """

    edges: Seconds
    seconds: int | None

    @property
    def starts(self) -> Seconds:
        """N unix seconds."""
        return self.edges[:-1]

    def index(self, times: Seconds) -> Seconds:
        """Number of the batch that holds each time; -1 or n outside the period."""
        return np.searchsorted(self.edges, times, side="right").astype(np.int64) - 1


def time_batches(start: int, end: int, granularity: str) -> Batches:
    """Cut the period [start, end) into batches.

    Args:
        start: First second of the period.
        end: First second after it.
        granularity: `hour`, `day`, `week`, `month`, or a number of seconds.

    Raises:
        UsageError: an empty period, an unknown granularity, or over a million batches.
    """
    if end <= start:
        raise UsageError(f"expected a period that ends after it starts, found [{start}, {end})")
    seconds = batch_seconds(granularity)
    if seconds is None:
        return Batches(_month_edges(start, end), None)
    origin = {"hour": 0, "day": 0, "week": MONDAY}.get(granularity, start)
    first = (start - origin) // seconds * seconds + origin
    count = -((first - end) // seconds)
    if count > MOST_BATCHES:
        raise UsageError(
            f"batches of {seconds} s cut the period [{start}, {end}) into {count} parts, over "
            f"{MOST_BATCHES}: choose longer batches or a shorter period"
        )
    return Batches(first + seconds * np.arange(count + 1, dtype=np.int64), seconds)


def batch_seconds(granularity: str) -> int | None:
    """Length of a batch in seconds; null for `month`.

    Raises:
        UsageError: neither a calendar unit nor a number of seconds from 1 to `LONGEST`.
    """
    if granularity in CALENDAR:
        return CALENDAR[granularity]
    is_number = granularity.isascii() and granularity.isdecimal() and len(granularity) < 20
    if not (is_number and 0 < int(granularity) <= LONGEST):
        raise UsageError(
            f"granularity: expected {', '.join(CALENDAR)} or a number of seconds up to {LONGEST}, "
            f"found {granularity[:40]!r}"
        )
    return int(granularity)


def _month_edges(start: int, end: int) -> Seconds:
    first = np.datetime64(start, "s").astype("datetime64[M]")
    last = np.datetime64(end - 1, "s").astype("datetime64[M]")
    return np.arange(first, last + 2).astype("datetime64[s]").astype(np.int64)


def slope_per_second(slope_per_batch: float, seconds: float) -> float:
    """A slope in score per batch as score per second; section 5.2.

    Args:
        slope_per_batch: Change of the score from one batch to the next.
        seconds: Length of a batch.
    """
    return slope_per_batch / seconds
