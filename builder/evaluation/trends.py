"""The trend of a score over time.

In: the score of each time batch and the amount of data behind it. Out: the weighted least squares
line with HC3 standard errors, the t-test of its slope, its value at the last instant ("estimated
end-point performance", the measure by which systems are ranked) and what the residuals say about
the assumptions. Kenter, Balog, de Rijke (2015), sections 3 and 5.

A batch without weight, or whose score is undefined, does not count in n. Whatever is not defined
is null, and `reason` says why.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from builder.errors import UsageError
from builder.evaluation.residuals import ResidualKind, examine
from builder.statistics.regression import FEWEST_POINTS, Line, fit_line, slope_test
from builder.statistics.significance import Floats

CONSTANT = "constant scores: the slope is 0 and there is nothing to test"
THREE_BATCHES = "with 3 batches Durbin-Watson cannot vary: no p-value"


@dataclass(frozen=True, slots=True)
class Trend:
    """A fitted trend; times are in the unit of the caller.

    Args:
        batches: n, batches with a defined score and a positive weight.
        intercept: Height of the line at time 0.
        slope: Change of the score in one unit of time.
        slope_se: HC3 standard error of the slope.
        t: slope / slope_se (equation 3).
        df: n - 2.
        p: Two-sided p-value of t.
        end_point: Height of the line at the last batch of the period, weighted or not.
        end_point_observed: Height of the line at the last batch that counts.
        anderson_darling: A^2 of the residuals, for normality.
        anderson_darling_p: Its p-value.
        durbin_watson: d of the residuals, for independence.
        durbin_watson_p: Its two-sided p-value; null below 4 batches.
        durbin_watson_p_positive: Its one-sided p-value against positive correlation.
        reason: Why something above is null; null when nothing is.
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
    residuals: ResidualKind = "raw",
) -> Trend:
    """Fit the trend of the scores of one system.

    Args:
        times: Times of all batches of the period, ascending.
        scores: A score for each; null where the measure is undefined.
        weights: The amount of data behind each, at least 0; only ratios matter.
        residuals: Which residuals the tests of the assumptions take.

    Raises:
        UsageError: lengths differ, times do not ascend, or a number is negative or not finite.
    """
    t, y, w = _arrays(times, scores, weights)
    counted = ~np.isnan(y) & (w > 0.0)
    n = int(counted.sum())
    if n < FEWEST_POINTS:
        return Trend(n, reason=f"batches with weight: {n}, needed: {FEWEST_POINTS} or more")
    last = float(t[-1])
    t, y, w = t[counted], y[counted], w[counted]
    if y.min() == y.max():
        level = float(y[0])
        return Trend(n, level, 0.0, end_point=level, end_point_observed=level, reason=CONSTANT)
    with np.errstate(all="ignore"):
        return _without_overflow(_described(fit_line(t, y, w), t, w, last, residuals))


def _arrays(
    times: Sequence[float], scores: Sequence[float | None], weights: Sequence[float]
) -> tuple[Floats, Floats, Floats]:
    if not len(times) == len(scores) == len(weights):
        raise UsageError(
            "expected as many times as scores and weights, "
            f"found {len(times)}, {len(scores)} and {len(weights)}"
        )
    t = np.asarray(times, dtype=np.float64)
    y = np.asarray([math.nan if s is None else s for s in scores], dtype=np.float64)
    w = np.asarray(weights, dtype=np.float64)
    if not (np.isfinite(t).all() and (np.diff(t) > 0.0).all()):
        raise UsageError("expected the times of the batches in ascending order, each once")
    if not (np.isfinite(w).all() and (w >= 0.0).all()):
        raise UsageError("expected weights that are finite and at least 0")
    if np.isinf(y).any():
        raise UsageError("expected finite scores, or null where the measure is undefined")
    return t, y, w


def _described(
    line: Line, times: Floats, weights: Floats, last: float, kind: ResidualKind
) -> Trend:
    test = slope_test(line)
    trend = Trend(
        batches=len(times),
        intercept=line.at(0.0),
        slope=line.slope,
        slope_se=None if test.statistic is None else line.slope_se,
        t=test.statistic,
        df=len(times) - 2,
        p=test.p,
        end_point=line.at(last),
        end_point_observed=line.at(float(times[-1])),
        reason=test.reason,
    )
    if not line.exact:
        normality, independence = examine(line, times, weights, kind)
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


def _without_overflow(trend: Trend) -> Trend:
    numbers = [value for value in asdict(trend).values() if isinstance(value, float)]
    if all(math.isfinite(value) for value in numbers):
        return trend
    return Trend(trend.batches, reason="the scores are too large or too small to fit a line")
