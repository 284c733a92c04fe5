"""Parameters of the evaluation of filtering runs."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from builder.evaluation.checks import require, require_one_of
from builder.tasks.filtering.batches import batch_length_in_seconds
from builder.tasks.filtering.kba import RATINGS, Assessors
from builder.tasks.filtering.measures import Average


@dataclass(frozen=True, slots=True)
class FilteringParameters:
    """Parameters of the evaluation of filtering runs.

    Args:
        relevance: Minimum rating of a relevant document: 2 vital, 1 useful, 0 neutral.
        assessors: `all` if all assessors of a pair must rate it as relevant, `any` if one suffices.
        unjudged: Whether returned pairs without a judgement are false positives or ignored.
        average: `macro`: mean over targets; `micro`: pooled over all targets.
        zeta: Number of false positives at which aptness is 0.5.
        granularity: `hour`, `day`, `week`, `month`, or a number of seconds.
        start: Start of the period in Unix seconds; None for the time of the first document.
        end: End of the period in Unix seconds, exclusive; None for one second after the last
            document.
        cutoffs: Confidence cut-offs; each is scored separately.
        cutoff_rule: Whether a document is returned if its confidence is at or above the cut-off, or
            only if it is above the cut-off (as in the KBA scorer).
        min_positives: Minimum number of relevant documents per target, for official averages.
        min_text_bytes: Minimum length in bytes of the visible text of a judged document, for
            official averages; ignored if the truth file has no lengths (field 12).
        cutoff_step: Step between the confidence cut-offs of official averages: 0, cutoff_step,
            2 * cutoff_step, ... below 999.

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
        require(0 < self.zeta < math.inf, "a finite zeta above 0", self.zeta)
        require(bool(self.cutoffs), "at least one cut-off", self.cutoffs)
        require(not any(map(math.isnan, self.cutoffs)), "cut-offs other than NaN", self.cutoffs)
        require(self.min_positives >= 0, "min_positives of at least 0", self.min_positives)
        require(1 <= self.cutoff_step < 999, "a cutoff_step from 1 to 998", self.cutoff_step)
        batch_length_in_seconds(self.granularity)
