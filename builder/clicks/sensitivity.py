"""How many click grades would differ: cuts a tenth lower or higher, the other no-click rule.

In: the judged pairs of the stage `grades`. Out: the table `grade_sensitivity`, pairs by scenario,
published grade and grade in the scenario. Under the other rule for impressions without a click
the examinations are the other ones, and a fitted prior is fitted again; a model without priors
would have to be trained again, and has no such scenario.
"""

from pathlib import Path

import duckdb
import numpy as np
import polars as pl

from builder.clicks.policies import Cuts, assign_grades, scores_of
from builder.clicks.posterior import Evidence
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


def write_sensitivity(
    connection: duckdb.DuckDBPyConnection,
    priors: Priors | None,
    cuts: Cuts,
    params: QrelParameters,
    path: Path,
) -> None:
    """Write the table `grade_sensitivity`.

    Args:
        connection: Has the view `click_estimates` and the table `pairs`.
        priors: Priors of the published grades; None for a model that has none.
        cuts: Cuts of the published grades.
        params: Policy, score, minimum evidence.
        path: The Parquet file to write (contract `GradeSensitivity`).
    """
    counts = _columns(connection, EVIDENCE)
    score = counts.pop("score").astype(np.float64)
    kinds = {name: values.astype(np.int64) for name, values in counts.items()}
    clicked = (kinds["clicks"], kinds["last_clicks"])
    scores = scores_of(Evidence(kinds["examinations"], *clicked), priors, score, params)
    published = assign_grades(scores, cuts, params)
    scenarios = {
        "published": published,
        "cuts_10_percent_lower": assign_grades(scores, cuts.times(0.9), params),
        "cuts_10_percent_higher": assign_grades(scores, cuts.times(1.1), params),
    }
    if priors is not None:
        evidence = Evidence(kinds["other_examinations"], *clicked)
        other = scores_of(evidence, _other_priors(connection, priors), score, params)
        scenarios["other_no_click_rule"] = assign_grades(other, cuts, params)
    frames = [
        pl.DataFrame({"grade": published, "other_grade": grades, "pairs": kinds["pairs"]})
        .group_by("grade", "other_grade")
        .agg(pl.col("pairs").sum())
        .with_columns(scenario=pl.lit(name))
        for name, grades in scenarios.items()
    ]
    write_frame(pl.concat(frames), path, GradeSensitivity)


def _other_priors(connection: duckdb.DuckDBPyConnection, priors: Priors) -> Priors:
    """Priors under the alternative rule, refitted if the recorded priors were fitted."""
    columns = _columns(connection, HISTOGRAM)
    counts = {name: values.astype(np.int64) for name, values in columns.items()}
    fitted, refitted = (
        fit_beta(counts["clicks"], counts[name], counts["pairs"])
        for name in ("examinations", "other_examinations")
    )
    return Priors(refitted, priors.satisfaction) if fitted == priors.attractiveness else priors


def _columns(connection: duckdb.DuckDBPyConnection, sql: str) -> dict[str, np.ndarray]:
    columns = connection.execute(sql).fetchnumpy()
    return {name: np.asarray(values) for name, values in columns.items()}
