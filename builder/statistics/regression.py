"""Weighted least squares line through scores over time, and tests of its slope.

Follows Kenter, Balog & de Rijke (2015), sections 5.1-5.3 and equations 3 and 4. The line and its
HC3 standard errors (Long and Ervin 2000) are computed by statsmodels.
"""

import math
import warnings
from dataclasses import dataclass

import numpy as np

from builder.extras import import_optional_module
from builder.statistics.significance import Floats, normal_p_value, student_t_p_value

MIN_POINTS = 3
ROUNDING_ERROR = 1e-12
"""Maximum absolute residual of an exact fit, relative to the largest absolute score."""
MAX_LEVERAGE = 1 - 1e-8
"""Maximum leverage h_i of a point; above it, e_i / (1 - h_i) has fewer than 8 correct digits."""


@dataclass(frozen=True, slots=True)
class FittedLine:
    """Fitted line: score = level + slope * (time - center).

    Args:
        level: Value of the line at `center`.
        slope: Change in the score per unit of time.
        center: Weighted mean of the times.
        residuals: Score minus fitted value of each of the n points.
        slope_se: HC3 standard error of the slope; NaN if one point has nearly all the weight.
        is_exact: Whether all points lie on the line, up to rounding errors.
    """

    level: float
    slope: float
    center: float
    residuals: Floats
    slope_se: float
    is_exact: bool

    def predict(self, time: float) -> float:
        """Return the value of the fitted line at `time`."""
        return self.level + self.slope * (time - self.center)


@dataclass(frozen=True, slots=True)
class SlopeTest:
    """Result of a test of a slope, or of the difference between two slopes.

    Args:
        statistic: t or z; None if undefined.
        p: Two-sided p-value; None if undefined.
        reason: Why the statistic and the p-value are undefined; None if they are defined.
    """

    statistic: float | None
    p: float | None
    reason: str | None = None


def fit_line(times: Floats, scores: Floats, weights: Floats) -> FittedLine:
    """Fit a line by weighted least squares.

    Args:
        times: n >= 3 distinct times, in any unit.
        scores: n scores.
        weights: n positive weights; only their ratios matter.

    Raises:
        MissingExtraError: statsmodels is not installed.
    """
    models = import_optional_module("statsmodels.regression.linear_model", "a trend", "evaluation")
    share = weights / weights.sum()
    center = float(share @ times)
    offsets = times - center
    scale = float(np.abs(offsets).max())
    design = np.column_stack((np.ones_like(offsets), offsets / scale))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # HC3 is NaN if times are too close
        fitted = models.WLS(scores, design, weights=share).fit(cov_type="HC3", use_t=True)
        error = float(fitted.bse[1])
    level, slope = (float(value) for value in fitted.params)
    residuals = np.asarray(fitted.resid, dtype=np.float64)
    is_exact = bool(np.abs(residuals).max() <= ROUNDING_ERROR * np.abs(scores).max())
    leverage = float((share * (1.0 + offsets**2 / (share @ offsets**2))).max())
    slope_se = error / scale if leverage <= MAX_LEVERAGE else math.nan
    return FittedLine(level, slope / scale, center, residuals, slope_se, is_exact)


def slope_test(line: FittedLine) -> SlopeTest:
    """Test whether the slope of a line is zero.

    Performs a t-test with n - 2 degrees of freedom (Kenter et al. 2015, equation 3).
    """
    if line.is_exact:
        return SlopeTest(None, None, "all scores lie on the line, so there is no residual variance")
    if math.isnan(line.slope_se):
        return SlopeTest(
            None, None, "one batch has nearly all the weight, so the standard error is undefined"
        )
    if not 0.0 < line.slope_se < np.inf:
        return SlopeTest(None, None, "the standard error of the slope is zero")
    statistic = line.slope / line.slope_se
    return SlopeTest(statistic, student_t_p_value(statistic, len(line.residuals) - 2))


def compare_slopes(
    first_slope: float, first_se: float, second_slope: float, second_se: float
) -> SlopeTest:
    """Test whether two slopes are equal, by a z-test (Kenter et al. 2015, equation 4).

    Args:
        first_slope: Slope of the first line.
        first_se: Standard error of the first slope.
        second_slope: Slope of the second line, in the same unit of time.
        second_se: Standard error of the second slope.
    """
    error = float(np.hypot(first_se, second_se))
    if not error > 0.0:
        return SlopeTest(None, None, "both standard errors are zero")
    statistic = (first_slope - second_slope) / error
    return SlopeTest(statistic, normal_p_value(statistic))
