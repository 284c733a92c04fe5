"""The parameters of temporal summarisation, all recorded in what it returns."""

from dataclasses import dataclass
from typing import Literal, get_args

from builder.evaluation.checks import require, require_one_of
from builder.tasks.summarization.measures import LATENCY_STEP, Relevance


@dataclass(frozen=True, slots=True)
class SummarizationParameters:
    """How summaries are scored.

    Args:
        relevance: R of a nugget: e^(i - max) (equation 19), or 1 for any importance (equation 20).
        max_importance: The largest importance of equation 19; None: the largest of the event, as
            printed. The official scorer takes 3.
        zero_importance: Whether nuggets of importance 0 count; the official scorer drops them.
        latency_step: alpha of equation 23, in seconds.
        unpooled: An update that no assessor saw: pushed without a match and as long as the mean
            nugget, as in the official scorer, or ignored, as with its option -i.
        taus: Seconds after the start of an event at which the time-sensitive measures are given.

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
