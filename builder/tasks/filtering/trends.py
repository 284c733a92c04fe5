"""Estimates trends of filtering systems over time (Kenter et al. 2015, sections 5 and 6.1).

A trend is fitted per system and confidence cut-off; systems are ranked by the end point of their
best trend, and the slopes of systems are compared by significance tests.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import polars as pl

from builder.evaluation.checks import require_one_of
from builder.evaluation.residuals import ResidualKind
from builder.evaluation.trend_reports import TrendReport, trend_report
from builder.tasks.filtering.measures import MEASURES
from builder.tasks.filtering.parameters import FilteringParameters
from builder.tasks.filtering.score import FilteringResult, evaluate_filtering

KENTER_SWEEP = tuple(float(cutoff) for cutoff in range(50, 1001, 50))
"""Confidence cut-offs of Kenter et al. (2015), section 6.1: 50, 100, ..., 1000."""
KENTER_FILTERING = FilteringParameters(cutoffs=KENTER_SWEEP)


@dataclass(frozen=True, slots=True)
class FilteringTrendParameters:
    """Parameters for fitting trends to the scores of filtering runs.

    Args:
        measure: Measure whose trend is fitted, one of `MEASURES`.
        residuals: Kind of residuals used to test the model assumptions.
        filtering: Parameters of the evaluation; one trend is fitted per cut-off.

    Raises:
        UsageError: the measure or the kind of residuals is unknown.
    """

    measure: str = "f_pra"
    residuals: ResidualKind = "raw"
    filtering: FilteringParameters = KENTER_FILTERING

    def __post_init__(self) -> None:
        require_one_of("measure", self.measure, MEASURES)
        require_one_of("residuals", self.residuals, get_args(ResidualKind))


def evaluate_filtering_trends(
    truth: Path, runs: Sequence[Path], parameters: FilteringTrendParameters | None = None
) -> TrendReport:
    """Evaluate filtering runs and fit a trend per system and cut-off.

    Systems are ranked by the value of their trend at its end, at the cut-off where this value is
    highest; of tied cut-offs, the lowest is reported.

    Args:
        truth: Truth file in KBA format, plain or gzip.
        runs: One run file per system.
        parameters: Parameters of the evaluation and of the trends; default
            `FilteringTrendParameters()`.

    Raises:
        FormatError: a line is malformed.
        UsageError: there is no run, two runs have the same name, or the period is empty.
    """
    parameters = parameters or FilteringTrendParameters()
    result = evaluate_filtering(truth, runs, parameters.filtering)
    return fit_trends(result, parameters.measure, parameters.residuals)


def fit_trends(
    result: FilteringResult, measure: str, residuals: ResidualKind = "raw"
) -> TrendReport:
    """Fit a trend over time to the scores of each system at each cut-off, for one measure.

    Args:
        result: Scores of filtering runs.
        measure: One of `MEASURES`.
        residuals: Kind of residuals used to test the model assumptions.
    """
    scores = result.batches.select(
        "system",
        "cutoff",
        pl.lit(measure).alias("measure"),
        pl.col("batch").alias("time"),
        pl.col(measure).alias("score"),
        _share_of_total_expr("documents").over("system", "cutoff").alias("weight"),
    )
    return trend_report(
        scores, ["system", "measure", "cutoff"], residuals, result.time_batches.batch_seconds
    )


def _share_of_total_expr(column: str) -> pl.Expr:
    """Return an expression that divides a column by its sum; its values are 0 if the sum is 0."""
    total = pl.col(column).sum()
    return pl.when(total > 0).then(pl.col(column) / total).otherwise(0.0)
