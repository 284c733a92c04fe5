"""Fits the click chain model as PyClick does, for comparison with published results.

Follows Chuklin, Markov & de Rijke (2015), section 4.2.5, with deviations 1 to 4 of `dbn_pyclick`.
In addition, when the attractiveness `a` is updated, the last click counts as a satisfying click of
weight `a / (1 - c d)`, where `c` is the continuation probability and `d` the probability of a click
at a lower rank. For the exact procedure, see `ccm`.
"""

import numpy as np

from builder.clicks.models.ccm import ContinuationProbabilities, create_examination_chain
from builder.clicks.models.dbn_pyclick import (
    is_below_last_click,
    probability_of_click_at_or_below,
    probability_of_no_click_at_top_ranks,
)
from builder.clicks.models.pages import Floats, ResultPages
from builder.clicks.models.probabilities import ExaminationChain
from builder.clicks.models.training import (
    MAX_PROBABILITY,
    TrainedModel,
    TrainingOptions,
    posterior_mean,
)


def fit_ccm_pyclick(pages: ResultPages, options: TrainingOptions) -> TrainedModel:
    """Fit the click chain model as PyClick does: attractiveness and continuation probabilities."""
    weights = pages.weight[pages.page_index].astype(np.float64)
    shown, clicks = pages.sum_by_pair(weights), pages.sum_by_pair(weights * pages.clicked)
    below = is_below_last_click(pages)
    a, continuation = np.full(pages.pairs, 0.5), ContinuationProbabilities()
    for _ in range(options.iterations):
        chain = create_examination_chain(pages, a, continuation)
        ahead, after = probability_of_click_at_or_below(
            pages, chain.attractiveness, continuation.skip
        )
        examined = chain.marginal_click_probabilities(pages) / chain.attractiveness
        missed = (1 - examined) * chain.attractiveness / (1 - examined * ahead)
        content = chain.attractiveness / (1 - chain.after_click * after)
        hidden = np.where(below, missed, 0.0) + np.where(pages.is_deepest_click, content, 0.0)
        continuation = _update_continuation(pages, weights, chain, continuation, options)
        a = posterior_mean(
            clicks + pages.sum_by_pair(weights * hidden),
            shown + clicks,
            options.fixed_prior,
        )
        a = np.minimum(a, MAX_PROBABILITY)
    return TrainedModel(lambda p: create_examination_chain(p, a, continuation), a, a, a * a)


def _update_continuation(
    pages: ResultPages,
    weights: Floats,
    chain: ExaminationChain,
    continuation: ContinuationProbabilities,
    options: TrainingOptions,
) -> ContinuationProbabilities:
    """Return the posterior means of the continuation probabilities, estimated from all ranks."""
    a, examined = chain.attractiveness, chain.forward_pass(pages)[1]
    tail = probability_of_no_click_at_top_ranks(pages, a, continuation.skip)
    last = pages.deepest_click_rank[pages.page_index]
    is_certain = (last == 0) | (pages.rank < last)
    silence = [1 - going + going * tail for going in continuation]
    after_click = (1 - a) * silence[1] + a * silence[2]
    conditions = (
        (
            ~pages.clicked,
            examined,
            examined * continuation.skip,
            1 - examined + examined * silence[0],
        ),
        (pages.clicked, 1 - a, chain.after_click, after_click),
        (pages.clicked, a, chain.after_click, after_click),
    )
    means = []
    for going, silent, condition in zip(continuation, silence, conditions, strict=True):
        flags, prior, above, total = condition
        continued = np.where(is_certain, prior * going / above, prior * going * tail / total)
        could = np.where(is_certain, prior * going / above, prior * silent / total)
        means.append(
            options.estimate_global_probability(
                weights * flags * continued, weights * flags * could
            )
        )
    return ContinuationProbabilities(*means)
