"""Some impressions in arrays, and which of them show the same page.

Pages are found by a hash of their results, and then compared: equal hashes alone prove nothing.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from builder.errors import DataError
from builder.sorting import Flags, Integers, Keys, order_of, repeats

SEEDS = 8
"""Hash functions that are tried; that two pages collide under one of them happens once in 2^30
pieces."""


class Piece(NamedTuple):
    """Some impressions.

    Args:
        query: Key of each impression.
        results: Documents of all impressions, one after the other.
        starts: Where those of each impression begin, with the end of the last.
        clicks: Clicked ranks of all impressions, from 1.
        click_starts: Where those of each impression begin, with the end of the last.
        deepest: Deepest rank examined for a click; 0 or less: none; may lie beyond the page.
        latest: Rank of the last click in time; outside the page: none.
        clicked: Whether the impression, or a page that belongs to it, has a click.
    """

    query: Keys
    results: Keys
    starts: Integers
    clicks: Integers
    click_starts: Integers
    deepest: Integers
    latest: Integers
    clicked: Flags


def piece_of(rows: pa.Table) -> Piece:
    """The arrays of some rows.

    Args:
        rows: query, results, clicks, and optionally deepest and latest (null: no click), where
            several pages belong together.
    """
    results, starts = _flat(rows, "results")
    ranks, click_starts = _flat(rows, "clicks")
    clicks = ranks.astype(np.int64)
    if "deepest" in rows.column_names:
        nulls = rows["deepest"].is_null().to_numpy()
        deepest, latest = (
            rows[name].fill_null(0).to_numpy().astype(np.int64) for name in ("deepest", "latest")
        )
        clicked = ~nulls
    else:
        clicked = np.diff(click_starts) > 0
        deepest = np.zeros(len(rows), dtype=np.int64)
        latest = deepest.copy()
        if len(clicks):
            deepest[clicked] = np.maximum.reduceat(clicks, click_starts[:-1][clicked])
            latest[clicked] = clicks[click_starts[1:][clicked] - 1]
    query = rows["query"].to_numpy()
    return Piece(
        query,
        results.astype(np.uint64, copy=False),
        starts,
        clicks,
        click_starts,
        deepest,
        latest,
        clicked,
    )


def _flat(rows: pa.Table, name: str) -> tuple[npt.NDArray[np.integer], Integers]:
    """The values of a column of lists, and where each list begins."""
    column = rows[name].combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else column.type.wrap([])
    offsets = column.offsets.to_numpy().astype(np.int64)
    values = column.values.to_numpy()[offsets[0] : offsets[-1]]
    return values, offsets - offsets[0]


class Pages(NamedTuple):
    """Distinct pages: the page of each impression, and an impression that shows each page."""

    page: Integers
    shown_by: Integers


def distinct_pages(piece: Piece) -> Pages:
    """Which impressions show the same results for the same query.

    Raises:
        DataError: no hash function told the pages apart.
    """
    lengths = np.diff(piece.starts)
    places = np.arange(len(piece.results)) - np.repeat(piece.starts[:-1], lengths)
    for seed in range(SEEDS):
        hashes = _hashes(piece, lengths, places, seed)
        order = order_of(hashes)
        is_first = ~repeats(hashes[order])
        page = np.empty(len(order), dtype=np.int64)
        page[order] = np.cumsum(is_first) - 1
        pages = Pages(page, order[is_first])
        if _are_equal(piece, lengths, pages):
            return pages
    raise DataError(f"no hash told {len(lengths)} result pages apart; are document keys hashes?")


def _hashes(piece: Piece, lengths: Integers, places: Integers, seed: int) -> Keys:
    """A hash of the query, the results and their order: sums of products with odd numbers."""
    longest = int(lengths.max(initial=1))
    numbers = np.arange(1, longest + 2, dtype=np.uint64) + np.uint64(seed << 32)
    weights = mixed(numbers) | np.uint64(1)
    spread = piece.results ^ (piece.results >> np.uint64(29))
    sums = np.add.reduceat(spread * weights[places], piece.starts[:-1])
    return mixed(sums + piece.query * weights[longest] + lengths.astype(np.uint64))


def mixed(values: Keys) -> Keys:
    """The finaliser of SplitMix64 (Steele, Lea & Flood 2014)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _are_equal(piece: Piece, lengths: Integers, pages: Pages) -> bool:
    """Whether all impressions of a page show what the one that stands for it shows."""
    model = pages.shown_by[pages.page]
    if not np.array_equal(piece.query, piece.query[model]):
        return False
    if not np.array_equal(lengths, lengths[model]):
        return False
    shift = np.repeat(piece.starts[model] - piece.starts[:-1], lengths)
    shift += np.arange(len(shift))
    return bool(np.array_equal(piece.results, piece.results[shift]))
