"""Agreement of two rankings of the same systems, such as those of two snapshots.

In: scores of the systems in both. Out, on arrays of rankings, NaN where undefined:

- Kendall's tau-b (Kendall 1945);
- extrapolated rank-biased overlap (Webber, Moffat & Zobel 2010, equation 32) with their treatment
  of ties (RBO^w of Corsi & Urbano 2024): tied systems share the best of their ranks, and the
  agreement at depth d is 2 |A and B| / (|A| + |B|).
"""

import numpy as np

from builder.evaluation.family import Floats
from builder.evaluation.persistence import ZERO

DEFAULT_RBO_P = 0.9


def kendall_tau_b(first: Floats, second: Floats) -> Floats:
    """Kendall's tau-b along the last axis.

    Args:
        first: Scores, shape (..., systems); differences up to 1e-12 are ties.
        second: Scores, the same shape.

    Returns:
        tau-b in [-1, 1], shape (...); NaN for fewer than two systems, where all scores of one
        side are tied, or where a score is NaN.
    """
    i, j = np.triu_indices(first.shape[-1], k=1)
    a, b = (_sign(scores[..., i] - scores[..., j]) for scores in (first, second))
    spread = np.sqrt((a * a).sum(axis=-1) * (b * b).sum(axis=-1))
    out = np.full(spread.shape, np.nan)
    np.divide((a * b).sum(axis=-1), spread, out=out, where=spread > 0)
    return out


def _sign(difference: Floats) -> Floats:
    sign = np.where(np.abs(difference) <= ZERO, 0.0, np.sign(difference))
    return np.where(np.isnan(difference), np.nan, sign)


def rank_biased_overlap(first: Floats, second: Floats, p: float = DEFAULT_RBO_P) -> Floats:
    """Extrapolated rank-biased overlap of two complete rankings of the same systems.

    Args:
        first: Scores, shape (..., systems); higher is better, differences up to 1e-12 are ties.
        second: Scores, the same shape.
        p: Persistence: the probability of looking at the next rank, in (0, 1).

    Returns:
        RBO in (0, 1], shape (...); NaN without systems, or where a score is NaN.
    """
    systems = first.shape[-1]
    if systems == 0:
        return np.full(first.shape[:-1], np.nan)
    a, b = _best_ranks(first), _best_ranks(second)
    agreement = np.stack([_agreement(a, b, depth) for depth in range(1, systems + 1)], axis=-1)
    weights = (1 - p) / p * p ** np.arange(1, systems + 1)
    overlap = (agreement * weights).sum(axis=-1) + agreement[..., -1] * p**systems
    broken = np.isnan(first).any(axis=-1) | np.isnan(second).any(axis=-1)
    return np.where(broken, np.nan, overlap)


def _best_ranks(scores: Floats) -> Floats:
    """1 + the number of strictly better systems, for each system."""
    better = scores[..., None, :] - scores[..., :, None] > ZERO
    return np.asarray(better.sum(axis=-1) + 1, dtype=np.float64)


def _agreement(first: Floats, second: Floats, depth: int) -> Floats:
    a, b = first <= depth, second <= depth
    sizes = a.sum(axis=-1) + b.sum(axis=-1)
    return np.asarray(2 * (a & b).sum(axis=-1) / sizes, dtype=np.float64)
