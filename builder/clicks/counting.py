"""Sufficient statistics of sDBN from pages in keys, piece by piece: the fast way of `statistics`.

In: some impressions in arrays. Out: what they add to the counts of every pair, the impressions of
every user, and what the diagnostics count. The pieces of a log add up to the log, in any order.

Equal pages are counted together, ranks by position: of a page that was shown n times, a histogram
of its last clicks tells how often each rank was examined, and clicks are counted where they fell.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from builder.clicks.pieces import Pages, Piece, distinct_pages
from builder.clicks.sums import add_up
from builder.sorting import Flags, Integers, Keys, ascending, repeats

COUNTS = ("shown_in_all", "shown_in_clicked", "examined_in_clicked", "clicks", "last_clicks")
"""What is counted of a pair; on pages without a click, what is shown is examined."""
RANKS = 65_536


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
    page = _owners(starts)
    doc = piece.results[(piece.starts[pages.shown_by] - starts[:-1])[page] + np.arange(starts[-1])]
    shown = np.bincount(pages.page, minlength=len(lengths))
    shown_clicked = np.bincount(pages.page[piece.clicked], minlength=len(lengths))
    clicked = _clicked_ranks(piece)
    again = repeats(clicked)
    clicker, rank = np.divmod(clicked[~again], RANKS)
    last = piece.latest if last_by_time else piece.deepest
    counts = {
        "shown_in_all": shown[page],
        "shown_in_clicked": shown_clicked[page],
        "examined_in_clicked": _examined(piece, pages, starts, page),
        "clicks": _at(pages.page[clicker], rank, lengths, starts),
        "last_clicks": _at(pages.page, np.where(piece.clicked, last, 0), lengths, starts),
    }
    tally = _tally(piece, rank)
    tally.repeated = _distinct(clicked[again] // RANKS, len(piece.query))
    tally.with_duplicate = int(shown[_with_duplicates(doc, lengths, starts)].sum())
    return add_up({"query": piece.query[pages.shown_by][page], "doc": doc}, counts), tally


def _owners(starts: Integers) -> Integers:
    """The page of each rank, from where pages begin; lets other threads work meanwhile."""
    owners = np.zeros(starts[-1], dtype=np.int64)
    owners[starts[1:-1]] = 1
    return np.cumsum(owners, out=owners)


def _examined(piece: Piece, pages: Pages, starts: Integers, page: Integers) -> Integers:
    """How often each rank of each page lay at or above the deepest click."""
    lengths = np.diff(starts)
    depth = np.minimum(piece.deepest, lengths[pages.page])
    ends = _at(pages.page, np.where(piece.clicked, depth, 0), lengths, starts)
    below = np.concatenate([[0], np.cumsum(ends)])
    examined: Integers = below[starts[1:]][page] - below[:-1]
    return examined


def _at(page: Integers, rank: Integers, lengths: Integers, starts: Integers) -> Integers:
    """How often each rank of each page is named; ranks outside their page are not counted."""
    inside = (rank >= 1) & (rank <= lengths[page])
    places = starts[page[inside]] + rank[inside] - 1
    return np.asarray(np.bincount(places, minlength=int(starts[-1])), dtype=np.int64)


def _clicked_ranks(piece: Piece) -> Integers:
    """Impression and rank of every click in one number, in order."""
    clicker = np.repeat(np.arange(len(piece.query)), np.diff(piece.click_starts))
    return ascending((clicker * RANKS + piece.clicks).astype(np.uint64)).astype(np.int64)


def _tally(piece: Piece, distinct_ranks: Integers) -> Tally:
    clicks = np.diff(piece.click_starts)
    owner = np.repeat(np.arange(len(clicks)), clicks)
    back = (owner[1:] == owner[:-1]) & (piece.clicks[1:] < piece.clicks[:-1])
    return Tally(
        total=len(clicks),
        without_click=int((clicks == 0).sum()),
        never_clicked=int((~piece.clicked).sum()),
        reordered=_distinct(owner[1:][back], len(clicks)),
        lengths=np.bincount(np.diff(piece.starts)),
        clicks=np.bincount(distinct_ranks),
    )


def _distinct(numbers: Integers, size: int) -> int:
    """How many different numbers there are."""
    found = np.zeros(size, dtype=np.bool_)
    found[numbers] = True
    return int(found.sum())


def _with_duplicates(doc: Keys, lengths: Integers, starts: Integers) -> Flags:
    """Whether each page shows a document twice; pages of one length are looked at together."""
    found = np.zeros(len(lengths), dtype=np.bool_)
    for length in np.flatnonzero(np.bincount(lengths)).tolist():
        pages = np.flatnonzero(lengths == length)
        shown = np.sort(doc[starts[pages, np.newaxis] + np.arange(length)], axis=1)
        found[pages] = (shown[:, 1:] == shown[:, :-1]).any(axis=1)
    return found
