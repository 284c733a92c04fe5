"""Families of measures, such as nDCG at any cutoff; also the plug-in interface for measures."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from builder.evaluation.measures.hits import Hits
    from builder.evaluation.measures.registry import Measure

Floats = npt.NDArray[np.float64]
Compute = Callable[["Measure", "Hits"], Floats]
"""Function that computes the score of each judged query from the measure and a run's hits."""


@dataclass(frozen=True)
class MeasureFamily:
    """Family of measures that differ in cutoff and parameters.

    Args:
        name: Name, such as `nDCG`.
        source: Paper that defines the family, or a short description.
        cutoff: Whether the cutoff `@k` is required, optional or not allowed.
        parameters: Integer parameters with their defaults.
        always_in_name: Parameters that measure names include even for the default value.
        compute: Function that computes the scores; None for measures of trec_eval and ir_measures.
    """

    name: str
    source: str
    cutoff: Literal["required", "optional", "none"]
    parameters: Mapping[str, int] = field(default_factory=dict)
    always_in_name: frozenset[str] = frozenset()
    compute: Compute | None = None
