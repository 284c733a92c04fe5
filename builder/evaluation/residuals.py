"""What the residuals of a trend say about the assumptions of its tests.

In: a fitted line with its weights. Out: Anderson-Darling (normality) and Durbin-Watson
(independence), each as statistic and p-value, never as a flag; Kenter et al. (2015), section 5.4.

The p-value of Anderson-Darling treats residuals as an independent sample: with few batches it is a
rough guide.
"""

from typing import Literal, TypeAlias

import numpy as np

from builder.statistics.durbin_watson import Independence, durbin_watson
from builder.statistics.regression import Line
from builder.statistics.significance import Floats, Normality, anderson_darling

ResidualKind: TypeAlias = Literal["raw", "weighted"]
"""raw: score minus line, as in the paper; weighted: that times the root of the weight, which the
model of weighted least squares takes to have one variance."""


def examine(
    line: Line, times: Floats, weights: Floats, kind: ResidualKind
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
