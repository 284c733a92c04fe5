"""Some impressions in arrays."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from builder.sorting import Flags, Integers, ascending, repeats

RANKS = 65_536
BYTES_PER_IMPRESSION = 180
BYTES_PER_RESULT = 50
"""Peak of arrays while a piece is counted of which every page differs."""

Values = npt.NDArray[np.integer]


def bytes_to_count(impressions: int, results: int) -> int:
    """About how much memory it takes to count impressions that show so many results."""
    return impressions * BYTES_PER_IMPRESSION + results * BYTES_PER_RESULT


@dataclass(frozen=True)
class Lists:
    """Lists one after the other, and where each begins, with the end of the last."""

    values: Values
    starts: Integers

    @cached_property
    def lengths(self) -> Integers:
        """The length of each list."""
        return np.diff(self.starts)

    def matrix(self, rows: Integers, length: int) -> Values:
        """Some lists, which are all of one length, as the rows of a matrix."""
        if self.are_even:
            return self.values.reshape(-1, length).take(rows, axis=0)
        found: Values = self.values[self.starts[rows, np.newaxis] + np.arange(length)]
        return found

    def matrices(self) -> Iterator[tuple[Integers, Values]]:
        """The lists of each length: their places, and a matrix of them."""
        lengths = self.lengths
        if self.are_even:
            if len(lengths):
                yield np.arange(len(lengths)), self.values.reshape(-1, int(lengths[0]))
            return
        order = np.argsort(lengths.astype(np.min_scalar_type(lengths.max())), kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1):
            yield rows, self.matrix(rows, int(lengths[rows[0]]))

    def take(self, rows: Integers) -> "Lists":
        """Some lists."""
        lengths = self.lengths[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        if self.are_even and lengths.any():
            return Lists(self.matrix(rows, int(lengths[0])).ravel(), starts)
        places = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], lengths)
        return Lists(self.values[places], starts)

    @cached_property
    def are_even(self) -> bool:
        """Whether all lists have one length."""
        lengths = self.lengths
        return not len(lengths) or bool((lengths == lengths[0]).all())


class Piece(NamedTuple):
    """Some impressions, but for what they show.

    Args:
        lengths: How many results each shows.
        clicks: Clicked ranks of each impression, from 1.
        deepest: Deepest rank examined for a click; 0 or less: none; may lie beyond the page.
        latest: Rank of the last click in time; outside the page: none.
        clicked: Whether the impression, or a page that belongs to it, has a click.
    """

    lengths: Integers
    clicks: Lists
    deepest: Integers
    latest: Integers
    clicked: Flags

    def take(self, rows: Integers) -> "Piece":
        """Some of them."""
        return Piece(
            self.lengths.take(rows),
            self.clicks.take(rows),
            self.deepest.take(rows),
            self.latest.take(rows),
            self.clicked.take(rows),
        )


def piece_of(rows: pa.Table, lengths: Integers) -> Piece:
    """What was clicked in some rows.

    Args:
        rows: clicks, and optionally deepest and latest (null: no click), where several pages belong
            together.
        lengths: How many results each row shows.
    """
    clicks = lists_of(rows, "clicks")
    if "deepest" in rows.column_names:
        deepest, latest = (
            rows[name].fill_null(0).to_numpy().astype(np.int64) for name in ("deepest", "latest")
        )
        return Piece(lengths, clicks, deepest, latest, rows["deepest"].is_valid().to_numpy())
    clicked = clicks.lengths > 0
    latest = np.zeros(len(rows), dtype=np.int64)
    latest[clicked] = clicks.values[clicks.starts[1:][clicked] - 1]
    deepest = latest.copy()
    if len(several := np.flatnonzero(clicks.lengths > 1)):
        of_several = clicks.take(several)
        deepest[several] = np.maximum.reduceat(of_several.values, of_several.starts[:-1])
    return Piece(lengths, clicks, deepest, latest, clicked)


class Clicks(NamedTuple):
    """The clicks of some impressions, each rank once.

    Args:
        impression: Whose click it is.
        rank: The clicked rank.
        repeated: Impressions that have a rank again, one for each time.
    """

    impression: Integers
    rank: Integers
    repeated: Integers


def distinct_clicks(clicks: Lists) -> Clicks:
    """Each clicked rank of each impression once; where there are several, they are ordered."""
    lengths = clicks.lengths
    only, several = np.flatnonzero(lengths == 1), np.flatnonzero(lengths > 1)
    of_several = clicks.take(several)
    clicker = np.repeat(several, lengths[several])
    ordered = ascending((clicker * RANKS + of_several.values).astype(np.uint64)).astype(np.int64)
    again = repeats(ordered)
    clickers, ranks = np.divmod(ordered[~again], RANKS)
    return Clicks(
        np.concatenate([only, clickers]),
        np.concatenate([clicks.values[clicks.starts[only]].astype(np.int64), ranks]),
        ordered[again] // RANKS,
    )


def lists_of(rows: pa.Table, name: str) -> Lists:
    """A column of lists of integers."""
    chunks = rows[name].chunks
    column = chunks[0] if len(chunks) == 1 else rows[name].combine_chunks()
    offsets = column.offsets.to_numpy().astype(np.int64)
    values = column.values.to_numpy()[offsets[0] : offsets[-1]]
    return Lists(values, offsets - offsets[0])
