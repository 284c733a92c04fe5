"""How many click grades would be others: cuts a tenth lower or higher, the other no-click rule.

In: the judged pairs of the stage `qrels`. Out: the table `grade_sensitivity`, pairs by scenario,
published grade and grade in the scenario. Under the other rule for impressions without a click
the examinations are the other ones, and a fitted prior is fitted again.
"""

from pathlib import Path

import duckdb
import numpy as np
import polars as pl

from builder.clicks.policies import Cuts, assign
from builder.clicks.posterior import Evidence, Posterior
from builder.clicks.priors import Priors, fit_beta
from builder.parameters import QrelParameters
from builder.tables import write_frame
from schemas import GradeSensitivity

EVIDENCE = """
SELECT examinations, other_examinations, clicks, last_clicks, count(*) AS pairs
FROM pairs
WHERE reason IS NULL AND examinations >= getvariable('min_examinations')
  AND other_examinations IS NOT NULL
GROUP BY ALL ORDER BY ALL
"""

HISTOGRAM = """
SELECT clicks, examinations, coalesce(other_examinations, examinations) AS other_examinations,
       count(*) AS pairs
FROM click_estimates GROUP BY ALL ORDER BY ALL
"""


def write_sensitivity(
    connection: duckdb.DuckDBPyConnection,
    priors: Priors,
    cuts: Cuts,
    params: QrelParameters,
    path: Path,
) -> None:
    """Write the table `grade_sensitivity`.

    Args:
        connection: Has the view `click_estimates` and the table `pairs`.
        priors: Priors of the published grades.
        cuts: Cuts of the published grades.
        params: Policy, score, minimum evidence.
        path: The Parquet file to write (contract `GradeSensitivity`).
    """
    counts = _integers(connection, EVIDENCE)
    by_relevance = params.score == "relevance"
    posterior, other = (
        Posterior(
            Evidence(counts[name], counts["clicks"], counts["last_clicks"]), prior, by_relevance
        )
        for name, prior in (
            ("examinations", priors),
            ("other_examinations", _other_priors(connection, priors)),
        )
    )
    published = assign(posterior, cuts, params)
    scenarios = {
        "published": published,
        "cuts_10_percent_lower": assign(posterior, cuts.times(0.9), params),
        "cuts_10_percent_higher": assign(posterior, cuts.times(1.1), params),
        "other_no_click_rule": assign(other, cuts, params),
    }
    frames = [
        pl.DataFrame({"grade": published, "other_grade": grades, "pairs": counts["pairs"]})
        .group_by("grade", "other_grade")
        .agg(pl.col("pairs").sum())
        .with_columns(scenario=pl.lit(name))
        for name, grades in scenarios.items()
    ]
    write_frame(pl.concat(frames), path, GradeSensitivity)


def _other_priors(connection: duckdb.DuckDBPyConnection, priors: Priors) -> Priors:
    """The priors under the other rule: fitted again where the recorded ones were fitted."""
    counts = _integers(connection, HISTOGRAM)
    fitted, refitted = (
        fit_beta(counts["clicks"], counts[name], counts["pairs"])
        for name in ("examinations", "other_examinations")
    )
    return Priors(refitted, priors.satisfaction) if fitted == priors.attractiveness else priors


def _integers(connection: duckdb.DuckDBPyConnection, sql: str) -> dict[str, np.ndarray]:
    columns = connection.execute(sql).fetchnumpy()
    return {name: np.asarray(values, dtype=np.int64) for name, values in columns.items()}
