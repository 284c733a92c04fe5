"""Click-through-rate baselines: global, per rank, per query-document pair.

Chuklin, Markov & de Rijke (2015), section 3.1: RCM, RCTR and DCTR.
"""

import numpy as np

from builder.clicks.models.pages import Pages
from builder.clicks.models.probabilities import Grid
from builder.clicks.models.training import Trained, Training, at_rank


def global_ctr(pages: Pages, training: Training) -> Trained:
    """P(click) is one number."""
    everything = pages.statistics(np.zeros(len(pages.pair), dtype=np.int64), 1)
    rate = training.of_few(everything.clicks, everything.impressions)[0]
    constant = np.full(pages.pairs, rate)
    return Trained(lambda p: _grid(constant[p.pair]), constant, None, constant)


def rank_ctr(pages: Pages, training: Training) -> Trained:
    """P(click) depends on the rank alone."""
    ranks = pages.statistics(pages.rank - 1, int(pages.lengths.max(initial=0)))
    rates = training.of_few(ranks.clicks, ranks.impressions)
    return Trained(lambda p: _grid(at_rank(rates, p, training.fixed.mean)))


def document_ctr(pages: Pages, training: Training) -> Trained:
    """P(click) depends on the query and the document."""
    pairs = pages.statistics(pages.pair, pages.pairs)
    rates = training.of_pairs(pairs.clicks, pairs.impressions)
    return Trained(lambda p: _grid(rates[p.pair]), rates, None, rates)


def _grid(rates: np.ndarray) -> Grid:
    return Grid(rates, np.ones(len(rates)))
