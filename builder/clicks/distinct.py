"""Which impressions show the same page, and the distinct pages of a log with what is counted of it.

Pages are found by a hash of their results, and then compared: equal hashes alone prove nothing.
Pages of one length make a matrix, whose rows are hashed, compared and taken whole, a block of rows
that fits into the processor's cache after the other.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from builder.clicks.arrays import Growing
from builder.clicks.pieces import Lists, Values
from builder.clicks.selected import Chosen
from builder.errors import DataError
from builder.hash_table import HashTable
from builder.sorting import Flags, Integers, Keys, distinct_of, mixed, order_of, repeats

SEEDS = 8
"""Hash functions that are tried; that two pages collide under one of them happens once in 2^30
pieces."""
BLOCK = 2**17
"""Results that are looked at together: a megabyte."""


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
        model = np.empty(len(query), dtype=np.int64)
        model[order] = np.repeat(pages.shown_by, pages.weights)
        if _are_equal(query, results, query, results, model):
            return pages
    raise DataError(_not_told_apart(len(query)))


class PagesOfLength:
    """The distinct pages of one length that were shown, each with a place."""

    def __init__(self, length: int) -> None:
        self.query = Growing(np.uint64)
        self.results = Growing(np.uint64, length)
        self._table = HashTable()
        self._seed = 0

    def __len__(self) -> int:
        return len(self.query)

    @property
    def bytes(self) -> int:
        """The memory that they have reserved."""
        return self.query.bytes + self.results.bytes + self._table.bytes

    def places_of(self, query: Keys, results: Values, chosen: Chosen) -> Integers:
        """The places of pages, of which those that are new follow the others.

        Args:
            query: The query of each page.
            results: The documents of each.
            chosen: Which queries count; pages of others have the place -1.

        Raises:
            DataError: no hash function told the pages apart.
        """
        for _ in range(SEEDS):
            hashes = _hashes(query, results, self._seed)
            places = self._table.find([hashes])
            new = np.flatnonzero(places < 0)
            if len(new) and (wanted := chosen.are_queries(query[new])) is not None:
                new = new[wanted]
            if len(new):
                places[new] = self._add(hashes[new], query, results, new)
            if self._are_at(query, results, places):
                return places
            self._hash_again()
        raise DataError(_not_told_apart(len(query)))

    def _are_at(self, query: Keys, results: Values, places: Integers) -> bool:
        """Whether all rows that have places show the pages that are there."""
        if places.min(initial=0) < 0:
            rows = np.flatnonzero(places >= 0)
            query, results, places = query[rows], results.take(rows, axis=0), places[rows]
        return _are_equal(query, results, self.query.values, self.results.values, places)

    def _add(self, hashes: Keys, query: Keys, results: Values, rows: Integers) -> Integers:
        """Add the pages of some rows, which differ where their hashes do; the place of each."""
        new, which = distinct_of(hashes)
        places, rows = len(self) + which, rows[new]
        self._table = self._table.with_room(len(new))
        self._table.add([hashes[new]])
        self.query.append(query[rows])
        self.results.append(results.take(rows, axis=0))
        return places

    def _hash_again(self) -> None:
        """Tell pages apart by another hash function, which differs for all that are there."""
        for _ in range(SEEDS):
            self._seed += 1
            hashes = _hashes(self.query.values, self.results.values, self._seed)
            if len(np.unique(hashes)) == len(self):
                self._table = HashTable(room=len(self))
                self._table.add([hashes])
                return
        raise DataError(_not_told_apart(len(self)))


def _not_told_apart(pages: int) -> str:
    return f"no hash told {pages} result pages apart; are document keys hashes?"


def _hashes(query: Keys, results: Values, seed: int) -> Keys:
    """A hash of the query, the results and their order: sums of products with odd numbers.

    Keys that differ in their first bits alone would differ in those of an even sum, which is lost:
    so first bits count as later ones too.
    """
    count, length = results.shape
    numbers = np.arange(1, length + 2, dtype=np.uint64) + np.uint64(seed << 32)
    weights = mixed(numbers) | np.uint64(1)
    hashes = query * weights[length]
    for block in _blocks(count, length):
        keys = results[block].astype(np.uint64, copy=False)
        hashes[block] += (keys ^ (keys >> np.uint64(29))) @ weights[:length]
        hashes[block] = mixed(hashes[block])
    return hashes


def _are_equal(
    query: Keys, results: Values, queries: Keys, pages: Values, places: Integers
) -> bool:
    """Whether all rows show the pages at their places, for their queries."""
    return np.array_equal(query, queries.take(places)) and all(
        np.array_equal(results[block], pages.take(places[block], axis=0))
        for block in _blocks(*results.shape)
    )


def _blocks(count: int, length: int) -> Iterator[slice]:
    """Ranges of the rows of a matrix."""
    step = max(1, BLOCK // length)
    return (slice(start, start + step) for start in range(0, count, step))


def repeat_a_document(results: Values) -> Flags:
    """Whether each row of a matrix has a document twice."""
    found = np.zeros(len(results), dtype=np.bool_)
    for block in _blocks(*results.shape):
        shown = np.sort(results[block], axis=1)
        found[block] = (shown[:, 1:] == shown[:, :-1]).any(axis=1)
    return found
