"""Click probabilities of models in which examination depends on rank and previous click.

The conditional click probability is `a * gamma(rank, previous click)`, where `a` is the
attractiveness of the document. The marginal click probability is its mean over all possible ranks
of the previous click, weighted by their probabilities (Dupret & Piwowarski 2008, equation 9); it is
computed from the first rank to the last.
"""

from dataclasses import dataclass

import numpy as np

from builder.clicks.models.pages import Floats, ResultPages


@dataclass(frozen=True)
class BrowsingClickProbabilities:
    """Click probabilities of browsing models such as UBM.

    Args:
        attractiveness: float64[m]; attractiveness of each shown result.
        examination: float64[r, r]; examination probability by 0-based rank (row) and 1-based
            rank of the previous click (column; 0 if there is none).
        default_examination: Examination probability at ranks greater than r.
    """

    attractiveness: Floats
    examination: Floats
    default_examination: float

    def marginal_click_probabilities(self, pages: ResultPages) -> Floats:
        """Return P(click) of each shown result, float64[m]."""
        result = np.empty(len(pages.pair))
        ranks = pages.indices_by_rank()
        previous = np.zeros((len(pages), len(ranks) + 1))
        previous[:, 0] = 1.0
        gamma = self._examination_matrix(len(ranks))
        for rank, (page, shown) in enumerate(ranks):
            click = self.attractiveness[shown, None] * gamma[rank, : rank + 1]
            reached = previous[page, : rank + 1]
            result[shown] = (reached * click).sum(axis=1)
            previous[page, : rank + 1] = reached * (1 - click)
            previous[page, rank + 1] = result[shown]
        return result

    def conditional_outcome_probabilities(self, pages: ResultPages) -> Floats:
        """Return the probability of each click or skip, given the clicks above it, float64[m]."""
        gamma = self._examination_matrix(int(pages.lengths.max(initial=0)))
        click = self.attractiveness * gamma[pages.rank - 1, pages.previous_click_rank]
        return np.where(pages.clicked, click, 1 - click)

    def _examination_matrix(self, num_ranks: int) -> Floats:
        """Return `examination`, cropped or padded to `num_ranks` ranks (rows and columns)."""
        known = min(len(self.examination), num_ranks)
        gamma = np.full((num_ranks, num_ranks), self.default_examination)
        gamma[:known, :known] = self.examination[:known, :known]
        return gamma
