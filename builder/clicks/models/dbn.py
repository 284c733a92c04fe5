"""Dynamic Bayesian network (Chapelle & Zhang 2009) by exact expectation-maximisation.

Parameters: attractiveness a and satisfaction s of the pair, one persistence g. A user goes on after
a click with probability g (1 - s), after a skip with probability g.
"""

import numpy as np

from builder.clicks.models.chain import infer
from builder.clicks.models.pages import Floats, Pages
from builder.clicks.models.probabilities import Walk
from builder.clicks.models.training import CERTAIN, Trained, Training, mean


def dbn(pages: Pages, training: Training) -> Trained:
    """Attractiveness and satisfaction by pair, one persistence for all."""
    weights = pages.weight[pages.page].astype(np.float64)
    clicks = pages.sums(weights * pages.clicked)
    inner = weights * (pages.rank < pages.lengths[pages.page])
    a, s, persistence = np.full(pages.pairs, 0.5), np.full(pages.pairs, 0.5), 0.5
    for _ in range(training.iterations):
        walk = _walk(pages, a, s, persistence)
        hidden = infer(pages, walk)
        satisfied = np.where(pages.is_last_click, s[pages.pair] / hidden.evidence, 0.0)
        examinations = pages.sums(weights * hidden.examined)
        a = np.minimum(mean(clicks, examinations, training.fixed), CERTAIN)
        s = np.minimum(mean(pages.sums(weights * satisfied), clicks, training.fixed), CERTAIN)
        persistence = training.of_sums(
            weights * hidden.continued, inner * (hidden.examined - satisfied)
        )
    return Trained(lambda p: _walk(p, a, s, persistence), a, s, a * s)


def _walk(pages: Pages, a: Floats, s: Floats, persistence: float) -> Walk:
    return Walk(a[pages.pair], persistence * (1 - s[pages.pair]), persistence)
