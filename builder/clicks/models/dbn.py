"""Dynamic Bayesian network (Chapelle & Zhang 2009) by exact expectation-maximisation.

Parameters: attractiveness a and satisfaction s of the pair, one persistence g. Given the clicks,
everything down to the last click was examined; what is hidden lies below it, a chain without
clicks. With b_k = P(no click from rank k on | k examined) = (1 - a_k)(1 - g + g b_{k+1}), the
posterior of the chain is its forward weight times b_k over the evidence Z (the forward-backward
recursion of the paper's appendix, in closed form because the tail has no click).
"""

from dataclasses import dataclass

import numpy as np

from builder.clicks.models.pages import Floats, Integers, Pages
from builder.clicks.models.probabilities import Walk
from builder.clicks.models.training import CERTAIN, Trained, Training, mean


@dataclass(frozen=True)
class Expectation:
    """Posterior probabilities given the clicks, float64[m], of each shown result.

    Args:
        examined: That it was examined.
        satisfied: That it was clicked and satisfied.
        went_on: That the result below it was examined; 0 at the end of the page.
    """

    examined: Floats
    satisfied: Floats
    went_on: Floats


def dbn(pages: Pages, training: Training) -> Trained:
    """Attractiveness and satisfaction by pair, one persistence for all."""
    weights = pages.weight[pages.page].astype(np.float64)
    clicks = np.bincount(pages.pair, weights=weights * pages.clicked, minlength=pages.pairs)
    inner = (pages.rank < pages.lengths[pages.page]).astype(np.float64)
    ranks, deepest = pages.by_rank(), pages.deepest
    a, s, persistence = np.full(pages.pairs, 0.5), np.full(pages.pairs, 0.5), 0.5
    for _ in range(training.iterations):
        hidden = expect(pages, ranks, deepest, a[pages.pair], s[pages.pair], persistence)
        examinations, satisfied = (
            np.bincount(pages.pair, weights=weights * values, minlength=pages.pairs)
            for values in (hidden.examined, hidden.satisfied)
        )
        could_go_on = float((weights * inner) @ (hidden.examined - hidden.satisfied))
        went_on = float(weights @ hidden.went_on)
        a = np.minimum(mean(clicks, examinations, training.fixed), CERTAIN)
        s = np.minimum(mean(satisfied, clicks, training.fixed), CERTAIN)
        persistence = min(
            float(mean(np.array(went_on), np.array(could_go_on), training.fixed)), CERTAIN
        )
    return Trained(
        lambda p: Walk(a[p.pair], persistence * (1 - s[p.pair]), persistence), a, s, a * s
    )


def expect(
    pages: Pages,
    ranks: list[tuple[Integers, Integers]],
    deepest: Integers,
    a: Floats,
    s: Floats,
    persistence: float,
) -> Expectation:
    """The posterior of examination and satisfaction given the clicks.

    Args:
        pages: n pages with m results.
        ranks: `pages.by_rank()`.
        deepest: `pages.deepest`.
        a: Attractiveness, float64[m].
        s: Satisfaction, float64[m].
        persistence: Probability to go on when not satisfied.
    """
    silent, evidence = _backward(pages, ranks, deepest, a, s, persistence)
    examined, satisfied, went_on = (np.zeros(len(a)) for _ in range(3))
    forward = np.ones(len(pages))
    for index, (page, shown) in enumerate(ranks):
        rank = index + 1
        below, at, above = (
            compare(deepest[page], rank) for compare in (np.less, np.equal, np.greater)
        )
        here = forward[page] * silent[shown] / evidence[page]
        examined[shown] = np.where(below, here, 1.0)
        satisfied[shown] = np.where(at, s[shown] / evidence[page], 0.0)
        stay = np.where(at, 1 - s[shown], forward[page] * (1 - a[shown])) * persistence
        forward[page] = np.where(above, 1.0, stay)
        longer = pages.lengths[page] > rank
        following = silent[shown[longer] + 1]
        went_on[shown[longer]] = np.where(
            above[longer], 1.0, stay[longer] * following / evidence[page[longer]]
        )
    return Expectation(examined, satisfied, went_on)


def _backward(
    pages: Pages,
    ranks: list[tuple[Integers, Integers]],
    deepest: Integers,
    a: Floats,
    s: Floats,
    persistence: float,
) -> tuple[Floats, Floats]:
    """P(no click from here on | examined) of each result, and the evidence Z of each page."""
    silent = np.ones(len(a))
    after = np.ones(len(pages))
    evidence = np.ones(len(pages))
    for index, (page, shown) in reversed(list(enumerate(ranks))):
        at_last = deepest[page] == index + 1
        stopped = s[shown] + (1 - s[shown]) * (1 - persistence + persistence * after[page])
        evidence[page] = np.where(at_last, stopped, evidence[page])
        silent[shown] = (1 - a[shown]) * (1 - persistence + persistence * after[page])
        after[page] = silent[shown]
    first = ranks[0] if ranks else (np.zeros(0, dtype=np.int64),) * 2
    evidence[first[0]] = np.where(deepest[first[0]] == 0, after[first[0]], evidence[first[0]])
    return silent, evidence
