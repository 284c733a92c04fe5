"""Trend of a score over time, by weighted least squares (Kenter, Balog & de Rijke 2015, sec. 3, 5).

Fits a line to the scores of batches (periods of time), weighted by the amount of data in each.
Returns HC3 standard errors, the t-test of the slope, the value of the line at the last batch (the
"estimated end-point performance", by which systems are ranked), and tests of the residuals.

Batches with zero weight or an undefined score are ignored. Undefined results are null and have a
`reason`.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from builder.errors import UsageError
from builder.evaluation.residuals import ResidualKind, residual_tests
from builder.statistics.regression import MIN_POINTS, FittedLine, fit_line, slope_test
from builder.statistics.significance import Floats

CONSTANT_SCORES = "the scores are constant, so the slope is 0 and tests are undefined"
THREE_BATCHES = "the p-value of the Durbin-Watson test is undefined for 3 batches"


@dataclass(frozen=True, slots=True)
class Trend:
    """Linear trend of a system's scores over time, as returned by `fit_trend`.

    Args:
        batches: Number n of batches with a defined score and a positive weight.
        intercept: Value of the fitted line at time 0.
        slope: Change in the score per unit of the times that `fit_trend` received.
        slope_se: HC3 standard error of the slope.
        t: t statistic of the slope, slope / slope_se (equation 3).
        df: Degrees of freedom of the t-test, n - 2.
        p: Two-sided p-value of the t-test.
        end_point: Value of the line at the last batch, even if that batch is ignored.
        end_point_observed: Value of the line at the last batch that is not ignored.
        anderson_darling: Anderson-Darling statistic A^2 of the residuals (normality).
        anderson_darling_p: p-value of the Anderson-Darling test.
        durbin_watson: Durbin-Watson statistic d of the residuals (independence).
        durbin_watson_p: Two-sided p-value of the Durbin-Watson test; None for fewer than 4 batches.
        durbin_watson_p_positive: One-sided p-value for the alternative of positive autocorrelation.
        reason: Reason why one of the other values is None; None if all are defined.
    """

    batches: int
    intercept: float | None = None
    slope: float | None = None
    slope_se: float | None = None
    t: float | None = None
    df: int | None = None
    p: float | None = None
    end_point: float | None = None
    end_point_observed: float | None = None
    anderson_darling: float | None = None
    anderson_darling_p: float | None = None
    durbin_watson: float | None = None
    durbin_watson_p: float | None = None
    durbin_watson_p_positive: float | None = None
    reason: str | None = None


def fit_trend(
    times: Sequence[float],
    scores: Sequence[float | None],
    weights: Sequence[float],
    residual_kind: ResidualKind = "raw",
) -> Trend:
    """Fit a linear trend to the scores of a system over time.

    Args:
        times: Time of each batch, ascending.
        scores: Score of each batch; None if undefined.
        weights: Amount of data in each batch, at least 0; only the ratios matter.
        residual_kind: Kind of residuals to test.

    Raises:
        UsageError: The lengths differ, the times are not ascending, a weight is negative, or a
            number is not finite.
    """
    t, y, w = _to_arrays(times, scores, weights)
    counted = ~np.isnan(y) & (w > 0.0)
    n = int(counted.sum())
    if n < MIN_POINTS:
        return Trend(
            n,
            reason=f"a trend needs at least {MIN_POINTS} batches with a score and a positive "
            f"weight, found {n}",
        )
    last_time = float(t[-1])
    t, y, w = t[counted], y[counted], w[counted]
    if y.min() == y.max():
        level = float(y[0])
        return Trend(
            n, level, 0.0, end_point=level, end_point_observed=level, reason=CONSTANT_SCORES
        )
    with np.errstate(all="ignore"):
        return _replace_overflow_with_reason(
            _summarize_line(fit_line(t, y, w), t, w, last_time, residual_kind)
        )


def _to_arrays(
    times: Sequence[float], scores: Sequence[float | None], weights: Sequence[float]
) -> tuple[Floats, Floats, Floats]:
    if not len(times) == len(scores) == len(weights):
        raise UsageError(
            "expected times, scores and weights of equal length, "
            f"found lengths {len(times)}, {len(scores)} and {len(weights)}"
        )
    t = np.asarray(times, dtype=np.float64)
    y = np.asarray([math.nan if s is None else s for s in scores], dtype=np.float64)
    w = np.asarray(weights, dtype=np.float64)
    if not (np.isfinite(t).all() and (np.diff(t) > 0.0).all()):
        raise UsageError("expected finite batch times in strictly ascending order")
    if not (np.isfinite(w).all() and (w >= 0.0).all()):
        raise UsageError("expected finite weights >= 0")
    if np.isinf(y).any():
        raise UsageError("expected finite scores, or null where the measure is undefined")
    return t, y, w


def _summarize_line(
    line: FittedLine, times: Floats, weights: Floats, last_time: float, kind: ResidualKind
) -> Trend:
    test = slope_test(line)
    trend = Trend(
        batches=len(times),
        intercept=line.predict(0.0),
        slope=line.slope,
        slope_se=None if test.statistic is None else line.slope_se,
        t=test.statistic,
        df=len(times) - 2,
        p=test.p,
        end_point=line.predict(last_time),
        end_point_observed=line.predict(float(times[-1])),
        reason=test.reason,
    )
    if not line.is_exact:
        normality, independence = residual_tests(line, times, weights, kind)
        trend = replace(
            trend,
            anderson_darling=normality.statistic,
            anderson_darling_p=normality.p,
            durbin_watson=independence.statistic,
            durbin_watson_p=independence.p,
            durbin_watson_p_positive=independence.p_positive,
            reason=test.reason or (THREE_BATCHES if independence.p is None else None),
        )
    return trend


def _replace_overflow_with_reason(trend: Trend) -> Trend:
    numbers = [value for value in asdict(trend).values() if isinstance(value, float)]
    if all(math.isfinite(value) for value in numbers):
        return trend
    return Trend(trend.batches, reason="the scores are too large or too small to fit a line")
