"""Document filtering task: scores TREC KBA runs per time batch, and fits trends over time.

Computes the measures and trends of Kenter, Balog and de Rijke (2015) and the averages of the
official scorer of TREC KBA.
"""

from builder.tasks.filtering.comparisons import (
    GRANULARITIES,
    check_trend_assumptions,
    compare_granularities,
    compare_rankings,
)
from builder.tasks.filtering.parameters import FilteringParameters
from builder.tasks.filtering.score import FilteringResult, evaluate_filtering
from builder.tasks.filtering.trends import (
    KENTER_SWEEP,
    FilteringTrendParameters,
    evaluate_filtering_trends,
)

__all__ = [
    "GRANULARITIES",
    "KENTER_SWEEP",
    "FilteringParameters",
    "FilteringResult",
    "FilteringTrendParameters",
    "check_trend_assumptions",
    "compare_granularities",
    "compare_rankings",
    "evaluate_filtering",
    "evaluate_filtering_trends",
]
