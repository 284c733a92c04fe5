"""What a family of measures is: its name, its source, and who computes it."""

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
"""A measure and the hits of a run to the score of each judged query, 0 where it has no hit."""


@dataclass(frozen=True)
class Family:
    """A family of measures.

    Args:
        name: Its name.
        source: Where it is defined.
        cutoff: Whether `@k` must, may or cannot be given.
        parameters: Integer parameters with their defaults.
        shown: Parameters that the name always shows, because no default goes without saying.
        compute: What computes it; None for measures of trec_eval.
    """

    name: str
    source: str
    cutoff: Literal["required", "optional", "none"]
    parameters: Mapping[str, int] = field(default_factory=dict)
    shown: frozenset[str] = frozenset()
    compute: Compute | None = None
