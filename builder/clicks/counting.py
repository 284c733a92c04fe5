"""Sufficient statistics of sDBN from pages in keys, piece by piece: the fast way of `statistics`.

In: some impressions in arrays. Out: what they add to the counts of every pair, the impressions of
every user, and what the diagnostics count. The pieces of a log add up to the log, in any order.

Equal pages are counted together, ranks by position: of a page that was shown n times, a histogram
of its last clicks tells how often each rank was examined, and clicks are counted where they fell.
Pages are found by a hash of their results, and then compared: equal hashes alone prove nothing.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from builder.clicks.sums import Integers, Keys, add_up
from builder.errors import DataError

Flags = npt.NDArray[np.bool_]

COUNTS = (
    "shown_in_all",
    "shown_in_clicked",
    "examined_in_all",
    "examined_in_clicked",
    "clicks",
    "last_clicks",
)
SEEDS = 8
"""Hash functions that are tried; that two pages collide under one of them happens once in 2^30
pieces."""
RANKS = 65_536


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


@dataclass
class Tally:
    """What the diagnostics count over impressions.

    Args:
        total: Impressions.
        without_click: Those whose own page has no click.
        never_clicked: Those of which no page has a click.
        reordered: Those whose clicks are not in the order of ranks.
        repeated: Those with a rank clicked twice.
        with_duplicate: Those that show a document twice.
        anonymous: Those without a user.
        lengths: Impressions by number of results.
        clicks: Impressions in which each rank was clicked, by rank.
    """

    total: int = 0
    without_click: int = 0
    never_clicked: int = 0
    reordered: int = 0
    repeated: int = 0
    with_duplicate: int = 0
    anonymous: int = 0
    lengths: Integers = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    clicks: Integers = field(default_factory=lambda: np.zeros(1, dtype=np.int64))

    def __add__(self, other: "Tally") -> "Tally":
        sums: dict[str, Any] = {
            name: _added(mine, vars(other)[name])
            if isinstance(mine, np.ndarray)
            else mine + vars(other)[name]
            for name, mine in vars(self).items()
        }
        return Tally(**sums)


def _added(one: Integers, other: Integers) -> Integers:
    size = max(len(one), len(other))
    return np.pad(one, (0, size - len(one))) + np.pad(other, (0, size - len(other)))


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
        order = np.argsort(hashes)
        ordered = hashes[order]
        is_first = np.ones(len(order), dtype=np.bool_)
        is_first[1:] = ordered[1:] != ordered[:-1]
        page = np.empty(len(order), dtype=np.int64)
        page[order] = np.cumsum(is_first) - 1
        pages = Pages(page, order[is_first])
        if _are_equal(piece, lengths, pages):
            return pages
    raise DataError(f"no hash told {len(lengths)} result pages apart; are document keys hashes?")


def _hashes(piece: Piece, lengths: Integers, places: Integers, seed: int) -> Keys:
    """A hash of the query, the results and their order: sums of products with odd numbers."""
    longest = int(lengths.max(initial=1))
    weights = _mixed(
        np.arange(1, longest + 2, dtype=np.uint64) + np.uint64(seed << 32)
    ) | np.uint64(1)
    spread = piece.results ^ (piece.results >> np.uint64(29))
    sums = np.add.reduceat(spread * weights[places], piece.starts[:-1])
    return _mixed(sums + piece.query * weights[longest] + lengths.astype(np.uint64))


def _mixed(values: Keys) -> Keys:
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


def count_piece(piece: Piece, *, last_by_time: bool) -> tuple[pl.DataFrame, Tally]:
    """Counts of every pair of some impressions, and their tally.

    Args:
        piece: The impressions; each shows at least one result.
        last_by_time: Whether the last click is the latest, or the deepest.

    Returns:
        Columns query, doc and `COUNTS`, each pair once, in order.
    """
    pages = distinct_pages(piece)
    lengths = np.diff(piece.starts)[pages.shown_by]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    at = np.repeat(piece.starts[pages.shown_by] - starts[:-1], lengths) + np.arange(starts[-1])
    doc = piece.results[at]
    shown = np.bincount(pages.page, minlength=len(lengths))
    shown_clicked = np.bincount(pages.page[piece.clicked], minlength=len(lengths))
    examined = _examined(piece, pages, lengths, starts)
    clicker, rank = _clicks(piece)
    last = piece.latest if last_by_time else piece.deepest
    counts = {
        "shown_in_all": np.repeat(shown, lengths),
        "shown_in_clicked": np.repeat(shown_clicked, lengths),
        "examined_in_all": examined + np.repeat(shown - shown_clicked, lengths),
        "examined_in_clicked": examined,
        "clicks": _at(pages.page[clicker], rank, lengths, starts),
        "last_clicks": _at(pages.page, np.where(piece.clicked, last, 0), lengths, starts),
    }
    tally = _tally(piece, rank)
    tally.with_duplicate = int(shown[_with_duplicates(doc, lengths)].sum())
    query = np.repeat(piece.query[pages.shown_by], lengths)
    return add_up({"query": query, "doc": doc}, counts), tally


def _examined(piece: Piece, pages: Pages, lengths: Integers, starts: Integers) -> Integers:
    """How often each rank of each page lay at or above the deepest click."""
    depth = np.minimum(piece.deepest, lengths[pages.page])
    ends = _at(pages.page, np.where(piece.clicked, depth, 0), lengths, starts)
    below = np.concatenate([[0], np.cumsum(ends)])
    examined: Integers = np.repeat(below[starts[1:]], lengths) - below[:-1]
    return examined


def _at(page: Integers, rank: Integers, lengths: Integers, starts: Integers) -> Integers:
    """How often each rank of each page is named; ranks outside their page are not counted."""
    inside = (rank >= 1) & (rank <= lengths[page])
    places = starts[page[inside]] + rank[inside] - 1
    return np.asarray(np.bincount(places, minlength=int(starts[-1])), dtype=np.int64)


def _clicks(piece: Piece) -> tuple[Integers, Integers]:
    """Impression and rank of every click, a rank once an impression however often clicked."""
    clicker = np.repeat(np.arange(len(piece.query)), np.diff(piece.click_starts))
    keys = np.sort(clicker * RANKS + piece.clicks)
    if len(keys):
        keys = keys[np.append(True, keys[1:] != keys[:-1])]
    return keys // RANKS, keys % RANKS


def _tally(piece: Piece, distinct_ranks: Integers) -> Tally:
    clicks = np.diff(piece.click_starts)
    owner = np.repeat(np.arange(len(clicks)), clicks)
    back = (owner[1:] == owner[:-1]) & (piece.clicks[1:] < piece.clicks[:-1])
    pairs = np.sort(owner * RANKS + piece.clicks)
    again = pairs[1:][pairs[1:] == pairs[:-1]] // RANKS
    return Tally(
        total=len(clicks),
        without_click=int((clicks == 0).sum()),
        never_clicked=int((~piece.clicked).sum()),
        reordered=_distinct(owner[1:][back], len(clicks)),
        repeated=_distinct(again, len(clicks)),
        lengths=np.bincount(np.diff(piece.starts)),
        clicks=np.bincount(distinct_ranks),
    )


def _distinct(numbers: Integers, size: int) -> int:
    """How many different numbers there are."""
    found = np.zeros(size, dtype=np.bool_)
    found[numbers] = True
    return int(found.sum())


def _with_duplicates(doc: Keys, lengths: Integers) -> Flags:
    """Whether each page shows a document twice."""
    page = np.repeat(np.arange(len(lengths)), lengths)
    keys = doc + _mixed(page.astype(np.uint64) + np.uint64(1))
    ordered = np.sort(keys)
    twice = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    found = np.zeros(len(lengths), dtype=np.bool_)
    if len(twice):
        some = np.isin(keys, twice)
        rows = pl.DataFrame({"page": page[some], "doc": doc[some]})
        found[rows.filter(rows.is_duplicated())["page"].to_numpy()] = True
    return found
