"""Parameters of the evaluation of temporal summaries."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from builder.evaluation.checks import require, require_one_of
from builder.tasks.summarization.measures import LATENCY_STEP, Relevance


@dataclass(frozen=True, slots=True)
class SummarizationParameters:
    """Parameters of the evaluation of temporal summaries.

    Args:
        relevance: Relevance of a nugget. `graded`: exp(importance - maximum) (equation 19);
            `binary`: 1 if its importance is above 0 (equation 20).
        max_importance: Maximum importance in equation 19; None for the maximum of the event, as in
            the metrics document. The official scorer uses 3.
        zero_importance: Whether nuggets with importance 0 are kept, or dropped as in the official
            scorer.
        latency_step: Latency step alpha (equation 23), in seconds.
        unpooled: How unpooled updates are scored. `unmatched`: as updates of mean nugget length
            without matches; `ignored`: not at all, as with option -i of the official scorer.
        taus: Times in seconds after the start of an event at which measures are also computed.

    Raises:
        UsageError: a value is outside its range.
    """

    relevance: Relevance = "graded"
    max_importance: float | None = None
    zero_importance: Literal["kept", "dropped"] = "kept"
    latency_step: float = LATENCY_STEP
    unpooled: Literal["unmatched", "ignored"] = "unmatched"
    taus: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        require_one_of("relevance", self.relevance, get_args(Relevance))
        require_one_of("zero_importance", self.zero_importance, ("kept", "dropped"))
        require_one_of("unpooled", self.unpooled, ("unmatched", "ignored"))
        require(self.latency_step > 0, "a latency step above 0 s", self.latency_step)
        importance = self.max_importance
        require(
            importance is None or math.isfinite(importance),
            "a finite max_importance",
            importance,
        )
        require(
            len(set(self.taus)) == len(self.taus) and all(tau > 0 for tau in self.taus),
            "distinct taus above 0 s",
            self.taus,
        )
