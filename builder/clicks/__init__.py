"""Estimates relevance from logged clicks with click models, and derives graded qrels."""

from builder.clicks.comparison import DEFAULT_MODELS, Comparison, compare_models
from builder.clicks.estimation import estimate
from builder.clicks.grading import grade
from builder.clicks.standalone import ModelReport, estimate_from_log
from builder.clicks.sums import sum_estimates

__all__ = [
    "DEFAULT_MODELS",
    "Comparison",
    "ModelReport",
    "compare_models",
    "estimate",
    "estimate_from_log",
    "grade",
    "sum_estimates",
]
