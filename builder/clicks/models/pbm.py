"""Position-based model (Craswell et al. 2008): P(click) = a(query, document) e(rank).

Fitted by expectation-maximization (Chuklin, Markov & de Rijke 2015, section 4.2.3) on the counts
per pair and rank, which are sufficient statistics.
"""

import numpy as np

from builder.clicks.models.pages import ResultPages
from builder.clicks.models.probabilities import IndependentClickProbabilities
from builder.clicks.models.training import (
    MAX_PROBABILITY,
    TrainedModel,
    TrainingOptions,
    gather_by_rank,
    posterior_mean,
)


def fit_pbm(pages: ResultPages, options: TrainingOptions) -> TrainedModel:
    """Fit the position-based model: attractiveness per pair and examination per rank."""
    ranks = int(pages.lengths.max(initial=0))
    cells, where = np.unique(pages.pair * ranks + pages.rank - 1, return_inverse=True)
    counts = pages.click_counts(where, len(cells))
    pair, rank = (cells // ranks, cells % ranks) if ranks else (cells, cells)
    skips = counts.impressions - counts.clicks
    shown_of_pair = np.bincount(pair, weights=counts.impressions, minlength=pages.pairs)
    shown_at_rank = np.bincount(rank, weights=counts.impressions, minlength=ranks)
    a, e = np.full(pages.pairs, 0.5), np.full(ranks, 0.5)
    for _ in range(options.iterations):
        blocked = skips / (1 - a[pair] * e[rank])
        attracted = counts.clicks + blocked * (1 - e[rank]) * a[pair]
        examined = counts.clicks + blocked * (1 - a[pair]) * e[rank]
        attracted_pairs = np.bincount(pair, weights=attracted, minlength=pages.pairs)
        examined_ranks = np.bincount(rank, weights=examined, minlength=ranks)
        a = np.minimum(
            posterior_mean(attracted_pairs, shown_of_pair, options.fixed_prior),
            MAX_PROBABILITY,
        )
        e = np.minimum(
            posterior_mean(examined_ranks, shown_at_rank, options.fixed_prior),
            MAX_PROBABILITY,
        )
    return TrainedModel(
        lambda p: IndependentClickProbabilities(
            a[p.pair], gather_by_rank(e, p, options.fixed_prior.mean)
        ),
        a,
        None,
        a,
    )
