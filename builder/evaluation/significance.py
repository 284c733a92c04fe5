"""Student's t-tests on per-query scores, and Holm's correction.

In: arrays of scores whose first axis is the query. Out: t and two-sided p for every other position,
NaN where a test is undefined (fewer than two queries, or no variance).

- Unpaired, equal variances: one system at t against itself at t' (Breuer et al. 2020 for
  replicability; Keller et al. 2024, table 1, column p-val); also with Welch's correction for
  unequal variances.
- Paired: a system against the pivot in one snapshot (Keller et al. 2024, table 1, the asterisk).
- Holm 1979 controls the family-wise error over all systems that are compared with one pivot.
"""

import numpy as np

from builder.evaluation.extras import load
from builder.evaluation.family import Floats

NO_VARIANCE = 1e-12
"""Standard deviations at or below this are rounding: scores lie in [0, 1]."""


def unpaired(before: Floats, after: Floats) -> tuple[Floats, Floats]:
    """Unpaired two-sided Student t-test with pooled variance.

    Args:
        before: Shape (n, ...).
        after: Shape (m, ...), the same trailing shape.

    Returns:
        t (positive where `before` has the higher mean) and p, of the trailing shape.
    """
    n, m = len(before), len(after)
    if min(n, m) < 1 or n + m < 3:
        return _undefined(before)
    squares = ((before - before.mean(axis=0)) ** 2).sum(axis=0)
    squares = squares + ((after - after.mean(axis=0)) ** 2).sum(axis=0)
    deviation = np.sqrt(squares / (n + m - 2))
    error = deviation * np.sqrt(1 / n + 1 / m)
    return _two_sided(before.mean(axis=0) - after.mean(axis=0), error, deviation, n + m - 2)


def welch(before: Floats, after: Floats) -> Floats:
    """Welch's unpaired two-sided t-test, for unequal variances (Welch 1947).

    Args:
        before: Shape (n, ...).
        after: Shape (m, ...), the same trailing shape.

    Returns:
        p, of the trailing shape; NaN with fewer than two queries on a side or without variance.
    """
    if min(len(before), len(after)) < 2:
        return _undefined(before)[0]
    stats = load("scipy.stats", "a significance test", "evaluation")
    described = [
        part
        for scores in (before, after)
        for part in (scores.mean(axis=0), scores.std(axis=0, ddof=1), len(scores))
    ]
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.asarray(stats.ttest_ind_from_stats(*described, equal_var=False).pvalue)
    varies = np.maximum(described[1], described[4]) > NO_VARIANCE
    return np.where(varies, p, np.nan)


def paired(differences: Floats) -> tuple[Floats, Floats]:
    """Paired two-sided Student t-test.

    Args:
        differences: Score of the system minus that of the pivot, shape (n, ...).

    Returns:
        t (positive where the system is better) and p, of the trailing shape.
    """
    n = len(differences)
    if n < 2:
        return _undefined(differences)
    deviation = differences.std(axis=0, ddof=1)
    return _two_sided(differences.mean(axis=0), deviation / np.sqrt(n), deviation, n - 1)


def _undefined(scores: Floats) -> tuple[Floats, Floats]:
    return np.full(scores.shape[1:], np.nan), np.full(scores.shape[1:], np.nan)


def _two_sided(
    difference: Floats, error: Floats, deviation: Floats, freedom: int
) -> tuple[Floats, Floats]:
    special = load("scipy.special", "a significance test", "evaluation")
    t = np.full(np.shape(difference), np.nan)
    np.divide(difference, error, out=t, where=deviation > NO_VARIANCE)
    return t, np.asarray(2 * special.stdtr(freedom, -np.abs(t)), dtype=np.float64)


def holm(p: Floats) -> Floats:
    """Holm's step-down adjusted p-values along the first axis; NaN entries are not tests.

    Args:
        p: p-values of one family per trailing position, shape (tests, ...).
    """
    order = np.argsort(p, axis=0, kind="stable")
    ascending = np.take_along_axis(p, order, axis=0)
    tests = np.sum(~np.isnan(p), axis=0)
    steps = np.arange(len(p)).reshape(-1, *([1] * (p.ndim - 1)))
    stepped = np.maximum.accumulate(ascending * np.maximum(tests - steps, 1), axis=0)
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, np.minimum(stepped, 1.0), axis=0)
    return adjusted
