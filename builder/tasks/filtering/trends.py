"""Trends of filtering systems over the batches of a period.

In: filtering truth and runs. Out: a trend for each system and confidence cut-off, systems ranked by
the end point of their best trend, and tests between their slopes. Kenter, Balog, de Rijke (2015),
sections 5 and 6.1.
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
"""Confidence cut-offs of section 6.1."""
KENTER_FILTERING = FilteringParameters(cutoffs=KENTER_SWEEP)


@dataclass(frozen=True, slots=True)
class FilteringTrendParameters:
    """How trends of filtering runs are estimated.

    Args:
        measure: The underlying measure of a batch, one of `MEASURES`.
        residuals: Residuals that the tests of the assumptions take.
        filtering: How batches are scored; its cut-offs are the sweep.

    Raises:
        UsageError: an unknown measure or kind of residuals.
    """

    measure: str = "f_pra"
    residuals: ResidualKind = "raw"
    filtering: FilteringParameters = KENTER_FILTERING

    def __post_init__(self) -> None:
        require_one_of("measure", self.measure, MEASURES)
        require_one_of("residuals", self.residuals, get_args(ResidualKind))


def filtering_trend(
    truth: Path, runs: Sequence[Path], parameters: FilteringTrendParameters | None = None
) -> TrendReport:
    """Estimate the trends of filtering runs, at each cut-off of the sweep.

    A system is ranked by its cut-off with the highest end point, the lowest of equals.

    Args:
        truth: Truth file in KBA format, plain or gzip.
        runs: One file for each system.
        parameters: How to score and fit; default `FilteringTrendParameters()`.

    Raises:
        FormatError: a line of a file is not an assertion.
        UsageError: no run, two runs with one name, or a period without batches.
    """
    chosen = parameters or FilteringTrendParameters()
    result = evaluate_filtering(truth, runs, chosen.filtering)
    return fit_trends(result, chosen.measure, chosen.residuals)


def fit_trends(
    result: FilteringResult, measure: str, residuals: ResidualKind = "raw"
) -> TrendReport:
    """Fit the trends of one measure of scored runs; see `filtering_trend`.

    Args:
        result: Scores per batch.
        measure: One of `MEASURES`.
        residuals: Residuals that the tests of the assumptions use.
    """
    scores = result.batches.select(
        "system",
        "cutoff",
        pl.lit(measure).alias("measure"),
        pl.col("batch").alias("time"),
        pl.col(measure).alias("score"),
        _share("documents").over("system", "cutoff").alias("weight"),
    )
    return trend_report(scores, ["system", "measure", "cutoff"], residuals, result.grid.seconds)


def _share(column: str) -> pl.Expr:
    """Part of the sum of a column, 0 where that is 0: the weights of section 5.1."""
    total = pl.col(column).sum()
    return pl.when(total > 0).then(pl.col(column) / total).otherwise(0.0)
