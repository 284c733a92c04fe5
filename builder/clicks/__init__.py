"""Click models and graded qrels: impressions in, sDBN estimates, then judgements out."""

from builder.clicks.addition import add_estimates
from builder.clicks.agreement import AgreementReport, agreement
from builder.clicks.assessments import ImportReport, import_assessments
from builder.clicks.comparison import COMPARED, Comparison, compare_models
from builder.clicks.estimate import estimate
from builder.clicks.grade import grade
from builder.clicks.model_log import ModelReport, model_log
from builder.clicks.models import MODELS
from builder.clicks.pooling import LONGEVAL_STRATA, Pool, Stratum, depth, draw_pool
from builder.clicks.sheets import write_sheet

__all__ = [
    "COMPARED",
    "LONGEVAL_STRATA",
    "MODELS",
    "AgreementReport",
    "Comparison",
    "ImportReport",
    "ModelReport",
    "Pool",
    "Stratum",
    "add_estimates",
    "agreement",
    "compare_models",
    "depth",
    "draw_pool",
    "estimate",
    "grade",
    "import_assessments",
    "model_log",
    "write_sheet",
]
