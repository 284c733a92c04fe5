"""Cascade model (Craswell, Zoeter, Taylor & Ramsey 2008): down the page to the first click.

Ranks up to the first click are examined, nothing after it; every click satisfies. The evidence is
therefore counted up to the first click, not the last. Below it no click can be: the absence of one
is certain, a second one impossible. PyClick gives both the smallest probability instead, and the
marginal probability down to the first click; figures by its convention do the same.
"""

from dataclasses import dataclass

import numpy as np

from builder.clicks.models.pages import Floats, Pages, count
from builder.clicks.models.probabilities import LEAST, Walk
from builder.clicks.models.training import Trained, Training


@dataclass(frozen=True)
class FirstClick(Walk):
    """A walk that ends with the first click."""

    def conditional_by_pyclick(self, pages: Pages) -> Floats:
        """The value that PyClick uses as the conditional click probability, float64[m]."""
        click = self.marginal(pages)
        observed = np.where(pages.clicked, click, 1 - click)
        return np.where(pages.rank > pages.first[pages.page], LEAST, observed)


def cascade(pages: Pages, training: Training) -> Trained:
    """Attractiveness by pair; a click ends the search."""
    page = pages.page
    examined = pages.rank <= pages.first[page]
    if training.params.no_click == "skip":
        examined &= (pages.deepest > 0)[page]
    weights = pages.weight[page]
    clicks = count(pages.pair, weights, examined & pages.clicked, pages.pairs)
    examinations = count(pages.pair, weights, examined, pages.pairs)
    a = training.of_pairs(clicks, examinations)
    return Trained(
        lambda p: FirstClick(a[p.pair], np.zeros(len(p.pair))),
        a,
        np.ones(len(a)),
        a,
        examinations > 0,
    )
