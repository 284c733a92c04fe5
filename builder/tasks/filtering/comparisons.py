"""Compares the trends of filtering runs (Kenter, Balog and de Rijke 2015, section 6).

- `compare_rankings`: agreement between system rankings by F1 and by trend end points (table 1).
- `compare_granularities`: differences between the slopes at different batch lengths (table 2).
- `check_trend_assumptions`: number of trends that satisfy the assumptions of the tests (table 3).
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

from builder.errors import UsageError
from builder.evaluation.checks import require
from builder.statistics.rankings import kendall_tau_b
from builder.tasks.filtering.measures import MEASURES
from builder.tasks.filtering.score import evaluate_filtering
from builder.tasks.filtering.trends import FilteringTrendParameters, fit_trends

GRANULARITIES = ("day", str(7 * 86_400), str(30 * 86_400))
"""Batch lengths compared in the paper: 1, 7 and 30 days."""
SIGNIFICANCE_LEVEL = 0.05
F1_RANKING, ENDPOINT_MEASURES = "F1", ("f_pr", "f_pra")


def compare_rankings(
    truth: Path, runs: Sequence[Path], parameters: FilteringTrendParameters | None = None
) -> pl.DataFrame:
    """Compare rankings of systems by F1 and by the end points of trends in F_pr and F_pra.

    Each system is represented by its score at its best cut-off, as in the track. F1 is the harmonic
    mean of precision and recall over the whole period.

    Args:
        truth: Truth file in KBA format, plain or gzip.
        runs: One run file per system, at least two.
        parameters: Parameters of the evaluation and of the trends; `measure` is ignored.

    Returns:
        One row per pair of rankings: first and second (names of the rankings), systems (number of
        systems in both) and kendall_tau_b (null if all systems are tied in a ranking).

    Raises:
        FormatError: a line is malformed.
        UsageError: there are fewer than two runs, or two runs have the same name.
    """
    require(len(runs) > 1, "two or more runs", len(runs))
    chosen = parameters or FilteringTrendParameters()
    result = evaluate_filtering(truth, runs, chosen.filtering)
    best = {F1_RANKING: result.whole.group_by("system").agg(value=pl.col("f_pr").max())}
    for measure in ENDPOINT_MEASURES:
        trends = fit_trends(result, measure, chosen.residuals).trends
        best[f"end point of {measure}"] = trends.group_by("system").agg(
            value=pl.col("end_point").max()
        )
    rows = []
    for (first, one), (second, two) in combinations(best.items(), 2):
        both = one.join(two, on="system", suffix="_second").drop_nulls().sort("system")
        tau = kendall_tau_b(both["value"].to_numpy(), both["value_second"].to_numpy())
        rows.append((first, second, both.height, None if np.isnan(tau) else float(tau)))
    schema = {"first": pl.String, "second": pl.String, "systems": pl.Int64}
    return pl.DataFrame(rows, schema={**schema, "kendall_tau_b": pl.Float64}, orient="row")


def compare_granularities(
    truth: Path,
    runs: Sequence[Path],
    parameters: FilteringTrendParameters | None = None,
    granularities: Sequence[str] = GRANULARITIES,
) -> pl.DataFrame:
    """Compare the slopes of trends between the first granularity and each later granularity.

    Args:
        truth: Truth file in KBA format, plain or gzip.
        runs: One run file per system.
        parameters: Parameters of the evaluation and of the trends; `measure` and
            `granularity` are ignored.
        granularities: At least two granularities, each `hour`, `day`, `week`, `month` or a number
            of seconds.

    Returns:
        One row per measure and granularity after the first: granularity, measure, trends (number
        of (system, cut-off) pairs with a slope at both granularities), and the mean, std (sample
        standard deviation), min and max of the difference, which is the slope at the first
        granularity minus the slope at the granularity of the row.

    Raises:
        FormatError: a line is malformed.
        UsageError: there are fewer than two granularities, one is unknown, or two runs have the
            same name.
    """
    if len(granularities) < 2:
        raise UsageError(f"expected two or more granularities, found {len(granularities)}")
    finest, *others = (
        _fit_trends_of_all_measures(truth, runs, parameters, unit).select(
            "system", "cutoff", "measure", "slope_per_day", granularity=pl.lit(unit)
        )
        for unit in granularities
    )
    keys = ["system", "cutoff", "measure"]
    difference = pl.col("slope_per_day") - pl.col("slope_per_day_other")
    frames = [
        finest.drop("granularity")
        .join(other, on=keys, suffix="_other")
        .sort(keys)
        .select("granularity", "measure", difference=difference)
        for other in others
    ]
    value = pl.col("difference")
    return (
        pl.concat(frames)
        .group_by("granularity", "measure", maintain_order=True)
        .agg(
            trends=value.count().cast(pl.Int64),
            mean=value.mean(),
            std=value.std(),
            min=value.min(),
            max=value.max(),
        )
        .sort(
            pl.col("granularity").replace_strict(_indexes_by_name(granularities)),
            pl.col("measure").replace_strict(_indexes_by_name(MEASURES)),
        )
    )


def check_trend_assumptions(
    truth: Path,
    runs: Sequence[Path],
    parameters: FilteringTrendParameters | None = None,
    granularities: Sequence[str] = GRANULARITIES,
    significance_level: float = SIGNIFICANCE_LEVEL,
) -> pl.DataFrame:
    """Count the trends whose residuals are normally distributed and independent.

    Trends whose scores are all 0 are ignored. An assumption is satisfied if its test
    (Anderson-Darling for normality, two-sided Durbin-Watson for independence) is defined and does
    not reject the assumption.

    Args:
        truth: Truth file in KBA format, plain or gzip.
        runs: One run file per system.
        parameters: Parameters of the evaluation and of the trends; `measure` and
            `granularity` are ignored.
        granularities: Batch lengths, each `hour`, `day`, `week`, `month` or a number of seconds.
        significance_level: Significance level of both tests, between 0 and 1.

    Returns:
        One row per granularity: granularity, trends, normal, independent, both, share (fraction of
        trends that satisfy both assumptions; null if there are no trends).

    Raises:
        FormatError: a line is malformed.
        UsageError: a granularity is unknown, the level is not in (0, 1), or two runs have the same
            name.
    """
    require(0 < significance_level < 1, "a significance level in (0, 1)", significance_level)
    rows = []
    for unit in granularities:
        trends = _fit_trends_of_all_measures(truth, runs, parameters, unit).filter(
            ~pl.col("is_zero")
        )
        normal = pl.col("anderson_darling_p").fill_null(0) >= significance_level
        independent = pl.col("durbin_watson_p").fill_null(0) >= significance_level
        counts = trends.select(
            pl.len(), normal.sum(), independent=independent.sum(), both=(normal & independent).sum()
        ).row(0)
        rows.append((unit, *counts, counts[-1] / counts[0] if counts[0] else None))
    names = ("trends", "normal", "independent", "both")
    schema = {"granularity": pl.String, **dict.fromkeys(names, pl.Int64), "share": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _fit_trends_of_all_measures(
    truth: Path,
    runs: Sequence[Path],
    parameters: FilteringTrendParameters | None,
    granularity: str,
) -> pl.DataFrame:
    """Fit the trends of all measures for one batch length (granularity).

    The column `is_zero` marks trends whose scores are all 0 or null.
    """
    chosen = parameters or FilteringTrendParameters()
    result = evaluate_filtering(truth, runs, replace(chosen.filtering, granularity=granularity))
    frames = []
    for measure in MEASURES:
        report = fit_trends(result, measure, chosen.residuals)
        zero = report.scores.group_by("system", "cutoff").agg(
            is_zero=(pl.col("score").fill_null(0) == 0).all()
        )
        frames.append(report.trends.join(zero, on=["system", "cutoff"]))
    return pl.concat(frames)


def _indexes_by_name(names: Sequence[str]) -> dict[str, int]:
    """Return the index of each name in the sequence, by name; used to sort rows."""
    return {name: index for index, name in enumerate(names)}
