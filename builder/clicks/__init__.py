"""Click models and graded qrels: impressions in, estimates, then judgements out."""

from builder.clicks.addition import add_estimates
from builder.clicks.comparison import COMPARED, Comparison, compare_models
from builder.clicks.estimation import estimate
from builder.clicks.grading import grade
from builder.clicks.standalone import ModelReport, model_log

__all__ = [
    "COMPARED",
    "Comparison",
    "ModelReport",
    "add_estimates",
    "compare_models",
    "estimate",
    "grade",
    "model_log",
]
