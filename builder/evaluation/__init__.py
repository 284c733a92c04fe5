"""Evaluation of retrieval systems over time: effectiveness, persistence, trends and baselines.

Takes the relevance judgements of each snapshot and the runs of each system. Returns tables of
measures with confidence intervals and significance tests, and HTML and JSON reports.
"""

from builder.evaluation.attribution import AttributedScoreChange, attribute_score_changes
from builder.evaluation.baselines.bm25 import Bm25Parameters, bm25
from builder.evaluation.baselines.boost import qrel_boost
from builder.evaluation.baselines.dense import dense_search
from builder.evaluation.baselines.fusion import read_scores, reciprocal_rank_fusion, rerank
from builder.evaluation.baselines.keyqueries import KeyQueryParameters
from builder.evaluation.baselines.rm3 import Rm3Parameters
from builder.evaluation.baselines.sanity import SanityCheckRow, run_sanity_check
from builder.evaluation.baselines.snapshots import (
    search_snapshot,
    search_snapshot_with_expansion,
    snapshot_bm25_statistics,
)
from builder.evaluation.evaluator import Evaluation, evaluate, evaluate_paths
from builder.evaluation.measures.registry import DEFAULT_MEASURES, Measure, parse_measure
from builder.evaluation.parameters import EvaluationParameters
from builder.evaluation.reports.page import html_report
from builder.evaluation.reports.summary import summary_rows, to_json, write_query_scores
from builder.evaluation.reports.trends import trend_chart
from builder.evaluation.runs.archives import extract_archives
from builder.evaluation.runs.checker import check_submissions
from builder.evaluation.runs.qrels import read_qrels
from builder.evaluation.tables.reproducibility import compare_runs_between_snapshots
from builder.evaluation.trend_reports import (
    TrendReport,
    evaluation_trend_report,
    snapshot_trend_report,
    snapshot_trend_report_from_file,
)
from builder.evaluation.trends import Trend, fit_trend
from builder.trec.runs import Run, read_run, write_run

__all__ = [
    "DEFAULT_MEASURES",
    "AttributedScoreChange",
    "Bm25Parameters",
    "Evaluation",
    "EvaluationParameters",
    "KeyQueryParameters",
    "Measure",
    "Rm3Parameters",
    "Run",
    "SanityCheckRow",
    "Trend",
    "TrendReport",
    "attribute_score_changes",
    "bm25",
    "check_submissions",
    "compare_runs_between_snapshots",
    "dense_search",
    "evaluate",
    "evaluate_paths",
    "evaluation_trend_report",
    "extract_archives",
    "fit_trend",
    "html_report",
    "parse_measure",
    "qrel_boost",
    "read_qrels",
    "read_run",
    "read_scores",
    "reciprocal_rank_fusion",
    "rerank",
    "run_sanity_check",
    "search_snapshot",
    "search_snapshot_with_expansion",
    "snapshot_bm25_statistics",
    "snapshot_trend_report",
    "snapshot_trend_report_from_file",
    "summary_rows",
    "to_json",
    "trend_chart",
    "write_query_scores",
    "write_run",
]
