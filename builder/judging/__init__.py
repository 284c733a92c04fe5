"""Manual relevance assessment: pools of documents from runs, judging sheets, and agreement."""

from builder.judging.agreement import AgreementReport, measure_agreement
from builder.judging.assessments import ImportReport, import_assessments, read_assessments
from builder.judging.pool_files import PoolReport, pool_runs
from builder.judging.pooling import LONGEVAL_STRATA, Pool, Stratum, depth_strata, draw_pool
from builder.judging.sheets import write_sheet

__all__ = [
    "LONGEVAL_STRATA",
    "AgreementReport",
    "ImportReport",
    "Pool",
    "PoolReport",
    "Stratum",
    "depth_strata",
    "draw_pool",
    "import_assessments",
    "measure_agreement",
    "pool_runs",
    "read_assessments",
    "write_sheet",
]
