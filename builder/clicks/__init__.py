"""Estimates relevance from logged clicks with click models, and derives graded qrels."""

from builder.clicks.comparison import DEFAULT_MODELS, ModelComparison, compare_models
from builder.clicks.estimation import estimate_relevance
from builder.clicks.grading import grade_pairs
from builder.clicks.standalone import ModelReport, estimate_from_log
from builder.clicks.sums import sum_estimates

__all__ = [
    "DEFAULT_MODELS",
    "ModelComparison",
    "ModelReport",
    "compare_models",
    "estimate_from_log",
    "estimate_relevance",
    "grade_pairs",
    "sum_estimates",
]
