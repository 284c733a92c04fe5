"""Click models and graded qrels: impressions in, sDBN estimates, then judgements out."""

from builder.clicks.addition import add_estimates
from builder.clicks.agreement import AgreementReport, agreement_report
from builder.clicks.assessments import ImportReport, import_assessments, read_assessments
from builder.clicks.comparison import COMPARED, Comparison, compare_models
from builder.clicks.estimation import estimate
from builder.clicks.grading import grade
from builder.clicks.judging import PoolReport, pool_runs
from builder.clicks.pooling import LONGEVAL_STRATA, Pool, Stratum, depth, draw_pool
from builder.clicks.sheets import write_sheet
from builder.clicks.standalone import ModelReport, model_log

__all__ = [
    "COMPARED",
    "LONGEVAL_STRATA",
    "AgreementReport",
    "Comparison",
    "ImportReport",
    "ModelReport",
    "Pool",
    "PoolReport",
    "Stratum",
    "add_estimates",
    "agreement_report",
    "compare_models",
    "depth",
    "draw_pool",
    "estimate",
    "grade",
    "import_assessments",
    "model_log",
    "pool_runs",
    "read_assessments",
    "write_sheet",
]
