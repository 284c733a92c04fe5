"""Distinct result pages as flat arrays, and the counts that click models derive from them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ClickCounts:
    """Integer counts per group of shown results, int64[groups] each.

    Args:
        impressions: Number of times a result was shown.
        examinations: Number of times a result was shown at or above the last click, or on a page
            without clicks.
        clicks: Number of times a result was clicked, at most once per page and rank.
        last_clicks: Number of times a result had the last click of its page.
    """

    impressions: Integers
    examinations: Integers
    clicks: Integers
    last_clicks: Integers


@dataclass(frozen=True)
class ResultPages:
    """Distinct result pages: n pages with m shown results in total.

    Args:
        pair: int64[m]; index of the query-document pair of each shown result, ordered by page and
            rank.
        clicked: bool[m]; whether each shown result was clicked.
        start: int64[n + 1]; offset of the first shown result of each page, followed by m.
        weight: int64[n]; number of impressions of each page.
        latest: int64[n]; rank of the latest click in time; 0 if there is none.
        pairs: Number of query-document pairs.
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
        """Number of results per page, int64[n]."""
        return np.diff(self.start)

    @property
    def page_index(self) -> Integers:
        """Index of the page of each shown result, int64[m]."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @property
    def rank(self) -> Integers:
        """One-based rank of each shown result on its page, int64[m]."""
        return np.arange(len(self.pair)) - self.start[self.page_index] + 1

    @property
    def deepest_click_rank(self) -> Integers:
        """Rank of the deepest click on each page, int64[n]; 0 if there is none."""
        return self._reduce_by_page(np.where(self.clicked, self.rank, 0), np.maximum)

    @property
    def is_deepest_click(self) -> Flags:
        """Whether each shown result has the deepest click of its page, bool[m]."""
        return np.asarray(self.clicked & (self.rank == self.deepest_click_rank[self.page_index]))

    @property
    def previous_click_rank(self) -> Integers:
        """Rank of the nearest click above each shown result, int64[m]; 0 if there is none."""
        clicked = np.where(self.clicked, self.rank, 0)
        above = np.concatenate([[0], clicked[:-1]])[: len(clicked)]
        above[self.rank == 1] = 0
        offsets = self.page_index * (int(self.lengths.max(initial=0)) + 1)
        return np.asarray(np.maximum.accumulate(above + offsets) - offsets)

    @property
    def first_click_rank(self) -> Integers:
        """Rank of the topmost click on each page, int64[n]; the maximum int64 if there is none."""
        beyond = np.iinfo(np.int64).max
        return self._reduce_by_page(np.where(self.clicked, self.rank, beyond), np.minimum)

    def _reduce_by_page(self, values: Integers, reduce: np.ufunc) -> Integers:
        """Reduce the values of the shown results of each page to one value, int64[n]."""
        return np.asarray(reduce.reduceat(values, self.start[:-1])) if len(self) else values

    def click_counts(
        self,
        groups: Integers,
        num_groups: int,
        *,
        no_click: str = "all_examined",
        last: str = "rank",
    ) -> ClickCounts:
        """Count impressions, examinations and clicks of the shown results in each group.

        Args:
            groups: int64[m]; group of each shown result, such as its pair or rank.
            num_groups: Number of groups.
            no_click: `all_examined` or `skip`, as in `ClickParameters`.
            last: `rank` or `time`, as in `ClickParameters`.
        """
        page, rank = self.page_index, self.rank
        deepest = self.deepest_click_rank[page]
        used = (deepest > 0) if no_click == "skip" else np.ones(len(page), dtype=bool)
        examined = (rank <= deepest) | (deepest == 0)
        final = rank == (deepest if last == "rank" else self.latest[page])
        weights = self.weight[page]
        return ClickCounts(
            *(
                sum_by_group(groups, weights, used & flags, num_groups)
                for flags in (used, examined, self.clicked, self.clicked & final)
            )
        )

    def sum_by_pair(self, values: Floats) -> Floats:
        """Sum the values of shown results for each query-document pair, float64[pairs]."""
        return np.bincount(self.pair, weights=values, minlength=self.pairs).astype(np.float64)

    def reweight(self, weight: Integers) -> "ResultPages":
        """Return the pages with the given weights, but without pages of weight 0.

        Args:
            weight: int64[n]; new number of impressions of each page.
        """
        kept = weight > 0
        shown = np.repeat(kept, self.lengths)
        start = np.concatenate([[0], np.cumsum(self.lengths[kept])]).astype(np.int64)
        return ResultPages(
            self.pair[shown],
            self.clicked[shown],
            start,
            weight[kept],
            self.latest[kept],
            self.pairs,
        )

    def indices_by_rank(self) -> list[tuple[Integers, Integers]]:
        """Return two index arrays for each rank, from the first rank to the last.

        The first array selects the pages that have a result at this rank; the second selects the
        results at this rank.
        """
        lengths = self.lengths
        found = []
        for rank in range(int(lengths.max(initial=0))):
            pages = np.flatnonzero(lengths > rank)
            found.append((pages, self.start[:-1][pages] + rank))
        return found


def sum_by_group(groups: Integers, weights: Integers, flags: Flags, num_groups: int) -> Integers:
    """Sum the integer weights of the flagged elements in each group, int64[num_groups]."""
    sums = np.bincount(groups[flags], weights=weights[flags], minlength=num_groups)
    return np.rint(sums).astype(np.int64)
