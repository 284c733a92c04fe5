"""Filtering of document streams: scores of runs per batch of time, and their trends.

In: truth and runs in the format of TREC KBA. Out: the measures of Kenter, Balog, de Rijke (2015)
per system, cut-off and batch, trends over the batches, and the averages of the official scorer.
"""

from builder.tasks.filtering.comparisons import (
    GRANULARITIES,
    check_assumptions,
    compare_granularities,
    compare_rankings,
)
from builder.tasks.filtering.parameters import FilteringParameters
from builder.tasks.filtering.score import FilteringResult, evaluate_filtering
from builder.tasks.filtering.trends import KENTER_SWEEP, FilteringTrendParameters, filtering_trend

__all__ = [
    "GRANULARITIES",
    "KENTER_SWEEP",
    "FilteringParameters",
    "FilteringResult",
    "FilteringTrendParameters",
    "check_assumptions",
    "compare_granularities",
    "compare_rankings",
    "evaluate_filtering",
    "filtering_trend",
]
