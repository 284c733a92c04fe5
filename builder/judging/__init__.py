"""Judgements by people: pools drawn from runs, sheets to judge, imports, agreement."""

from builder.judging.agreement import AgreementReport, agreement_report
from builder.judging.assessments import ImportReport, import_assessments, read_assessments
from builder.judging.pooling import LONGEVAL_STRATA, Pool, Stratum, depth, draw_pool
from builder.judging.pools import PoolReport, pool_runs
from builder.judging.sheets import write_sheet

__all__ = [
    "LONGEVAL_STRATA",
    "AgreementReport",
    "ImportReport",
    "Pool",
    "PoolReport",
    "Stratum",
    "agreement_report",
    "depth",
    "draw_pool",
    "import_assessments",
    "pool_runs",
    "read_assessments",
    "write_sheet",
]
