"""Cascade model (Craswell, Zoeter, Taylor & Ramsey 2008): down the page to the first click.

Ranks up to the first click are examined, nothing after it; every click satisfies. The evidence is
therefore counted up to the first click, not the last.
"""

import numpy as np

from builder.clicks.models.pages import Pages, count
from builder.clicks.models.probabilities import Walk
from builder.clicks.models.training import Trained, Training


def cascade(pages: Pages, training: Training) -> Trained:
    """Attractiveness by pair; a click ends the search."""
    page = pages.page
    first = pages.first[page]
    examined = pages.rank <= first
    if training.params.no_click == "skip":
        examined &= (pages.deepest > 0)[page]
    weights = pages.weight[page]
    clicks = count(pages.pair, weights, examined & pages.clicked, pages.pairs)
    examinations = count(pages.pair, weights, examined, pages.pairs)
    a = training.of_pairs(clicks, examinations)
    return Trained(
        lambda p: Walk(a[p.pair], np.zeros(len(p.pair))), a, np.ones(len(a)), a, examinations > 0
    )
