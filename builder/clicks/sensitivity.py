"""Measures how click grades depend on the grade thresholds and on the rule `no_click`.

The table `grade_sensitivity` counts the judged pairs by scenario, published grade and grade in the
scenario. The scenarios are thresholds 10 % lower, thresholds 10 % higher, and the other value of
`no_click` (`skip` instead of `all_examined`, or vice versa), for which fitted priors are refitted.
The last scenario is omitted for models without priors, because they would have to be retrained.
"""

from pathlib import Path

import duckdb
import numpy as np
import polars as pl

from builder.clicks.policies import GradeThresholds, assign_grades, score_distribution
from builder.clicks.posterior import ClickEvidence
from builder.clicks.priors import Priors, fit_beta
from builder.io.tables import write_frame
from builder.parameters import QrelParameters
from schemas import GradeSensitivity

EVIDENCE = """
SELECT examinations, other_examinations, clicks, last_clicks, score, count(*) AS pairs
FROM pairs
WHERE reason IS NULL AND examinations >= getvariable('min_examinations')
  AND score IS NOT NULL AND other_examinations IS NOT NULL
GROUP BY ALL ORDER BY ALL
"""

HISTOGRAM = """
SELECT clicks, examinations, coalesce(other_examinations, examinations) AS other_examinations,
       count(*) AS pairs
FROM click_estimates GROUP BY ALL ORDER BY ALL
"""


def write_grade_sensitivity(
    connection: duckdb.DuckDBPyConnection,
    priors: Priors | None,
    thresholds: GradeThresholds,
    params: QrelParameters,
    path: Path,
) -> None:
    """Write the table `grade_sensitivity`, which compares grades under other cuts and `no_click`.

    Args:
        connection: DuckDB connection with the view `click_estimates` and the table `pairs`.
        priors: Priors of the published grades; None for a model without priors.
        thresholds: Minimum scores of the published grades.
        params: Policy, score and minimum number of examinations.
        path: Parquet file to write (schema `GradeSensitivity`).
    """
    counts = _fetch_columns(connection, EVIDENCE)
    score = counts.pop("score").astype(np.float64)
    kinds = {name: values.astype(np.int64) for name, values in counts.items()}
    clicked = (kinds["clicks"], kinds["last_clicks"])
    scores = score_distribution(
        ClickEvidence(kinds["examinations"], *clicked), priors, score, params
    )
    published = assign_grades(scores, thresholds, params)
    scenarios = {
        "published": published,
        "cuts_10_percent_lower": assign_grades(scores, thresholds.scale(0.9), params),
        "cuts_10_percent_higher": assign_grades(scores, thresholds.scale(1.1), params),
    }
    if priors is not None:
        evidence = ClickEvidence(kinds["other_examinations"], *clicked)
        other = score_distribution(evidence, _refit_priors(connection, priors), score, params)
        scenarios["other_no_click_rule"] = assign_grades(other, thresholds, params)
    frames = [
        pl.DataFrame({"grade": published, "other_grade": grades, "pairs": kinds["pairs"]})
        .group_by("grade", "other_grade")
        .agg(pl.col("pairs").sum())
        .with_columns(scenario=pl.lit(name))
        for name, grades in scenarios.items()
    ]
    write_frame(pl.concat(frames), path, GradeSensitivity)


def _refit_priors(connection: duckdb.DuckDBPyConnection, priors: Priors) -> Priors:
    """Return the priors to use when `no_click` has its other value.

    A prior on attractiveness that was fitted to the data is fitted again, to the other counts of
    examinations; any other prior is returned unchanged.
    """
    columns = _fetch_columns(connection, HISTOGRAM)
    counts = {name: values.astype(np.int64) for name, values in columns.items()}
    fitted, refitted = (
        fit_beta(counts["clicks"], counts[name], counts["pairs"])
        for name in ("examinations", "other_examinations")
    )
    return Priors(refitted, priors.satisfaction) if fitted == priors.attractiveness else priors


def _fetch_columns(connection: duckdb.DuckDBPyConnection, sql: str) -> dict[str, np.ndarray]:
    """Run an SQL query, and return the columns of the result as arrays."""
    columns = connection.execute(sql).fetchnumpy()
    return {name: np.asarray(values) for name, values in columns.items()}
