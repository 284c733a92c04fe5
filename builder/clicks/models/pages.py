"""Distinct result pages in arrays, and the integer statistics that click models read off them.

In: pages as flat arrays, one element per shown result. Out: impressions, examinations, clicks and
last clicks, grouped by pair, by rank, by both, or over all.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Statistics:
    """Integer counts of one group of shown results each, int64[groups].

    Args:
        impressions: Times shown.
        examinations: Times shown at or above the last click (or on a page without a click).
        clicks: Times clicked, once per page and rank.
        last_clicks: Times clicked last.
    """

    impressions: Integers
    examinations: Integers
    clicks: Integers
    last_clicks: Integers


@dataclass(frozen=True)
class Pages:
    """n distinct result pages with m shown results in all.

    Args:
        pair: int64[m]; query-document pair at each shown result, page by page in rank order.
        clicked: bool[m].
        start: int64[n + 1]; first shown result of each page, and m.
        weight: int64[n]; how often the page was shown.
        latest: int64[n]; rank of the latest click in time, 0 where there is none.
        pairs: Number of pairs.
    """

    pair: Integers
    clicked: Flags
    start: Integers
    weight: Integers
    latest: Integers
    pairs: int

    def __len__(self) -> int:
        return len(self.weight)

    @property
    def lengths(self) -> Integers:
        """Results on each page, int64[n]."""
        return np.diff(self.start)

    @property
    def page(self) -> Integers:
        """Page of each shown result, int64[m]."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @property
    def rank(self) -> Integers:
        """Rank of each shown result, from 1, int64[m]."""
        return np.arange(len(self.pair)) - self.start[self.page] + 1

    @property
    def deepest(self) -> Integers:
        """Deepest clicked rank of each page, 0 without a click, int64[n]."""
        return self._extreme(np.where(self.clicked, self.rank, 0), np.maximum)

    @property
    def is_last_click(self) -> Flags:
        """Whether each shown result is the deepest click of its page, bool[m]."""
        return np.asarray(self.clicked & (self.rank == self.deepest[self.page]))

    @property
    def previous_click(self) -> Integers:
        """Deepest clicked rank above each shown result, 0 where there is none, int64[m]."""
        clicked = np.where(self.clicked, self.rank, 0)
        above = np.concatenate([[0], clicked[:-1]])[: len(clicked)]
        above[self.rank == 1] = 0
        offsets = self.page * (int(self.lengths.max(initial=0)) + 1)
        return np.asarray(np.maximum.accumulate(above + offsets) - offsets)

    @property
    def first(self) -> Integers:
        """Rank of each page's first click; page length + 1 if it has none, int64[n]."""
        beyond = np.iinfo(np.int64).max
        return self._extreme(np.where(self.clicked, self.rank, beyond), np.minimum)

    def _extreme(self, values: Integers, reduce: np.ufunc) -> Integers:
        return np.asarray(reduce.reduceat(values, self.start[:-1])) if len(self) else values

    def statistics(
        self, groups: Integers, number: int, *, no_click: str = "all_examined", last: str = "rank"
    ) -> Statistics:
        """Count the shown results by group.

        Args:
            groups: int64[m]; group of each shown result, such as its pair or its rank.
            number: Number of groups.
            no_click: `all_examined` or `skip`, as in `ClickParameters`.
            last: `rank` or `time`, as in `ClickParameters`.
        """
        page, rank = self.page, self.rank
        deepest = self.deepest[page]
        used = (deepest > 0) if no_click == "skip" else np.ones(len(page), dtype=bool)
        examined = (rank <= deepest) | (deepest == 0)
        final = rank == (deepest if last == "rank" else self.latest[page])
        weights = self.weight[page]
        return Statistics(
            *(
                count(groups, weights, used & flags, number)
                for flags in (used, examined, self.clicked, self.clicked & final)
            )
        )

    def sums(self, values: Floats) -> Floats:
        """Sums of the values of shown results by pair, float64[pairs]."""
        return np.bincount(self.pair, weights=values, minlength=self.pairs).astype(np.float64)

    def select(self, weight: Integers) -> "Pages":
        """The pages whose new weight is above 0, with that weight."""
        kept = weight > 0
        shown = np.repeat(kept, self.lengths)
        start = np.concatenate([[0], np.cumsum(self.lengths[kept])]).astype(np.int64)
        return Pages(
            self.pair[shown],
            self.clicked[shown],
            start,
            weight[kept],
            self.latest[kept],
            self.pairs,
        )

    def by_rank(self) -> list[tuple[Integers, Integers]]:
        """For each rank from 1: the pages that are long enough, and their result at that rank."""
        lengths = self.lengths
        found = []
        for rank in range(int(lengths.max(initial=0))):
            pages = np.flatnonzero(lengths > rank)
            found.append((pages, self.start[:-1][pages] + rank))
        return found


def count(groups: Integers, weights: Integers, flags: Flags, number: int) -> Integers:
    """Sum the integer weights of the flagged elements by group, int64[number]."""
    sums = np.bincount(groups[flags], weights=weights[flags], minlength=number)
    return np.rint(sums).astype(np.int64)
