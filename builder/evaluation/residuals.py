"""Tests of the regression assumptions about residuals (Kenter et al. 2015, sec. 5.4).

Computes the statistic and p-value of the Anderson-Darling test (normality) and of the Durbin-Watson
test (independence). The p-value of the Anderson-Darling test assumes independent residuals, and is
only approximate for few batches.
"""

from typing import Literal, TypeAlias

import numpy as np

from builder.statistics.durbin_watson import DurbinWatsonTest, durbin_watson
from builder.statistics.regression import FittedLine
from builder.statistics.significance import AndersonDarlingTest, Floats, anderson_darling

ResidualKind: TypeAlias = Literal["raw", "weighted"]
"""raw: score minus fitted value, as in the paper; weighted: raw residual times the square root of
its weight. Weighted residuals have constant variance in the model of weighted least squares."""


def residual_tests(
    line: FittedLine, times: Floats, weights: Floats, kind: ResidualKind
) -> tuple[AndersonDarlingTest, DurbinWatsonTest]:
    """Test the residuals of a fitted line for normality and independence.

    Args:
        line: Fitted line; at least one residual must not be zero.
        times: Times of the n batches, ascending.
        weights: Positive weights of the n batches.
        kind: Kind of residuals to test: `raw`, or `weighted` by the square roots of the weights.
    """
    offsets = times - line.center
    design = np.column_stack((np.ones_like(offsets), offsets / np.abs(offsets).max()))
    share = weights / weights.max()
    if kind == "raw":
        residuals, precision, constraint = line.residuals, share, design * share[:, None]
    else:
        root = np.sqrt(share)
        residuals, precision = line.residuals * root, np.ones_like(share)
        constraint = design * root[:, None]
    return anderson_darling(residuals), durbin_watson(residuals, precision, constraint)
