"""Significance tests: t-tests of mean scores, Holm's correction and a normality test.

The t-tests take arrays of scores whose first axis is the query, and run a separate test along this
axis for each index of the other axes. They return the statistic and the two-sided p-value of scipy,
or NaN if the test is undefined (too few queries or no variance).

- The unpaired t-test with pooled variance (Student) compares a system in two snapshots (Breuer et
  al. 2020; Keller et al. 2024, table 1, column p-val). Welch's test does not pool the variance.
- The paired t-test compares a system with the pivot in one snapshot (Keller et al. 2024, table 1,
  asterisk).
- Fisher's exact test compares the shares of rows in two snapshots (drift checks).
- The exact binomial test detects topics with missing queries (drift checks).
- The lower tail of the chi-square distribution detects counts that vary too little (drift checks).
- Holm's correction (Holm 1979) controls the family-wise error rate over all systems compared with
  a pivot. statsmodels supports only one family per call and no missing p-values, and takes 337 ms
  per family instead of 0.03 ms.
"""

import math
import warnings
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy

Floats: TypeAlias = npt.NDArray[np.float64]

MAX_ROUNDING_DEVIATION = 1e-12
"""Maximum standard deviation of scores in [0, 1] that is attributed to rounding errors."""
P_VALUE_SEGMENTS = (
    (0.200, (-13.436, 101.14, -223.73), True),
    (0.340, (-8.318, 42.796, -59.938), True),
    (0.600, (0.9177, -4.279, -1.38), False),
    (13.0, (1.2937, -5.709, 0.0186), False),
)
"""Segments of the p-value approximation in `anderson_darling`.

Each segment has an upper bound of A*, the coefficients of a quadratic polynomial in A*, and whether
the exponential of the polynomial is subtracted from 1.
"""


@dataclass(frozen=True, slots=True)
class AndersonDarlingTest:
    """Result of an Anderson-Darling test of normality.

    Args:
        statistic: A^2, without the small-sample correction.
        p: Approximate p-value; 0 means less than 1e-30.
    """

    statistic: float
    p: float


def unpaired_t_test(before: Floats, after: Floats, *, pooled: bool = True) -> tuple[Floats, Floats]:
    """Perform an unpaired two-sided t-test, Student's or Welch's.

    Args:
        before: Scores of shape (n, ...).
        after: Scores of shape (m, ...), with the same trailing axes as `before`.
        pooled: Whether to pool the variance (Student's test); otherwise Welch's test, which needs
            two values in each sample.

    Returns:
        t (positive if `before` has the higher mean) and p, each of shape (...).
    """
    n, m = len(before), len(after)
    min_size = 1 if pooled else 2
    if min(n, m) < min_size or n + m < 3:
        return _undefined_test_result(before)
    squares = [((scores - scores.mean(axis=0)) ** 2).sum(axis=0) for scores in (before, after)]
    first, second = (np.sqrt(s / max(k - 1, 1)) for s, k in zip(squares, (n, m), strict=True))
    with np.errstate(all="ignore"):
        test = scipy.stats.ttest_ind_from_stats(
            before.mean(axis=0), first, n, after.mean(axis=0), second, m, equal_var=pooled
        )
    return _mask_constant_scores(test.statistic, test.pvalue, np.sqrt(sum(squares) / (n + m - 2)))


def paired_t_test(differences: Floats) -> tuple[Floats, Floats]:
    """Perform a paired two-sided t-test.

    Args:
        differences: Score of the system minus score of the pivot, shape (n, ...).

    Returns:
        t (positive if the system is better) and p, each of shape (...).
    """
    if len(differences) < 2:
        return _undefined_test_result(differences)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # raised for constant scores
        test = scipy.stats.ttest_1samp(differences, 0.0, axis=0)
    return _mask_constant_scores(test.statistic, test.pvalue, differences.std(axis=0, ddof=1))


def _undefined_test_result(scores: Floats) -> tuple[Floats, Floats]:
    return np.full(scores.shape[1:], np.nan), np.full(scores.shape[1:], np.nan)


def _mask_constant_scores(statistic: object, p: object, deviation: Floats) -> tuple[Floats, Floats]:
    """Replace the statistic and the p-value by NaN where the scores are constant."""
    varies = deviation > MAX_ROUNDING_DEVIATION
    t, two_sided = (np.asarray(value, dtype=np.float64) for value in (statistic, p))
    return np.where(varies, t, np.nan), np.where(varies, two_sided, np.nan)


def holm_adjust(p_values: Floats) -> Floats:
    """Adjust p-values along the first axis by Holm's step-down method, ignoring NaN.

    Args:
        p_values: p-values of shape (tests, ...); each family of tests lies along the first axis.
    """
    order = np.argsort(p_values, axis=0, kind="stable")
    ascending = np.take_along_axis(p_values, order, axis=0)
    tests = np.sum(~np.isnan(p_values), axis=0)
    steps = np.arange(len(p_values)).reshape(-1, *([1] * (p_values.ndim - 1)))
    stepped = np.maximum.accumulate(ascending * np.maximum(tests - steps, 1), axis=0)
    adjusted = np.empty_like(p_values)
    np.put_along_axis(adjusted, order, np.minimum(stepped, 1.0), axis=0)
    return adjusted


def student_t_p_value(statistic: float, df: float) -> float:
    """Return the two-sided p-value of a t statistic with `df` degrees of freedom."""
    return min(1.0, 2.0 * float(scipy.special.stdtr(df, -abs(statistic))))


def fisher_exact_p_value(first_counts: tuple[int, int], second_counts: tuple[int, int]) -> float:
    """Return the two-sided p-value of Fisher's exact test for equal proportions in two groups.

    Args:
        first_counts: Number of rows with a property and total number of rows in the first group.
        second_counts: The same numbers for the second group.

    Returns:
        p-value; 1 if a group has no rows.
    """
    table = np.array([[part, rows - part] for part, rows in (first_counts, second_counts)])
    return float(scipy.stats.fisher_exact(table).pvalue)


def binomial_p_value(successes: int, trials: int, rate: float) -> float:
    """Return the one-sided p-value of an exact binomial test for a success rate above `rate`.

    Args:
        successes: Number of successes.
        trials: Number of independent trials.
        rate: Success rate under the null hypothesis.

    Returns:
        Probability of at least `successes` under the null hypothesis.
    """
    return float(scipy.stats.binom.sf(successes - 1, trials, rate))


def chi_square_lower_p_value(statistic: float, df: int) -> float:
    """Return the probability that a chi-square variable is at most `statistic`.

    Args:
        statistic: Chi-square statistic.
        df: Degrees of freedom.
    """
    return float(scipy.special.chdtr(df, statistic))


def normal_p_value(statistic: float) -> float:
    """Return the two-sided p-value of a z statistic."""
    return math.erfc(abs(statistic) / math.sqrt(2.0))


def anderson_darling(values: Floats) -> AndersonDarlingTest:
    """Test n >= 3 values for normality with the Anderson-Darling test.

    The p-value is the piecewise approximation by D'Agostino and Stephens (1986), Table 4.9, for
    A* = A^2 (1 + 0.75/n + 2.25/n^2). It replaces the p-value of scipy, which is truncated to
    [0.01, 0.15]. statsmodels is not used because its statistic is infinite if a value is 9 standard
    deviations from the mean.
    """
    n = len(values)
    test = scipy.stats.anderson(values, "norm", method="interpolate")  # type: ignore[call-overload]
    statistic = float(test.statistic)
    return AndersonDarlingTest(
        statistic, _anderson_darling_p_value(statistic * (1.0 + 0.75 / n + 2.25 / n**2))
    )


def _anderson_darling_p_value(adjusted_statistic: float) -> float:
    for bound, (constant, linear, square), upper in P_VALUE_SEGMENTS:
        if adjusted_statistic < bound:
            power = math.exp(
                constant + linear * adjusted_statistic + square * adjusted_statistic**2
            )
            return 1.0 - power if upper else power
    return 0.0
