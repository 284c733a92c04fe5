"""Click chain model (Guo et al. 2009) by exact expectation-maximisation.

Parameters: attractiveness a of the pair, which is also the probability that a click satisfies
(Chuklin, Markov & de Rijke 2015, section 3.9), and three probabilities to go on: after a skip,
after a click that does not satisfy, and after one that does.
"""

from typing import NamedTuple

import numpy as np

from builder.clicks.models.chain import Hidden, infer
from builder.clicks.models.pages import Floats, Pages
from builder.clicks.models.probabilities import Walk
from builder.clicks.models.training import CERTAIN, Trained, Training, mean


class Continuation(NamedTuple):
    """Probabilities to examine the next result.

    Args:
        skip: After a result that was examined and not clicked (alpha 1 of the paper).
        unsatisfied: After a click that does not satisfy (alpha 2).
        satisfied: After a click that satisfies (alpha 3).
    """

    skip: float = 0.5
    unsatisfied: float = 0.5
    satisfied: float = 0.5


def ccm(pages: Pages, training: Training) -> Trained:
    """Per-pair attractiveness `a`, three global continuation probabilities; relevance is `a**2`."""
    weights = pages.weight[pages.page].astype(np.float64)
    clicks = pages.sums(weights * pages.clicked)
    a, going_on = np.full(pages.pairs, 0.5), Continuation()
    for _ in range(training.iterations):
        hidden = infer(pages, walk_of(pages, a, going_on))
        satisfied = expect_satisfaction(pages, a[pages.pair], going_on, hidden)
        successes = clicks + pages.sums(weights * satisfied)
        trials = pages.sums(weights * hidden.examined) + clicks
        going_on = _continuation(pages, weights, a[pages.pair], going_on, hidden, training)
        a = np.minimum(mean(successes, trials, training.fixed), CERTAIN)
    return Trained(lambda p: walk_of(p, a, going_on), a, a, a * a)


def walk_of(pages: Pages, a: Floats, going_on: Continuation) -> Walk:
    """The walk of the model on some pages."""
    shown = a[pages.pair]
    after_click = (1 - shown) * going_on.unsatisfied + shown * going_on.satisfied
    return Walk(shown, after_click, going_on.skip)


def expect_satisfaction(pages: Pages, a: Floats, going_on: Continuation, hidden: Hidden) -> Floats:
    """P(clicked and satisfied | the clicks), float64[m]."""
    after_click = (1 - a) * going_on.unsatisfied + a * going_on.satisfied
    silent = 1 - going_on.satisfied + going_on.satisfied * hidden.silence_below
    at_last = a * silent / hidden.evidence
    above = a * going_on.satisfied / after_click
    return np.where(pages.is_last_click, at_last, np.where(pages.clicked, above, 0.0))


def _continuation(
    pages: Pages,
    weights: Floats,
    a: Floats,
    going_on: Continuation,
    hidden: Hidden,
    training: Training,
) -> Continuation:
    """Posterior means of the three, each over the inner ranks where its condition holds."""
    satisfied = expect_satisfaction(pages, a, going_on, hidden)
    after_click = (1 - a) * going_on.unsatisfied + a * going_on.satisfied
    share = a * going_on.satisfied / after_click
    skipped = ~pages.clicked
    parts = (
        (skipped * hidden.continued, skipped * hidden.examined),
        (pages.clicked * (1 - share) * hidden.continued, pages.clicked - satisfied),
        (pages.clicked * share * hidden.continued, satisfied),
    )
    inner = weights * (pages.rank < pages.lengths[pages.page])
    return Continuation(*(training.of_sums(inner * on, inner * could) for on, could in parts))
