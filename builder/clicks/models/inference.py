"""Posterior probabilities of the hidden variables of an `ExaminationChain`, given the clicks.

Let a be the attractiveness, and c and k the continuation probabilities after a click and after a
skip. All ranks down to the last click are examined; below it, the chain has no clicks. With
b_r = P(no click from rank r on | r examined) = (1 - a_r)(1 - k + k b_{r+1}), the posterior of the
chain is its forward weight times b_r, divided by the evidence Z, the probability of no click below
the last click. This is the forward-backward recursion of Chapelle & Zhang (2009, appendix), in
closed form because there is no click below the last click.
"""

from dataclasses import dataclass

import numpy as np

from builder.clicks.models.pages import Floats, ResultPages
from builder.clicks.models.probabilities import ExaminationChain


@dataclass(frozen=True)
class ExaminationPosterior:
    """Result of `infer_examination` for m shown results, float64[m] each.

    Args:
        examined: P(result examined | clicks).
        continued: P(next result examined | clicks); 0 at the last rank.
        no_click_below: P(no click below | next result examined); 1 at the last rank.
        evidence: P(no click below the last click) on the page that contains the result.
    """

    examined: Floats
    continued: Floats
    no_click_below: Floats
    evidence: Floats


def infer_examination(pages: ResultPages, chain: ExaminationChain) -> ExaminationPosterior:
    """Compute the posterior probabilities that results are examined, given the clicks.

    Args:
        pages: n pages with m results.
        chain: Examination chain of these pages.
    """
    silence, below, evidence = _backward_pass(pages, chain)
    deepest, k = pages.deepest_click_rank, chain.after_skip
    examined, continued = np.zeros(len(silence)), np.zeros(len(silence))
    forward = np.ones(len(pages))
    for index, (page, shown) in enumerate(pages.indices_by_rank()):
        above = deepest[page] > index + 1
        at = deepest[page] == index + 1
        under = deepest[page] < index + 1
        examined[shown] = np.where(under, forward[page] * silence[shown] / evidence[page], 1.0)
        skipped = forward[page] * (1 - chain.attractiveness[shown]) * k
        forward[page] = np.where(at, chain.after_click[shown], np.where(above, 1.0, skipped))
        ahead = forward[page] * below[shown] / evidence[page]
        is_inner = pages.lengths[page] > index + 1
        continued[shown] = np.where(is_inner, np.where(above, 1.0, ahead), 0.0)
    return ExaminationPosterior(examined, continued, below, evidence[pages.page_index])


def _backward_pass(pages: ResultPages, chain: ExaminationChain) -> tuple[Floats, Floats, Floats]:
    """Compute the probabilities of no further click, from the last rank to the first.

    Returns:
        P(no click at or below | examined) of each result and of the result below it, float64[m]
        each; P(no click below the last click) of each page, float64[n].
    """
    silence, below = np.ones(len(pages.pair)), np.ones(len(pages.pair))
    after, evidence = np.ones(len(pages)), np.ones(len(pages))
    deepest, k = pages.deepest_click_rank, chain.after_skip
    for index, (page, shown) in reversed(list(enumerate(pages.indices_by_rank()))):
        below[shown] = after[page]
        c = chain.after_click[shown]
        at_last = deepest[page] == index + 1
        evidence[page] = np.where(at_last, 1 - c + c * after[page], evidence[page])
        silence[shown] = (1 - chain.attractiveness[shown]) * (1 - k + k * after[page])
        after[page] = silence[shown]
    return silence, below, np.where(deepest == 0, after, evidence)
