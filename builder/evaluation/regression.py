"""A straight line through the scores of time batches, by weighted least squares.

In: n batch times, scores and weights. Out: the line, HC3 standard errors and the t-test of its
slope. Kenter, Balog, de Rijke (2015), sections 5.1-5.3 and equations 3 and 4; HC3 as in Long and
Ervin (2000): with A = (X'WX)^-1 and leverages h_i the covariance of the coefficients is
A X'W diag(e_i^2 / (1 - h_i)^2) W X A, where e_i / (1 - h_i) is the distance of point i from the
line through the other points.
"""

from dataclasses import dataclass

import numpy as np

from builder.evaluation.distributions import Vector, normal_two_sided, student_two_sided

FEWEST_POINTS = 3
ROUNDING = 1e-12
"""Residuals below this share of the largest score are rounding errors of an exact fit."""
HIGH_LEVERAGE = 0.9
"""From here on e_i / (1 - h_i) loses digits and is computed without its point instead."""


@dataclass(frozen=True, slots=True)
class Line:
    """A fitted line: score = level + slope * (time - centre).

    Args:
        level: Height of the line at `centre`.
        slope: Change of the score in one unit of time.
        centre: Weighted mean of the times.
        residuals: n values, score minus line.
        slope_se: HC3 standard error of the slope.
        exact: Whether all points lie on the line, up to rounding.
    """

    level: float
    slope: float
    centre: float
    residuals: Vector
    slope_se: float
    exact: bool

    def at(self, time: float) -> float:
        """Height of the line at a time."""
        return self.level + self.slope * (time - self.centre)


@dataclass(frozen=True, slots=True)
class SlopeTest:
    """A test of a slope, or of the difference between two.

    Args:
        statistic: t or z; null where the test is not defined.
        p: Two-sided p-value; null with the statistic.
        reason: Why they are null.
    """

    statistic: float | None
    p: float | None
    reason: str | None = None


def fit_line(times: Vector, scores: Vector, weights: Vector) -> Line:
    """Fit a line by weighted least squares.

    Args:
        times: n >= 3 different times, in any unit.
        scores: n scores.
        weights: n positive weights; only their ratios matter.
    """
    share = weights / weights.sum()
    centre, level, slope = _coefficients(times, scores, share)
    offsets = times - centre
    residuals = scores - (level + slope * offsets)
    spread = float(share @ offsets**2)
    leverages = share * (1.0 + offsets**2 / spread)
    deleted = _deletion_residuals(times, scores, weights, residuals, leverages)
    slope_se = float(np.linalg.norm(share * offsets / spread * deleted))
    exact = bool(np.abs(residuals).max() <= ROUNDING * np.abs(scores).max())
    return Line(level, slope, centre, residuals, slope_se, exact)


def _coefficients(times: Vector, scores: Vector, share: Vector) -> tuple[float, float, float]:
    """Weighted mean time, weighted mean score, slope; the shares sum to 1."""
    centre = float(share @ times)
    level = float(share @ scores)
    pull = share * (times - centre)
    return centre, level, float(pull @ (scores - level) / (pull @ (times - centre)))


def _deletion_residuals(
    times: Vector, scores: Vector, weights: Vector, residuals: Vector, leverages: Vector
) -> Vector:
    """Distance of each point from the line through all others."""
    high = leverages > HIGH_LEVERAGE
    deleted: Vector = residuals / np.where(high, 1.0, 1.0 - leverages)
    for i in np.flatnonzero(high):
        others = np.arange(len(times)) != i
        share = weights[others] / weights[others].sum()
        centre, level, slope = _coefficients(times[others], scores[others], share)
        deleted[i] = scores[i] - (level + slope * (times[i] - centre))
    return deleted


def slope_test(line: Line) -> SlopeTest:
    """The t-test of a slope against zero with n - 2 degrees of freedom; equation 3."""
    if line.exact:
        return SlopeTest(None, None, "every score lies on the line: no residual variance")
    if not 0.0 < line.slope_se < np.inf:
        return SlopeTest(None, None, "the standard error of the slope is zero")
    statistic = line.slope / line.slope_se
    return SlopeTest(statistic, student_two_sided(statistic, len(line.residuals) - 2))


def compare_slopes(first: float, first_se: float, second: float, second_se: float) -> SlopeTest:
    """The z-test between the slopes of two lines; equation 4.

    Args:
        first: Slope of the first line.
        first_se: Its standard error, at least 0.
        second: Slope of the second line, in the same unit of time.
        second_se: Its standard error, at least 0.
    """
    error = float(np.hypot(first_se, second_se))
    if not error > 0.0:
        return SlopeTest(None, None, "both standard errors are zero")
    statistic = (first - second) / error
    return SlopeTest(statistic, normal_two_sided(statistic))
