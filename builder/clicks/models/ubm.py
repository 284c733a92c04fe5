"""User browsing model (Dupret & Piwowarski 2008): examination depends on rank and previous click.

P(click | previous click at r') = a(query, document) gamma(rank, r'), fitted by
expectation-maximization (section 3.2 of the paper) on the counts per pair, rank and previous click,
which are sufficient statistics.
"""

import numpy as np

from builder.clicks.models.browsing import BrowsingClickProbabilities
from builder.clicks.models.pages import ResultPages
from builder.clicks.models.training import (
    MAX_PROBABILITY,
    TrainedModel,
    TrainingOptions,
    posterior_mean,
)


def fit_ubm(pages: ResultPages, options: TrainingOptions) -> TrainedModel:
    """Fit the UBM: attractiveness per pair, and examination per rank and previous click."""
    ranks = int(pages.lengths.max(initial=0))
    context = (pages.rank - 1) * ranks + pages.previous_click_rank
    cells, inverse = np.unique(pages.pair * ranks**2 + context, return_inverse=True)
    counts = pages.click_counts(inverse, len(cells))
    pair, at = (cells // ranks**2, cells % ranks**2) if ranks else (cells, cells)
    skips = counts.impressions - counts.clicks
    shown_of_pair = np.bincount(pair, weights=counts.impressions, minlength=pages.pairs)
    shown_in_context = np.bincount(at, weights=counts.impressions, minlength=ranks**2)
    a, gamma = np.full(pages.pairs, 0.5), np.full(ranks**2, 0.5)
    for _ in range(options.iterations):
        skipped = skips / (1 - a[pair] * gamma[at])
        attracted = counts.clicks + skipped * (1 - gamma[at]) * a[pair]
        examined = counts.clicks + skipped * (1 - a[pair]) * gamma[at]
        attracted_pairs = np.bincount(pair, weights=attracted, minlength=pages.pairs)
        examined_contexts = np.bincount(at, weights=examined, minlength=ranks**2)
        a = np.minimum(
            posterior_mean(attracted_pairs, shown_of_pair, options.fixed_prior),
            MAX_PROBABILITY,
        )
        gamma = np.minimum(
            posterior_mean(examined_contexts, shown_in_context, options.fixed_prior),
            MAX_PROBABILITY,
        )
    table, beyond = gamma.reshape(ranks, ranks), options.fixed_prior.mean
    return TrainedModel(lambda p: BrowsingClickProbabilities(a[p.pair], table, beyond), a, None, a)
