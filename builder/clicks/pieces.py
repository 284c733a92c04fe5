"""Some impressions in arrays, and which of them show the same page.

Pages are found by a hash of their results, and then compared: equal hashes alone prove nothing.
Pages of one length make a matrix, whose rows are hashed, compared and taken whole, a block of rows
that fits into the processor's cache after the other.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from builder.errors import DataError
from builder.sorting import Flags, Integers, Keys, mixed, order_of, repeats

SEEDS = 8
"""Hash functions that are tried; that two pages collide under one of them happens once in 2^30
pieces."""
BLOCK = 2**17
"""Results that are looked at together: a megabyte."""

BYTES_PER_IMPRESSION = 180
BYTES_PER_RESULT = 50
"""Peak of arrays while a piece is counted of which every page differs."""

Values = npt.NDArray[np.integer]


def bytes_to_count(impressions: int, results: int) -> int:
    """About how much memory it takes to count impressions that show so many results."""
    return impressions * BYTES_PER_IMPRESSION + results * BYTES_PER_RESULT


class Lists(NamedTuple):
    """Lists one after the other, and where each begins, with the end of the last."""

    values: Values
    starts: Integers

    @property
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
        if self.are_even and len(rows):
            return Lists(self.matrix(rows, int(lengths[0])).ravel(), starts)
        places = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], lengths)
        return Lists(self.values[places], starts)

    @property
    def are_even(self) -> bool:
        """Whether all lists have one length."""
        lengths = self.lengths
        return not len(lengths) or bool((lengths == lengths[0]).all())


class Piece(NamedTuple):
    """Some impressions.

    Args:
        query: Key of each impression.
        results: Documents of each impression, at least one.
        clicks: Clicked ranks of each impression, from 1.
        deepest: Deepest rank examined for a click; 0 or less: none; may lie beyond the page.
        latest: Rank of the last click in time; outside the page: none.
        clicked: Whether the impression, or a page that belongs to it, has a click.
    """

    query: Keys
    results: Lists
    clicks: Lists
    deepest: Integers
    latest: Integers
    clicked: Flags


def piece_of(rows: pa.Table) -> Piece:
    """The arrays of some rows.

    Args:
        rows: query, results, clicks, and optionally deepest and latest (null: no click), where
            several pages belong together.
    """
    clicks = lists_of(rows, "clicks")
    if "deepest" in rows.column_names:
        nulls = rows["deepest"].is_null().to_numpy()
        deepest, latest = (
            rows[name].fill_null(0).to_numpy().astype(np.int64) for name in ("deepest", "latest")
        )
        clicked = ~nulls
    else:
        clicked = clicks.lengths > 0
        deepest = np.zeros(len(rows), dtype=np.int64)
        latest = deepest.copy()
        if len(clicks.values):
            deepest[clicked] = np.maximum.reduceat(clicks.values, clicks.starts[:-1][clicked])
            latest[clicked] = clicks.values[clicks.starts[1:][clicked] - 1]
    return Piece(
        rows["query"].to_numpy(), lists_of(rows, "results"), clicks, deepest, latest, clicked
    )


def lists_of(rows: pa.Table, name: str) -> Lists:
    """A column of lists of integers."""
    chunks = rows[name].chunks
    column = chunks[0] if len(chunks) == 1 else rows[name].combine_chunks()
    offsets = column.offsets.to_numpy().astype(np.int64)
    values = column.values.to_numpy()[offsets[0] : offsets[-1]]
    return Lists(values, offsets - offsets[0])


class Pages(NamedTuple):
    """The distinct pages of one length.

    Args:
        rows: Impressions, those that show one page next to each other.
        starts: Where each page begins among them.
        length: Results of each page.
    """

    rows: Integers
    starts: Integers
    length: int

    @property
    def shown_by(self) -> Integers:
        """An impression that shows each page."""
        return self.rows[self.starts]

    @property
    def weights(self) -> Integers:
        """How many impressions show each page."""
        return np.diff(np.append(self.starts, len(self.rows)))


def distinct_pages(query: Keys, results: Lists) -> Iterator[Pages]:
    """Which impressions show the same results for the same query, by the length of pages.

    Raises:
        DataError: no hash function told the pages apart.
    """
    for rows, shown in results.matrices():
        pages = _distinct(query[rows], shown)
        yield pages._replace(rows=rows[pages.rows])


def _distinct(query: Keys, results: Values) -> Pages:
    """The distinct pages among the rows of a matrix."""
    for seed in range(SEEDS):
        hashes = _hashes(query, results, seed)
        order = order_of(hashes)
        starts = np.flatnonzero(~repeats(hashes[order]))
        pages = Pages(order, starts, results.shape[1])
        if _are_equal(query, results, pages):
            return pages
    raise DataError(f"no hash told {len(query)} result pages apart; are document keys hashes?")


def _hashes(query: Keys, results: Values, seed: int) -> Keys:
    """A hash of the query, the results and their order: sums of products with odd numbers."""
    count, length = results.shape
    numbers = np.arange(1, length + 2, dtype=np.uint64) + np.uint64(seed << 32)
    weights = mixed(numbers) | np.uint64(1)
    hashes = query * weights[length]
    for block in _blocks(count, length):
        keys = results[block].astype(np.uint64, copy=False)
        hashes[block] += (keys ^ (keys >> np.uint64(29))) @ weights[:length]
        hashes[block] = mixed(hashes[block])
    return hashes


def _are_equal(query: Keys, results: Values, pages: Pages) -> bool:
    """Whether all rows of a page show what the one that stands for it shows."""
    model = np.empty(len(query), dtype=np.int64)
    model[pages.rows] = np.repeat(pages.shown_by, pages.weights)
    return np.array_equal(query, query[model]) and all(
        np.array_equal(results[block], results.take(model[block], axis=0))
        for block in _blocks(*results.shape)
    )


def _blocks(count: int, length: int) -> Iterator[slice]:
    """Ranges of the rows of a matrix."""
    step = max(1, BLOCK // length)
    return (slice(start, start + step) for start in range(0, count, step))
