"""Cascade model (Craswell, Zoeter, Taylor & Ramsey 2008): the user stops at the first click.

Ranks up to the first click are examined, and every clicked result satisfies the user, so
examinations are counted up to the first click instead of the last. Below the first click, skips
have probability 1 and clicks probability 0. PyClick instead assigns the minimum probability to all
results below the first click, and the marginal probability to all others;
`pyclick_conditional_probabilities` reproduces this.
"""

from dataclasses import dataclass

import numpy as np

from builder.clicks.models.pages import Floats, ResultPages, sum_by_group
from builder.clicks.models.probabilities import MIN_PROBABILITY, ExaminationChain
from builder.clicks.models.training import TrainedModel, TrainingOptions


@dataclass(frozen=True)
class CascadeExaminationChain(ExaminationChain):
    """Examination chain of the cascade model, which ends at the first click."""

    def pyclick_conditional_probabilities(self, pages: ResultPages) -> Floats:
        """Return the probability of each click or skip as PyClick computes it, float64[m]."""
        click = self.marginal_click_probabilities(pages)
        observed = np.where(pages.clicked, click, 1 - click)
        return np.where(
            pages.rank > pages.first_click_rank[pages.page_index], MIN_PROBABILITY, observed
        )


def fit_cascade(pages: ResultPages, options: TrainingOptions) -> TrainedModel:
    """Fit the cascade model: estimate attractiveness per pair; satisfaction is 1."""
    page = pages.page_index
    examined = pages.rank <= pages.first_click_rank[page]
    if options.params.no_click == "skip":
        examined &= (pages.deepest_click_rank > 0)[page]
    weights = pages.weight[page]
    clicks = sum_by_group(pages.pair, weights, examined & pages.clicked, pages.pairs)
    examinations = sum_by_group(pages.pair, weights, examined, pages.pairs)
    a = options.estimate_by_pair(clicks, examinations)
    return TrainedModel(
        lambda p: CascadeExaminationChain(a[p.pair], np.zeros(len(p.pair))),
        a,
        np.ones(len(a)),
        a,
        examinations > 0,
    )
