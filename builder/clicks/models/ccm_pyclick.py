"""Click chain model as PyClick trains it: for comparison with published figures only.

Chuklin, Markov & de Rijke (2015), section 4.2.5, with differences 1 to 4 of `dbn_pyclick`, and: the
pair's parameter counts as satisfaction at its last click with weight a / (1 - c d), where c is the
probability to go on and d that of a click below. `ccm` is the exact procedure.
"""

import numpy as np

from builder.clicks.models.ccm import Continuation, walk_of
from builder.clicks.models.dbn_pyclick import below_last_click, clicks_ahead, silence_from_top
from builder.clicks.models.pages import Floats, Pages
from builder.clicks.models.probabilities import Walk
from builder.clicks.models.training import CERTAIN, Trained, Training, mean


def ccm_pyclick(pages: Pages, training: Training) -> Trained:
    """Per-pair attractiveness `a`, three global continuation probabilities; relevance is `a**2`."""
    weights = pages.weight[pages.page].astype(np.float64)
    shown, clicks = pages.sums(weights), pages.sums(weights * pages.clicked)
    below = below_last_click(pages)
    a, going_on = np.full(pages.pairs, 0.5), Continuation()
    for _ in range(training.iterations):
        walk = walk_of(pages, a, going_on)
        ahead, after = clicks_ahead(pages, walk.attractiveness, going_on.skip)
        examined = walk.marginal(pages) / walk.attractiveness
        missed = (1 - examined) * walk.attractiveness / (1 - examined * ahead)
        content = walk.attractiveness / (1 - walk.after_click * after)
        hidden = np.where(below, missed, 0.0) + np.where(pages.is_last_click, content, 0.0)
        going_on = _continuation(pages, weights, walk, going_on, training)
        a = mean(clicks + pages.sums(weights * hidden), shown + clicks, training.fixed)
        a = np.minimum(a, CERTAIN)
    return Trained(lambda p: walk_of(p, a, going_on), a, a, a * a)


def _continuation(
    pages: Pages, weights: Floats, walk: Walk, going_on: Continuation, training: Training
) -> Continuation:
    """Posterior means of the three continuation probabilities, over all ranks."""
    a, examined = walk.attractiveness, walk.descend(pages)[1]
    tail = silence_from_top(pages, a, going_on.skip)
    last = pages.deepest[pages.page]
    is_certain = (last == 0) | (pages.rank < last)
    silence = [1 - going + going * tail for going in going_on]
    after_click = (1 - a) * silence[1] + a * silence[2]
    conditions = (
        (~pages.clicked, examined, examined * going_on.skip, 1 - examined + examined * silence[0]),
        (pages.clicked, 1 - a, walk.after_click, after_click),
        (pages.clicked, a, walk.after_click, after_click),
    )
    means = []
    for going, silent, condition in zip(going_on, silence, conditions, strict=True):
        flags, prior, above, total = condition
        continued = np.where(is_certain, prior * going / above, prior * going * tail / total)
        could = np.where(is_certain, prior * going / above, prior * silent / total)
        means.append(training.of_sums(weights * flags * continued, weights * flags * could))
    return Continuation(*means)
