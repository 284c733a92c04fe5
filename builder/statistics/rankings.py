"""Correlation of two rankings of the same items, such as systems in two snapshots.

- Kendall's tau-b (Kendall 1945), vectorized over bootstrap resamples. `scipy.stats.kendalltau`
  takes only two vectors per call, so 1,000 resamples of 7 measures take 4.6 s instead of 2 ms.
- Extrapolated rank-biased overlap (Webber, Moffat & Zobel 2010, equation 32), with ties as in RBO^w
  (Corsi & Urbano 2024): tied systems all get their minimum rank, and the agreement at depth d is
  2 |A ∩ B| / (|A| + |B|), where A and B are the systems ranked up to d.
- Spearman's correlation of integers, with exact sums.
"""

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]

DEFAULT_RBO_P = 0.9
TIE_TOLERANCE = 1e-12
"""Maximum difference between tied scores; rounding errors of means in [0, 1] are smaller."""
DECIMALS = 12
"""Number of decimals to which Spearman's correlation is rounded.

Rounding hides the last bits of square roots, which differ between C libraries.
"""


def kendall_tau_b(first: Floats, second: Floats) -> Floats:
    """Compute Kendall's tau-b along the last axis.

    Args:
        first: Scores in the first ranking, shape (..., systems); differences up to 1e-12 are ties.
        second: Scores in the second ranking, same shape.

    Returns:
        tau-b in [-1, 1], shape (...); NaN if there are fewer than two systems, all scores of one
        ranking are tied, or a score is NaN.
    """
    i, j = np.triu_indices(first.shape[-1], k=1)
    a, b = (_sign_with_ties(scores[..., i] - scores[..., j]) for scores in (first, second))
    spread = np.sqrt((a * a).sum(axis=-1) * (b * b).sum(axis=-1))
    out = np.full(spread.shape, np.nan)
    np.divide((a * b).sum(axis=-1), spread, out=out, where=spread > 0)
    return out


def _sign_with_ties(difference: Floats) -> Floats:
    sign = np.where(np.abs(difference) <= TIE_TOLERANCE, 0.0, np.sign(difference))
    return np.where(np.isnan(difference), np.nan, sign)


def rank_biased_overlap(first: Floats, second: Floats, p: float = DEFAULT_RBO_P) -> Floats:
    """Compute the extrapolated rank-biased overlap of two complete rankings of the same systems.

    Args:
        first: Scores in the first ranking, shape (..., systems); higher is better, and differences
            up to 1e-12 are ties.
        second: Scores in the second ranking, same shape.
        p: Persistence, the probability of continuing to the next rank, in (0, 1).

    Returns:
        RBO in (0, 1], shape (...); NaN if there are no systems or a score is NaN.
    """
    systems = first.shape[-1]
    if systems == 0:
        return np.full(first.shape[:-1], np.nan)
    a, b = _min_ranks(first), _min_ranks(second)
    agreement = np.stack(
        [_agreement_at_depth(a, b, depth) for depth in range(1, systems + 1)], axis=-1
    )
    weights = (1 - p) / p * p ** np.arange(1, systems + 1)
    overlap = (agreement * weights).sum(axis=-1) + agreement[..., -1] * p**systems
    undefined = np.isnan(first).any(axis=-1) | np.isnan(second).any(axis=-1)
    return np.where(undefined, np.nan, overlap)


def _min_ranks(scores: Floats) -> Floats:
    """Return the minimum rank of each system: 1 + the number of systems with a higher score."""
    better = scores[..., None, :] - scores[..., :, None] > TIE_TOLERANCE
    return np.asarray(better.sum(axis=-1) + 1, dtype=np.float64)


def _agreement_at_depth(first_ranks: Floats, second_ranks: Floats, depth: int) -> Floats:
    a, b = first_ranks <= depth, second_ranks <= depth
    sizes = a.sum(axis=-1) + b.sum(axis=-1)
    return np.asarray(2 * (a & b).sum(axis=-1) / sizes, dtype=np.float64)


def spearman_correlation(pairs: Sequence[tuple[int, int]]) -> float | None:
    """Compute Spearman's rank correlation of pairs of integers.

    Returns None if all first or all second elements of the pairs are equal.
    """
    first = _doubled_ranks([a for a, _ in pairs])
    second = _doubled_ranks([b for _, b in pairs])
    mean = len(pairs) + 1
    product = sum((a - mean) * (b - mean) for a, b in zip(first, second, strict=True))
    squares = sum((a - mean) ** 2 for a in first) * sum((b - mean) ** 2 for b in second)
    return round(product / math.sqrt(squares), DECIMALS) if squares else None


def _doubled_ranks(values: Sequence[int]) -> list[int]:
    """Return twice the average rank of each value; doubling keeps the ranks of ties integral."""
    counts: dict[int, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    ranks, before = {}, 0
    for value in sorted(counts):
        ranks[value] = 2 * before + counts[value] + 1
        before += counts[value]
    return [ranks[value] for value in values]
