"""What some impressions say, page by page: the fast way of `statistics`.

In: some impressions in arrays. Out: the distinct pages among them, with what was counted of each
and of its ranks, and what the diagnostics count. The pages of all pieces of a log, added up, are
those of the log, in any order; `pairs_of` makes the counts of query-document pairs of them.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from builder.clicks.pieces import Lists, Pages, Piece, Values, distinct_pages, lists_of
from builder.clicks.runs import TOP
from builder.clicks.sums import add_up
from builder.sorting import Flags, Integers, Keys, ascending, repeats

COUNTS = ("shown_in_all", "shown_in_clicked", "examined_in_clicked", "clicks", "last_clicks")
"""What is counted of a pair; on pages without a click, what is shown is examined."""
OF_PAGE = ("shown", "shown_clicked", "beyond")
"""What is counted of a page: impressions, those with a click, those with one below the page."""
OF_RANK = ("depths", "clicks", "latest")
"""What is counted of a rank: impressions whose deepest click it is, clicks, impressions whose
latest click it is; the latter where the latest click is the last one."""
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


def count_piece(piece: Piece, *, last_by_time: bool) -> tuple[pa.Table, Tally]:
    """The distinct pages of some impressions with their counts, and the tally of impressions.

    Args:
        piece: The impressions.
        last_by_time: Whether the last click is the latest, or the deepest.

    Returns:
        Columns query, `OF_PAGE`, results and `OF_RANK` (lists), each page once, in the order of the
        top bytes of queries.
    """
    groups = list(distinct_pages(piece.query, piece.results))
    shown_by, page = _numbered(piece, groups)
    results = piece.results.take(shown_by)
    repeated, clicker, rank = _clicked_ranks(piece.clicks)
    clicked = np.flatnonzero(piece.clicked)
    below = piece.clicked & (piece.deepest > piece.results.lengths)
    of_page = dict(zip(OF_PAGE, (page, page[clicked], page[below]), strict=True))
    of_rank = {
        "depths": _at(page[clicked], piece.deepest[clicked], results),
        "clicks": _at(page[clicker], rank, results),
    }
    if last_by_time:
        of_rank["latest"] = _at(page[clicked], piece.latest[clicked], results)
    columns: dict[str, Any] = {"query": piece.query[shown_by]}
    for name, pages in of_page.items():
        columns[name] = np.bincount(pages, minlength=len(shown_by)).astype(np.uint32)
    columns["results"] = _column(results.values, results.starts)
    for name, counts in of_rank.items():
        columns[name] = _column(_narrow(counts), results.starts)
    tally = _tally(piece, rank)
    tally.repeated = _distinct(repeated, len(piece.query))
    tally.with_duplicate = int(columns["shown"][_with_duplicates(results)].sum())
    return pa.table(columns), tally


def _numbered(piece: Piece, groups: list[Pages]) -> tuple[Integers, Integers]:
    """An impression of each page, by the top bytes of queries, and the page of each impression."""
    shown_by = np.concatenate([np.zeros(0, dtype=np.int64), *(pages.shown_by for pages in groups)])
    top = (piece.query[shown_by] >> TOP).astype(np.uint8)
    order = np.argsort(top, kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    page = np.empty(len(piece.query), dtype=np.int64)
    first = 0
    for pages in groups:
        count = len(pages.starts)
        page[pages.rows] = np.repeat(place[first : first + count], pages.weights)
        first += count
    return shown_by[order], page


def _column(values: Values, starts: Integers) -> pa.Array:
    """A column of lists."""
    return pa.ListArray.from_arrays(pa.array(starts.astype(np.int32)), pa.array(values))


def _at(page: Integers, rank: Integers, pages: Lists) -> Integers:
    """How often each rank of each page is named; ranks outside their page are not counted."""
    inside = (rank >= 1) & (rank <= pages.lengths[page])
    places = pages.starts[page[inside]] + rank[inside] - 1
    return np.asarray(np.bincount(places, minlength=len(pages.values)), dtype=np.int64)


def _narrow(counts: Integers) -> Values:
    """Counts in the least bytes that hold the largest."""
    narrow: Values = counts.astype(np.min_scalar_type(counts.max(initial=0)))
    return narrow


def _clicked_ranks(clicks: Lists) -> tuple[Integers, Integers, Integers]:
    """Impressions that have a rank again, and impression and rank of every click but those."""
    clicker = np.repeat(np.arange(len(clicks.starts) - 1), clicks.lengths)
    ordered = ascending((clicker * RANKS + clicks.values).astype(np.uint64)).astype(np.int64)
    again = repeats(ordered)
    return ordered[again] // RANKS, *np.divmod(ordered[~again], RANKS)


def _tally(piece: Piece, distinct_ranks: Integers) -> Tally:
    clicks = piece.clicks.lengths
    owner = np.repeat(np.arange(len(clicks)), clicks)
    back = (owner[1:] == owner[:-1]) & (piece.clicks.values[1:] < piece.clicks.values[:-1])
    return Tally(
        total=len(clicks),
        without_click=int((clicks == 0).sum()),
        never_clicked=int((~piece.clicked).sum()),
        reordered=_distinct(owner[1:][back], len(clicks)),
        lengths=np.bincount(piece.results.lengths),
        clicks=np.bincount(distinct_ranks),
    )


def _distinct(numbers: Integers, size: int) -> int:
    """How many different numbers there are."""
    found = np.zeros(size, dtype=np.bool_)
    found[numbers] = True
    return int(found.sum())


def _with_duplicates(results: Lists) -> Flags:
    """Whether each page shows a document twice; pages of one length are looked at together."""
    found = np.zeros(len(results.lengths), dtype=np.bool_)
    for pages, documents in results.matrices():
        shown = np.sort(documents, axis=1)
        found[pages] = (shown[:, 1:] == shown[:, :-1]).any(axis=1)
    return found


def pairs_of(pages: pa.Table) -> pl.DataFrame:
    """The counts of every pair that some pages show.

    Args:
        pages: What `count_piece` returns, of some pieces.

    Returns:
        Columns query, doc and `COUNTS`, each pair once, in order.
    """
    query = pages["query"].to_numpy()
    results = lists_of(pages, "results")
    of_page = {name: pages[name].to_numpy() for name in OF_PAGE}
    of_rank = {name: lists_of(pages, name) for name in OF_RANK if name in pages.column_names}
    groups = distinct_pages(query, results)
    parts = [_shown(group, query, results, of_page, of_rank) for group in groups]
    columns = {
        name: np.concatenate([part[name] for part in parts]) for name in ("query", "doc", *COUNTS)
    }
    return add_up({name: columns.pop(name) for name in ("query", "doc")}, columns)


def _shown(
    pages: Pages, query: Keys, results: Lists, of_page: dict[str, Values], of_rank: dict[str, Lists]
) -> dict[str, Values]:
    """A row for every rank of some pages of one length, with what is counted there."""
    length, by = pages.length, pages.shown_by
    shown, shown_clicked, beyond = (
        np.add.reduceat(of_page[name][pages.rows], pages.starts) for name in OF_PAGE
    )
    sums = {
        name: np.add.reduceat(
            lists.matrix(pages.rows, length).astype(np.uint32), pages.starts, axis=0
        )
        for name, lists in of_rank.items()
    }
    depths = sums["depths"]
    examined = depths[:, ::-1].cumsum(axis=1, dtype=np.uint32)[:, ::-1] + beyond[:, np.newaxis]
    return {
        "query": np.repeat(query[by], length),
        "doc": results.matrix(by, length).ravel(),
        "shown_in_all": np.repeat(shown, length),
        "shown_in_clicked": np.repeat(shown_clicked, length),
        "examined_in_clicked": examined.ravel(),
        "clicks": sums["clicks"].ravel(),
        "last_clicks": sums.get("latest", depths).ravel(),
    }
