"""Click-through-rate baselines: global, per rank, per query-document pair.

Chuklin, Markov & de Rijke (2015), section 3.1: RCM, RCTR and DCTR.
"""

import numpy as np

from builder.clicks.models.pages import ResultPages
from builder.clicks.models.probabilities import IndependentClickProbabilities
from builder.clicks.models.training import TrainedModel, TrainingOptions, gather_by_rank


def fit_global_ctr(pages: ResultPages, options: TrainingOptions) -> TrainedModel:
    """Estimate a single click probability for all results."""
    everything = pages.click_counts(np.zeros(len(pages.pair), dtype=np.int64), 1)
    rate = options.estimate_by_group(everything.clicks, everything.impressions)[0]
    constant = np.full(pages.pairs, rate)
    return TrainedModel(
        lambda p: _independent_click_probabilities(constant[p.pair]), constant, None, constant
    )


def fit_rank_ctr(pages: ResultPages, options: TrainingOptions) -> TrainedModel:
    """Estimate one click probability per rank."""
    ranks = pages.click_counts(pages.rank - 1, int(pages.lengths.max(initial=0)))
    rates = options.estimate_by_group(ranks.clicks, ranks.impressions)
    return TrainedModel(
        lambda p: _independent_click_probabilities(
            gather_by_rank(rates, p, options.fixed_prior.mean)
        )
    )


def fit_document_ctr(pages: ResultPages, options: TrainingOptions) -> TrainedModel:
    """Estimate one click probability per query-document pair."""
    pairs = pages.click_counts(pages.pair, pages.pairs)
    rates = options.estimate_by_pair(pairs.clicks, pairs.impressions)
    return TrainedModel(
        lambda p: _independent_click_probabilities(rates[p.pair]), rates, None, rates
    )


def _independent_click_probabilities(rates: np.ndarray) -> IndependentClickProbabilities:
    """Return the click probabilities of results that are clicked independently at given rates."""
    return IndependentClickProbabilities(rates, np.ones(len(rates)))
