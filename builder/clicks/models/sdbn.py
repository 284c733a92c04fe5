"""Simplified dynamic Bayesian network (Chapelle & Zhang 2009, section 5): the house model.

a = clicks / examinations and s = last clicks / clicks of the pair; nobody gives up.
"""

from builder.clicks.models.pages import Pages
from builder.clicks.models.probabilities import Walk
from builder.clicks.models.training import Trained, Training


def sdbn(pages: Pages, training: Training) -> Trained:
    """Attractiveness and satisfaction by pair, persistence 1."""
    counts = pages.statistics(
        pages.pair, pages.pairs, no_click=training.params.no_click, last=training.params.last
    )
    a = training.of_pairs(counts.clicks, counts.examinations)
    s = training.of_pairs(counts.last_clicks, counts.clicks)
    return Trained(lambda p: Walk(a[p.pair], 1 - s[p.pair]), a, s, a * s, counts.examinations > 0)
