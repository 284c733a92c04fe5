"""What impressions say, page by page: the fast way of `statistics`.

In: impressions in arrays, piece by piece. Out: the distinct pages among them, with what was counted
of each and of its ranks. The pages of all pieces of a log, added up, are those of the log, in any
order; `pairs_of` makes the counts of query-document pairs of them.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from builder.clicks.arrays import Growing
from builder.clicks.distinct import Pages, PagesOfLength, distinct_pages, repeat_a_document
from builder.clicks.pieces import Clicks, Lists, Piece, Values, lists_of
from builder.clicks.runs import TOP
from builder.clicks.selected import Chosen
from builder.clicks.sums import add_up
from builder.sorting import Integers, Keys

COUNTS = ("shown_in_all", "shown_in_clicked", "examined_in_clicked", "clicks", "last_clicks")
"""What is counted of a pair; on pages without a click, what is shown is examined."""
OF_PAGE = ("shown", "shown_clicked", "beyond")
"""What is counted of a page: impressions, those with a click, those with one below the page."""
OF_RANK = ("depths", "clicks", "latest")
"""What is counted of a rank: impressions whose deepest click it is, clicks, impressions whose
latest click it is; the latter where the latest click is the last one."""


class PageCounts:
    """The distinct pages of impressions, numbered as they come, and their counts.

    Args:
        chosen: Which queries count.
        last_by_time: Whether the last click is the latest, or the deepest.
    """

    def __init__(self, chosen: Chosen, *, last_by_time: bool) -> None:
        self._chosen = chosen
        self._kinds: dict[int, tuple[PagesOfLength, Growing]] = {}
        self._starts = Growing(np.int64)
        self._of_page = {name: Growing(np.uint32) for name in OF_PAGE}
        self._of_rank = {name: Growing(np.uint32) for name in OF_RANK[: 2 + last_by_time]}

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def bytes(self) -> int:
        """The memory that they have reserved; to make a table takes as much again."""
        kinds = (pages.bytes + numbers.bytes for pages, numbers in self._kinds.values())
        columns = (self._starts, *self._of_page.values(), *self._of_rank.values())
        return sum(kinds) + sum(column.bytes for column in columns)

    def pages_of(self, query: Keys, results: Lists) -> Integers:
        """The number of each page; -1 where its query does not count.

        Raises:
            DataError: no hash function told pages apart.
        """
        if results.are_even and len(query):
            length = int(results.lengths[0])
            return self._of_length(length, query, results.values.reshape(-1, length))
        page = np.empty(len(query), dtype=np.int64)
        for rows, shown in results.matrices():
            page[rows] = self._of_length(shown.shape[1], query[rows], shown)
        return page

    def _of_length(self, length: int, query: Keys, results: Values) -> Integers:
        """The numbers of pages that have one length.

        Places are numbers where all pages have it, and where none counts that has it.
        """
        if length not in self._kinds:
            self._kinds[length] = (PagesOfLength(length), Growing(np.int64))
        pages, numbers = self._kinds[length]
        places = pages.places_of(query, results, self._chosen)
        self._number(length, len(pages) - len(numbers), numbers)
        if len(numbers) in {0, len(self)}:
            return places
        return np.where(places < 0, -1, numbers.values.take(places, mode="clip"))

    def count(self, page: Integers, piece: Piece, clicks: Clicks) -> None:
        """Count impressions.

        Args:
            page: Numbers of their pages.
            piece: The impressions.
            clicks: Their distinct clicks.
        """
        clicked = np.flatnonzero(piece.clicked)
        deepest, of_clicked = piece.deepest[clicked], page[clicked]
        lengths = piece.lengths[clicked]
        beyond = of_clicked[deepest > lengths]
        for name, pages in zip(OF_PAGE, (page, of_clicked, beyond), strict=True):
            np.add.at(self._of_page[name].values, pages, np.uint32(1))
        self._count("depths", of_clicked, deepest, lengths)
        of_click = clicks.impression
        self._count("clicks", page[of_click], clicks.rank, piece.lengths[of_click])
        if "latest" in self._of_rank:
            self._count("latest", of_clicked, piece.latest[clicked], lengths)

    def _count(self, name: str, page: Integers, rank: Integers, lengths: Integers) -> None:
        """Count ranks of pages of such lengths; ranks outside their page are not counted."""
        inside = (rank >= 1) & (rank <= lengths)
        if not inside.all():
            page, rank = page[inside], rank[inside]
        places = self._starts.values.take(page) + (rank - 1)
        np.add.at(self._of_rank[name].values, places, np.uint32(1))

    def _number(self, length: int, count: int, numbers: Growing) -> None:
        """Give numbers, and counts of 0, to new pages of a length."""
        cells = len(self._of_rank["clicks"])
        numbers.append(np.arange(len(self), len(self) + count))
        self._starts.append(cells + length * np.arange(count))
        for counts in self._of_page.values():
            counts.extend(count)
        for counts in self._of_rank.values():
            counts.extend(length * count)

    def impressions_with_duplicate(self) -> int:
        """How many impressions show a document twice."""
        shown = self._of_page["shown"].values
        return sum(
            int(shown[numbers.values[repeat_a_document(pages.results.values)]].sum())
            for pages, numbers in self._kinds.values()
        )

    def table(self) -> pa.Table:
        """What was counted, each page once, in the order of the top bytes of queries.

        Returns:
            Columns query (that which stands for it), `OF_PAGE`, results and `OF_RANK` (lists).
        """
        query = np.empty(len(self), dtype=np.uint64)
        for pages, numbers in self._kinds.values():
            query[numbers.values] = self._chosen.standing_for(pages.query.values)
        counted = np.flatnonzero(self._of_page["shown"].values)
        top = (query[counted] >> TOP).astype(np.uint8)
        order = counted[np.argsort(top, kind="stable")]
        columns: dict[str, Any] = {"query": query[order]}
        for name, counts in self._of_page.items():
            columns[name] = counts.values[order]
        for name, lists in self._lists():
            columns[name] = _column(lists.take(order))
        return pa.table(columns)

    def _lists(self) -> Iterator[tuple[str, Lists]]:
        """The results of each page by its number, and what is counted of each of them."""
        starts = np.append(self._starts.values, len(self._of_rank["clicks"]))
        yield "results", Lists(self._results(), starts)
        for name, counts in self._of_rank.items():
            yield name, Lists(_narrow(counts.values), starts)

    def _results(self) -> Keys:
        """The results of all pages, by their numbers."""
        if len(self._kinds) == 1:
            ((pages, _),) = self._kinds.values()
            return pages.results.values.ravel()
        results = np.empty(len(self._of_rank["clicks"]), dtype=np.uint64)
        for length, (pages, numbers) in self._kinds.items():
            starts = self._starts.values[numbers.values]
            results[starts[:, np.newaxis] + np.arange(length)] = pages.results.values
        return results


def _column(lists: Lists) -> pa.Array:
    """A column of lists."""
    return pa.ListArray.from_arrays(pa.array(lists.starts.astype(np.int32)), pa.array(lists.values))


def _narrow(counts: Values) -> Values:
    """Counts in the least bytes that hold the largest."""
    narrow: Values = counts.astype(np.min_scalar_type(counts.max(initial=0)))
    return narrow


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
