"""Dependent click model (Guo, Liu & Wang 2009): after a click, the rank decides who goes on.

With the assumption of the paper's section 3.2 that the last click ends the search, counting is
the maximum likelihood: a = clicks / examinations of the pair, continuation = clicks that were not
the last / clicks, of the rank.
"""

from builder.clicks.models.pages import Pages
from builder.clicks.models.probabilities import Walk
from builder.clicks.models.training import Trained, Training, at_rank


def dcm(pages: Pages, training: Training) -> Trained:
    """Attractiveness by pair, continuation by rank."""
    rules = {"no_click": training.params.no_click, "last": training.params.last}
    pairs = pages.statistics(pages.pair, pages.pairs, **rules)
    ranks = pages.statistics(pages.rank - 1, int(pages.lengths.max(initial=0)), **rules)
    a = training.of_pairs(pairs.clicks, pairs.examinations)
    go_on = training.of_few(ranks.clicks - ranks.last_clicks, ranks.clicks)
    return Trained(
        lambda p: Walk(a[p.pair], at_rank(go_on, p, 1 - training.fixed.mean)),
        attractiveness=a,
        relevance=a,
        has_evidence=pairs.examinations > 0,
    )
