"""What is hidden on a page, given its clicks, when the user walks down from the top.

In: the parameters of a `Walk`: attractiveness a, the probabilities c and k to go on after a click
and after a skip. Given the clicks, everything down to the last one was examined; below it lies a
chain without clicks. With b_r = P(no click from rank r on | r examined) = (1 - a_r)(1 - k + k
b_{r+1}), the posterior of the chain is its forward weight times b_r over the evidence Z, the
probability of no click below the last one (the forward-backward recursion of the appendix of
Chapelle & Zhang 2009, in closed form because the tail has no click).
"""

from dataclasses import dataclass

import numpy as np

from builder.clicks.models.pages import Floats, Pages
from builder.clicks.models.probabilities import Walk


@dataclass(frozen=True)
class Hidden:
    """Posterior probabilities given the clicks, float64[m], of each shown result.

    Args:
        examined: That it was examined.
        continued: That the result below it was examined; 0 at the end of the page.
        silence_below: b of the result below it; 1 at the end of the page.
        evidence: Z of its page, by result.
    """

    examined: Floats
    continued: Floats
    silence_below: Floats
    evidence: Floats


def infer(pages: Pages, walk: Walk) -> Hidden:
    """The posterior of examination given the clicks.

    Args:
        pages: n pages with m results.
        walk: Its parameters on these pages.
    """
    silence, below, evidence = _backward(pages, walk)
    deepest, k = pages.deepest, walk.after_skip
    examined, continued = np.zeros(len(silence)), np.zeros(len(silence))
    forward = np.ones(len(pages))
    for index, (page, shown) in enumerate(pages.by_rank()):
        above = deepest[page] > index + 1
        at = deepest[page] == index + 1
        under = deepest[page] < index + 1
        examined[shown] = np.where(under, forward[page] * silence[shown] / evidence[page], 1.0)
        skipped = forward[page] * (1 - walk.attractiveness[shown]) * k
        forward[page] = np.where(at, walk.after_click[shown], np.where(above, 1.0, skipped))
        ahead = forward[page] * below[shown] / evidence[page]
        is_inner = pages.lengths[page] > index + 1
        continued[shown] = np.where(is_inner, np.where(above, 1.0, ahead), 0.0)
    return Hidden(examined, continued, below, evidence[pages.page])


def _backward(pages: Pages, walk: Walk) -> tuple[Floats, Floats, Floats]:
    """Of each result its b and that of the one below, float64[m]; Z of each page, float64[n]."""
    silence, below = np.ones(len(pages.pair)), np.ones(len(pages.pair))
    after, evidence = np.ones(len(pages)), np.ones(len(pages))
    deepest, k = pages.deepest, walk.after_skip
    for index, (page, shown) in reversed(list(enumerate(pages.by_rank()))):
        below[shown] = after[page]
        c = walk.after_click[shown]
        at_last = deepest[page] == index + 1
        evidence[page] = np.where(at_last, 1 - c + c * after[page], evidence[page])
        silence[shown] = (1 - walk.attractiveness[shown]) * (1 - k + k * after[page])
        after[page] = silence[shown]
    return silence, below, np.where(deepest == 0, after, evidence)
