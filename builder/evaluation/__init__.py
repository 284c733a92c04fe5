"""Evaluation over time: effectiveness, persistence, trends, filtering, summarisation, classes.

In: judgements of the snapshots and what systems returned. Out: tables of measures with their
intervals and tests, pages that show them, and baseline runs to read them against.
"""

from builder.evaluation.baseline import Bm25, bm25, bm25_snapshot
from builder.evaluation.evaluator import Evaluation, evaluate, evaluate_paths
from builder.evaluation.fusion import read_scores, reciprocal_rank_fusion, rerank
from builder.evaluation.measures import DEFAULT_MEASURES, Measure, parse_measure
from builder.evaluation.parameters import EvaluationParameters
from builder.evaluation.qrels import read_qrels
from builder.evaluation.report import html_report
from builder.evaluation.runs import Run, read_run, write_run
from builder.evaluation.summary import summary_rows, to_json

__all__ = [
    "DEFAULT_MEASURES",
    "Bm25",
    "Evaluation",
    "EvaluationParameters",
    "Measure",
    "Run",
    "bm25",
    "bm25_snapshot",
    "evaluate",
    "evaluate_paths",
    "html_report",
    "parse_measure",
    "read_qrels",
    "read_run",
    "read_scores",
    "reciprocal_rank_fusion",
    "rerank",
    "summary_rows",
    "to_json",
    "write_run",
]
