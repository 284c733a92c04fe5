"""What the residuals of a trend say about the assumptions of its tests.

In: a fitted line with its weights. Out: Anderson-Darling (normality) and Durbin-Watson
(independence), each as statistic and p-value, never as a flag; Kenter et al. (2015), section 5.4.

Anderson-Darling is the case of unknown mean and variance; its p-value is the piecewise
approximation to A* = A^2 (1 + 0.75/n + 2.25/n^2) of D'Agostino and Stephens (1986), Table 4.9,
which treats residuals as an independent sample: with few batches it is a rough guide.
"""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from builder.evaluation.distributions import Vector, log_normal_cdf
from builder.evaluation.durbin_watson import Independence, durbin_watson
from builder.evaluation.regression import Line

ResidualKind: TypeAlias = Literal["raw", "weighted"]
"""raw: score minus line, as in the paper; weighted: that times the root of the weight, which the
model of weighted least squares takes to have one variance."""

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


def anderson_darling(residuals: Vector) -> Normality:
    """Test n >= 3 residuals, not all equal, for a normal distribution."""
    n = len(residuals)
    ordered = np.sort(residuals)
    standard = (ordered - ordered.mean()) / ordered.std(ddof=1)
    ranks = (2.0 * np.arange(1, n + 1) - 1.0) / n
    tails = log_normal_cdf(standard) + log_normal_cdf(-standard[::-1])
    statistic = -n - float(ranks @ tails)
    return Normality(statistic, _p_value(statistic * (1.0 + 0.75 / n + 2.25 / n**2)))


def _p_value(adjusted: float) -> float:
    for bound, (constant, linear, square), upper in P_VALUE_PIECES:
        if adjusted < bound:
            power = math.exp(constant + linear * adjusted + square * adjusted**2)
            return 1.0 - power if upper else power
    return 0.0


def examine(
    line: Line, times: Vector, weights: Vector, kind: ResidualKind
) -> tuple[Normality, Independence]:
    """Both tests on the residuals of a line that is not an exact fit.

    Args:
        line: The fitted line.
        times: n times, ascending.
        weights: n positive weights.
        kind: Which residuals are examined.
    """
    offsets = times - line.centre
    design = np.column_stack((np.ones_like(offsets), offsets / np.abs(offsets).max()))
    share = weights / weights.max()
    if kind == "raw":
        residuals, precision, constraint = line.residuals, share, design * share[:, None]
    else:
        root = np.sqrt(share)
        residuals, precision = line.residuals * root, np.ones_like(share)
        constraint = design * root[:, None]
    return anderson_darling(residuals), durbin_watson(residuals, precision, constraint)
