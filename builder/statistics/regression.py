"""A straight line through the scores of time batches, by weighted least squares.

In: n batch times, scores and weights. Out: the line, HC3 standard errors and the t-test of its
slope. Kenter, Balog, de Rijke (2015), sections 5.1-5.3 and equations 3 and 4; line and HC3 (Long
and Ervin 2000) by statsmodels.
"""

import math
import warnings
from dataclasses import dataclass

import numpy as np

from builder.extras import import_optional
from builder.statistics.significance import Floats, normal_two_sided, student_two_sided

FEWEST_POINTS = 3
ROUNDING = 1e-12
"""Residuals below this share of the largest score are rounding errors of an exact fit."""
HIGHEST_LEVERAGE = 1 - 1e-8
"""Beyond it e_i / (1 - h_i) has fewer than 8 correct digits: the other points weigh nothing."""


@dataclass(frozen=True, slots=True)
class Line:
    """A fitted line: score = level + slope * (time - centre).

    Args:
        level: Height of the line at `centre`.
        slope: Change of the score in one unit of time.
        centre: Weighted mean of the times.
        residuals: n values, score minus line.
        slope_se: HC3 standard error of the slope; NaN where one point has nearly all the weight.
        exact: Whether all points lie on the line, up to rounding.
    """

    level: float
    slope: float
    centre: float
    residuals: Floats
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


def fit_line(times: Floats, scores: Floats, weights: Floats) -> Line:
    """Fit a line by weighted least squares.

    Args:
        times: n >= 3 different times, in any unit.
        scores: n scores.
        weights: n positive weights; only their ratios matter.

    Raises:
        MissingExtraError: statsmodels is not installed.
    """
    models = import_optional("statsmodels.regression.linear_model", "a trend", "evaluation")
    share = weights / weights.sum()
    centre = float(share @ times)
    offsets = times - centre
    scale = float(np.abs(offsets).max())
    design = np.column_stack((np.ones_like(offsets), offsets / scale))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of times so close that they are one; HC3 is NaN then
        fitted = models.WLS(scores, design, weights=share).fit(cov_type="HC3", use_t=True)
        error = float(fitted.bse[1])
    level, slope = (float(value) for value in fitted.params)
    residuals = np.asarray(fitted.resid, dtype=np.float64)
    exact = bool(np.abs(residuals).max() <= ROUNDING * np.abs(scores).max())
    leverage = float((share * (1.0 + offsets**2 / (share @ offsets**2))).max())
    slope_se = error / scale if leverage <= HIGHEST_LEVERAGE else math.nan
    return Line(level, slope / scale, centre, residuals, slope_se, exact)


def slope_test(line: Line) -> SlopeTest:
    """The t-test of a slope against zero with n - 2 degrees of freedom; equation 3."""
    if line.exact:
        return SlopeTest(None, None, "every score lies on the line: no residual variance")
    if math.isnan(line.slope_se):
        return SlopeTest(None, None, "one batch has nearly all the weight: no standard error")
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
