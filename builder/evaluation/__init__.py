"""Evaluation over time: effectiveness, persistence, trends, filtering, summarisation, classes.

In: judgements of the snapshots and what systems returned. Out: tables of measures with their
intervals and tests, pages that show them, and baseline runs to read them against.
"""

from builder.evaluation.attribution import AttributedChange, attribute_paths
from builder.evaluation.baselines.bm25 import Bm25, bm25, bm25_snapshot
from builder.evaluation.baselines.boost import qrel_boost
from builder.evaluation.baselines.dense import dense_search
from builder.evaluation.baselines.fusion import read_scores, reciprocal_rank_fusion, rerank
from builder.evaluation.baselines.sanity import SanityRow, sanity_table
from builder.evaluation.classification import (
    agreement_paths,
    build_classification,
    classification_baseline,
    evaluate_classification,
    validate_classification,
)
from builder.evaluation.evaluator import Evaluation, evaluate, evaluate_paths
from builder.evaluation.filtering import FilteringResult, filtering_paths
from builder.evaluation.filtering_measures import MEASURES as FILTERING_MEASURES
from builder.evaluation.filtering_parameters import FilteringParameters
from builder.evaluation.measures.registry import DEFAULT_MEASURES, Measure, parse_measure
from builder.evaluation.parameters import EvaluationParameters
from builder.evaluation.reports.page import html_report
from builder.evaluation.reports.summary import summary_rows, to_json, write_query_scores
from builder.evaluation.runs.archives import unpacked
from builder.evaluation.runs.checker import check_submissions
from builder.evaluation.runs.qrels import read_qrels
from builder.evaluation.summarization import SummarizationReport, summarization_paths
from builder.evaluation.summarization_parameters import SummarizationParameters
from builder.evaluation.tables.reproducibility import reproducibility
from builder.evaluation.trend_reports import (
    KENTER_SWEEP,
    TrendParameters,
    TrendReport,
    evaluation_trend,
    filtering_trends,
    snapshot_trend,
    snapshot_trend_path,
    trend_paths,
    with_nonzero,
)
from builder.evaluation.trend_tables import (
    assumption_rates,
    rank_correlations,
    slope_stability,
)
from builder.evaluation.trends import Trend, fit_trend
from builder.trec.runs import Run, read_run, write_run

__all__ = [
    "DEFAULT_MEASURES",
    "FILTERING_MEASURES",
    "KENTER_SWEEP",
    "AttributedChange",
    "Bm25",
    "Evaluation",
    "EvaluationParameters",
    "FilteringParameters",
    "FilteringResult",
    "Measure",
    "Run",
    "SanityRow",
    "SummarizationParameters",
    "SummarizationReport",
    "Trend",
    "TrendParameters",
    "TrendReport",
    "agreement_paths",
    "assumption_rates",
    "attribute_paths",
    "bm25",
    "bm25_snapshot",
    "build_classification",
    "check_submissions",
    "classification_baseline",
    "dense_search",
    "evaluate",
    "evaluate_classification",
    "evaluate_paths",
    "evaluation_trend",
    "filtering_paths",
    "filtering_trends",
    "fit_trend",
    "html_report",
    "parse_measure",
    "qrel_boost",
    "rank_correlations",
    "read_qrels",
    "read_run",
    "read_scores",
    "reciprocal_rank_fusion",
    "reproducibility",
    "rerank",
    "sanity_table",
    "slope_stability",
    "snapshot_trend",
    "snapshot_trend_path",
    "summarization_paths",
    "summary_rows",
    "to_json",
    "trend_paths",
    "unpacked",
    "validate_classification",
    "with_nonzero",
    "write_query_scores",
    "write_run",
]
