"""Click chain model (Guo et al. 2009), fitted by exact expectation-maximization.

Parameters: attractiveness a of each query-document pair, which is also the probability that a
clicked result satisfies the user (Chuklin, Markov & de Rijke 2015, section 3.9), and three
continuation probabilities: after a skip, after an unsatisfying click and after a satisfying one.
"""

from typing import NamedTuple

import numpy as np

from builder.clicks.models.inference import ExaminationPosterior, infer_examination
from builder.clicks.models.pages import Floats, ResultPages
from builder.clicks.models.probabilities import ExaminationChain
from builder.clicks.models.training import (
    MAX_PROBABILITY,
    TrainedModel,
    TrainingOptions,
    posterior_mean,
)


class ContinuationProbabilities(NamedTuple):
    """Probabilities that a user examines the next result, by the outcome at the current one.

    Args:
        skip: Probability after an examined result without a click (alpha 1 in the paper).
        unsatisfied: Probability after an unsatisfying click (alpha 2).
        satisfied: Probability after a satisfying click (alpha 3).
    """

    skip: float = 0.5
    unsatisfied: float = 0.5
    satisfied: float = 0.5


def fit_ccm(pages: ResultPages, options: TrainingOptions) -> TrainedModel:
    """Fit the click chain model: attractiveness a per pair, and three continuation probabilities.

    The relevance of a pair is a².
    """
    weights = pages.weight[pages.page_index].astype(np.float64)
    clicks = pages.sum_by_pair(weights * pages.clicked)
    a, continuation = np.full(pages.pairs, 0.5), ContinuationProbabilities()
    for _ in range(options.iterations):
        posterior = infer_examination(pages, create_examination_chain(pages, a, continuation))
        satisfied = posterior_satisfaction(pages, a[pages.pair], continuation, posterior)
        successes = clicks + pages.sum_by_pair(weights * satisfied)
        trials = pages.sum_by_pair(weights * posterior.examined) + clicks
        continuation = _update_continuation(
            pages, weights, a[pages.pair], continuation, posterior, options
        )
        a = np.minimum(posterior_mean(successes, trials, options.fixed_prior), MAX_PROBABILITY)
    return TrainedModel(lambda p: create_examination_chain(p, a, continuation), a, a, a * a)


def create_examination_chain(
    pages: ResultPages, a: Floats, continuation: ContinuationProbabilities
) -> ExaminationChain:
    """Return the examination chain of result pages, given the attractiveness a of each pair."""
    shown = a[pages.pair]
    after_click = (1 - shown) * continuation.unsatisfied + shown * continuation.satisfied
    return ExaminationChain(shown, after_click, continuation.skip)


def posterior_satisfaction(
    pages: ResultPages,
    attractiveness: Floats,
    continuation: ContinuationProbabilities,
    examination_posterior: ExaminationPosterior,
) -> Floats:
    """Return P(clicked and satisfied | clicks) of each shown result, float64[m].

    Args:
        pages: Result pages with m shown results.
        attractiveness: Attractiveness of each shown result, float64[m].
        continuation: Continuation probabilities.
        examination_posterior: Posterior probabilities of examination, given the clicks.
    """
    _, unsatisfied, satisfied = continuation
    after_click = (1 - attractiveness) * unsatisfied + attractiveness * satisfied
    silent = 1 - satisfied + satisfied * examination_posterior.no_click_below
    at_last = attractiveness * silent / examination_posterior.evidence
    above = attractiveness * satisfied / after_click
    return np.where(pages.is_deepest_click, at_last, np.where(pages.clicked, above, 0.0))


def _update_continuation(
    pages: ResultPages,
    weights: Floats,
    a: Floats,
    continuation: ContinuationProbabilities,
    posterior: ExaminationPosterior,
    options: TrainingOptions,
) -> ContinuationProbabilities:
    """Return the posterior means of the continuation probabilities.

    All ranks except the last rank of each page contribute.
    """
    satisfied = posterior_satisfaction(pages, a, continuation, posterior)
    after_click = (1 - a) * continuation.unsatisfied + a * continuation.satisfied
    share = a * continuation.satisfied / after_click
    skipped = ~pages.clicked
    parts = (
        (skipped * posterior.continued, skipped * posterior.examined),
        (pages.clicked * (1 - share) * posterior.continued, pages.clicked - satisfied),
        (pages.clicked * share * posterior.continued, satisfied),
    )
    inner = weights * (pages.rank < pages.lengths[pages.page_index])
    return ContinuationProbabilities(
        *(options.estimate_global_probability(inner * on, inner * could) for on, could in parts)
    )
