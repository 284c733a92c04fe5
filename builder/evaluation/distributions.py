"""The distribution functions that the tests of this room need, from scipy (extra [evaluation])."""

import math
from types import ModuleType
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from builder.errors import MissingExtraError

Vector: TypeAlias = npt.NDArray[np.float64]


def _special() -> ModuleType:
    try:
        from scipy import special
    except ImportError as error:
        raise MissingExtraError("a significance test", "evaluation") from error
    return special


def student_two_sided(statistic: float, df: float) -> float:
    """P(|T| >= |statistic|) of Student's t distribution with `df` degrees of freedom."""
    return min(1.0, 2.0 * float(_special().stdtr(df, -abs(statistic))))


def normal_two_sided(statistic: float) -> float:
    """P(|Z| >= |statistic|) of the standard normal distribution."""
    return math.erfc(abs(statistic) / math.sqrt(2.0))


def log_normal_cdf(values: Vector) -> Vector:
    """Log P(Z <= value), finite far into the lower tail."""
    return np.asarray(_special().log_ndtr(values), dtype=np.float64)
