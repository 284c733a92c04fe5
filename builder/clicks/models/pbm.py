"""Position-based model (Craswell et al. 2008): a click needs attraction and examination.

P(click) = a(query, document) e(rank), fitted by expectation-maximisation (Chuklin, Markov &
de Rijke 2015, section 4.2.3) over the counts of every pair at every rank, which are sufficient
statistics.
"""

import numpy as np

from builder.clicks.models.pages import Pages
from builder.clicks.models.probabilities import Grid
from builder.clicks.models.training import CERTAIN, Trained, Training, at_rank, mean


def pbm(pages: Pages, training: Training) -> Trained:
    """Attractiveness by pair, examination by rank."""
    ranks = int(pages.lengths.max(initial=0))
    cells, where = np.unique(pages.pair * ranks + pages.rank - 1, return_inverse=True)
    counts = pages.statistics(where, len(cells))
    pair, rank = (cells // ranks, cells % ranks) if ranks else (cells, cells)
    skips = counts.impressions - counts.clicks
    shown_of_pair = np.bincount(pair, weights=counts.impressions, minlength=pages.pairs)
    shown_at_rank = np.bincount(rank, weights=counts.impressions, minlength=ranks)
    a, e = np.full(pages.pairs, 0.5), np.full(ranks, 0.5)
    for _ in range(training.iterations):
        blocked = skips / (1 - a[pair] * e[rank])
        attracted = counts.clicks + blocked * (1 - e[rank]) * a[pair]
        examined = counts.clicks + blocked * (1 - a[pair]) * e[rank]
        attracted_pairs = np.bincount(pair, weights=attracted, minlength=pages.pairs)
        examined_ranks = np.bincount(rank, weights=examined, minlength=ranks)
        a = np.minimum(mean(attracted_pairs, shown_of_pair, training.fixed), CERTAIN)
        e = np.minimum(mean(examined_ranks, shown_at_rank, training.fixed), CERTAIN)
    return Trained(lambda p: Grid(a[p.pair], at_rank(e, p, training.fixed.mean)), a, None, a)
