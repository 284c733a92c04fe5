"""Tests of significance: t-tests of mean scores, z-tests, Holm's correction, normality.

In: arrays of scores whose first axis is the query. Out: statistic and two-sided p of scipy for
every other position, NaN where a test is undefined (too few queries, or no variance).

- Unpaired, pooled variance (Student): one system at t against itself at t' (Breuer et al. 2020 for
  replicability; Keller et al. 2024, table 1, column p-val). Without pooling: Welch's test.
- Paired: a system against the pivot in one snapshot (Keller et al. 2024, table 1, the asterisk).
- Holm 1979 controls the family-wise error over all systems that are compared with one pivot. The
  function of statsmodels takes one family per call, no missing p-values, and collects garbage
  every time: 337 ms per family, ours 0.03 ms; an evaluation has dozens of families.
"""

import math
import warnings
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special, stats

Floats: TypeAlias = npt.NDArray[np.float64]

NO_VARIANCE = 1e-12
"""Standard deviations at or below this are rounding: scores lie in [0, 1]."""
P_VALUE_PIECES = (
    (0.200, (-13.436, 101.14, -223.73), True),
    (0.340, (-8.318, 42.796, -59.938), True),
    (0.600, (0.9177, -4.279, -1.38), False),
    (13.0, (1.2937, -5.709, 0.0186), False),
)
"""A* below which a piece holds, coefficients of its exponent, whether p is one minus the power."""


@dataclass(frozen=True, slots=True)
class Normality:
    """The Anderson-Darling test.

    Args:
        statistic: A^2, without the small-sample factor.
        p: Its approximate p-value; 0 stands for less than 1e-30.
    """

    statistic: float
    p: float


def unpaired(before: Floats, after: Floats, *, pooled: bool = True) -> tuple[Floats, Floats]:
    """Unpaired two-sided t-test: Student's with pooled variance, or Welch's.

    Args:
        before: Shape (n, ...).
        after: Shape (m, ...), the same trailing shape.
        pooled: Whether both sides have one variance (Student); otherwise Welch's test, which needs
            two values on each side.

    Returns:
        t (positive where `before` has the higher mean) and p, of the trailing shape.
    """
    n, m = len(before), len(after)
    least = 1 if pooled else 2
    if min(n, m) < least or n + m < 3:
        return _undefined(before)
    squares = [((scores - scores.mean(axis=0)) ** 2).sum(axis=0) for scores in (before, after)]
    first, second = (np.sqrt(s / max(k - 1, 1)) for s, k in zip(squares, (n, m), strict=True))
    with np.errstate(all="ignore"):
        test = stats.ttest_ind_from_stats(
            before.mean(axis=0), first, n, after.mean(axis=0), second, m, equal_var=pooled
        )
    return _defined(test.statistic, test.pvalue, np.sqrt(sum(squares) / (n + m - 2)))


def paired(differences: Floats) -> tuple[Floats, Floats]:
    """Paired two-sided Student t-test.

    Args:
        differences: Score of the system minus that of the pivot, shape (n, ...).

    Returns:
        t (positive where the system is better) and p, of the trailing shape.
    """
    if len(differences) < 2:
        return _undefined(differences)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of scores that do not vary
        test = stats.ttest_1samp(differences, 0.0, axis=0)
    return _defined(test.statistic, test.pvalue, differences.std(axis=0, ddof=1))


def _undefined(scores: Floats) -> tuple[Floats, Floats]:
    return np.full(scores.shape[1:], np.nan), np.full(scores.shape[1:], np.nan)


def _defined(statistic: object, p: object, deviation: Floats) -> tuple[Floats, Floats]:
    """A test where the scores vary, NaN elsewhere."""
    varies = deviation > NO_VARIANCE
    t, two_sided = (np.asarray(value, dtype=np.float64) for value in (statistic, p))
    return np.where(varies, t, np.nan), np.where(varies, two_sided, np.nan)


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


def student_two_sided(statistic: float, df: float) -> float:
    """P(|T| >= |statistic|) of Student's t distribution with `df` degrees of freedom."""
    return min(1.0, 2.0 * float(special.stdtr(df, -abs(statistic))))


def normal_two_sided(statistic: float) -> float:
    """P(|Z| >= |statistic|) of the standard normal distribution."""
    return math.erfc(abs(statistic) / math.sqrt(2.0))


def anderson_darling(values: Floats) -> Normality:
    """Test n >= 3 values, not all equal, for a normal distribution.

    The case of unknown mean and variance. The p-value is the piecewise approximation to
    A* = A^2 (1 + 0.75/n + 2.25/n^2) of D'Agostino and Stephens (1986), Table 4.9. scipy's p-value
    is cut at 0.01 and 0.15, and statsmodels' statistic is infinite for a value 9 standard
    deviations from the mean.
    """
    n = len(values)
    test = stats.anderson(values, "norm", method="interpolate")  # type: ignore[call-overload]
    statistic = float(test.statistic)
    return Normality(statistic, _p_value(statistic * (1.0 + 0.75 / n + 2.25 / n**2)))


def _p_value(adjusted: float) -> float:
    for bound, (constant, linear, square), upper in P_VALUE_PIECES:
        if adjusted < bound:
            power = math.exp(constant + linear * adjusted + square * adjusted**2)
            return 1.0 - power if upper else power
    return 0.0
