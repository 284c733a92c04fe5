"""Divides a period into consecutive time batches (Kenter et al. 2015, sections 3 and 5.2).

Batches of an `hour`, `day`, `week` (from Monday) or `month` are aligned with the calendar in UTC;
if the length is given in seconds, the first batch begins at the start of the period.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from builder.errors import UsageError

Seconds: TypeAlias = npt.NDArray[np.int64]

CALENDAR_SECONDS = {"hour": 3600, "day": 86_400, "week": 604_800, "month": None}
FIRST_MONDAY = 4 * 86_400
"""First Monday after the Unix epoch, 1970-01-05, in Unix seconds."""
MAX_BATCHES = 1_000_000
MAX_BATCH_SECONDS = 10**10
"""Maximum length of a batch in seconds, about 300 years."""


@dataclass(frozen=True, slots=True)
class TimeBatches:
    """Consecutive time intervals in which systems are scored.

    Args:
        edges: n + 1 ascending times in Unix seconds; batch i is [edges[i], edges[i + 1]).
        batch_seconds: Length of a batch in seconds; None for months, whose lengths differ.
    """

    edges: Seconds
    batch_seconds: int | None

    @property
    def batch_starts(self) -> Seconds:
        """Start of every batch in Unix seconds, int64[n]."""
        return self.edges[:-1]

    def find_batch_indexes(self, times: Seconds) -> npt.NDArray[np.int64]:
        """Return the batch index of each time.

        The index is -1 before the first batch, and n (the number of batches) after the last.
        """
        return np.searchsorted(self.edges, times, side="right").astype(np.int64) - 1


def create_time_batches(start: int, end: int, granularity: str) -> TimeBatches:
    """Divide the period [start, end) into time batches.

    Args:
        start: Start of the period in Unix seconds.
        end: End of the period in Unix seconds, exclusive.
        granularity: `hour`, `day`, `week`, `month`, or a number of seconds.

    Raises:
        UsageError: the period is empty, the granularity is unknown, or there would be more than
            `MAX_BATCHES` batches.
    """
    if end <= start:
        raise UsageError(
            f"expected a period that ends after it starts, found [{start}, {end}) in Unix seconds"
        )
    seconds = batch_length_in_seconds(granularity)
    if seconds is None:
        return TimeBatches(_month_edges(start, end), None)
    origin = {"hour": 0, "day": 0, "week": FIRST_MONDAY}.get(granularity, start)
    first = (start - origin) // seconds * seconds + origin
    count = -((first - end) // seconds)
    if count > MAX_BATCHES:
        raise UsageError(
            f"expected at most {MAX_BATCHES} batches, found {count} of {seconds} s each in the "
            f"period [{start}, {end}); choose longer batches or a shorter period"
        )
    return TimeBatches(first + seconds * np.arange(count + 1, dtype=np.int64), seconds)


def batch_length_in_seconds(granularity: str) -> int | None:
    """Return the length of a batch in seconds; None for `month`.

    Raises:
        UsageError: the granularity is neither a calendar unit nor a number of seconds from 1 to
            `MAX_BATCH_SECONDS`.
    """
    if granularity in CALENDAR_SECONDS:
        return CALENDAR_SECONDS[granularity]
    is_number = granularity.isascii() and granularity.isdecimal() and len(granularity) < 20
    if not (is_number and 0 < int(granularity) <= MAX_BATCH_SECONDS):
        raise UsageError(
            f"granularity: expected {', '.join(CALENDAR_SECONDS)} or a number of seconds up to "
            f"{MAX_BATCH_SECONDS}, found {granularity[:40]!r}"
        )
    return int(granularity)


def _month_edges(start: int, end: int) -> Seconds:
    """Return the start of each month that overlaps [start, end), and the end of the last month."""
    first = np.datetime64(start, "s").astype("datetime64[M]")
    last = np.datetime64(end - 1, "s").astype("datetime64[M]")
    return np.arange(first, last + 2).astype("datetime64[s]").astype(np.int64)
