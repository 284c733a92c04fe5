"""The parameters of filtering, all recorded in what it returns."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from builder.evaluation.checks import require, require_one_of
from builder.tasks.filtering.batches import batch_seconds
from builder.tasks.filtering.kba import RATINGS, Assessors
from builder.tasks.filtering.measures import Average


@dataclass(frozen=True, slots=True)
class FilteringParameters:
    """How filtering runs are scored.

    Args:
        relevance: Least rating that is relevant: 2 vital only, 1 useful too, 0 neutral too.
        assessors: Whether all assessors of a pair must find it relevant, or any.
        unjudged: What a returned pair without judgement is.
        average: Mean over targets, or counts of all targets together.
        zeta: So many false positives halve aptness.
        granularity: `hour`, `day`, `week`, `month`, or a number of seconds.
        start: First unix second of the period; None: the first document.
        end: First unix second after the period; None: after the last document.
        cutoffs: Least confidences of a returned document, each scored.
        cutoff_rule: Whether a document at the cut-off is returned; the KBA scorer says `above`.
        min_positives: Minimum relevant documents of a target of the official averages.
        min_text_bytes: Minimum visible text of a judged document of the official averages, where
            the truth file has it (field 12).
        cutoff_step: Difference of the confidence cut-offs of the official averages, which are
            0, cutoff_step, ... below 999.

    Raises:
        UsageError: a value is outside its range.
    """

    relevance: int = 2
    assessors: Assessors = "all"
    unjudged: Literal["false_positive", "ignored"] = "false_positive"
    average: Average = "macro"
    zeta: float = 1.0
    granularity: str = "day"
    start: int | None = None
    end: int | None = None
    cutoffs: tuple[float, ...] = (0.0,)
    cutoff_rule: Literal["at_or_above", "above"] = "at_or_above"
    min_positives: int = 4
    min_text_bytes: int = 100
    cutoff_step: int = 50

    def __post_init__(self) -> None:
        require_one_of("relevance", self.relevance, RATINGS)
        require_one_of("assessors", self.assessors, get_args(Assessors))
        require_one_of("unjudged", self.unjudged, ("false_positive", "ignored"))
        require_one_of("average", self.average, get_args(Average))
        require_one_of("cutoff_rule", self.cutoff_rule, ("at_or_above", "above"))
        require(0 < self.zeta < math.inf, "zeta above 0", self.zeta)
        require(bool(self.cutoffs), "one or more cut-offs", self.cutoffs)
        require(not any(map(math.isnan, self.cutoffs)), "numbers as cut-offs", self.cutoffs)
        require(self.min_positives >= 0, "min_positives of 0 or more", self.min_positives)
        require(1 <= self.cutoff_step < 999, "a cutoff_step from 1 to 998", self.cutoff_step)
        batch_seconds(self.granularity)
