"""The stage `clicks`: estimates click model parameters for documents shown for candidate queries.

Attractiveness a and satisfaction s of a query-document pair under sDBN (Chapelle & Zhang 2009,
algorithm 1):
a = (clicks + alpha_a) / (examinations + alpha_a + beta_a),
s = (last clicks + alpha_s) / (clicks + alpha_s + beta_s), relevance = a s.
A pair that was never examined has no estimate. Models other than sDBN are trained on the distinct
pages (see `model_estimates`).
"""

from pathlib import Path

import duckdb
import numpy as np

from builder.clicks.diagnostics import write_click_diagnostics
from builder.clicks.model_estimates import create_model_estimates
from builder.clicks.priors import BetaPrior, Priors, fit_beta
from builder.clicks.selection import ImpressionSelection
from builder.clicks.statistics import (
    ENGINE_SHARE,
    SDBN_ENGINE_SHARE,
    ImpressionCounts,
    create_pair_counts,
)
from builder.io.engine import set_sql_variables
from builder.io.tables import write_query_result
from builder.parameters import ClickParameters
from builder.plugins import plugin_packages
from builder.queries import excluded_users
from builder.runtime.ledger import RejectWriter, RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress
from builder.runtime.references import Filters, Same
from builder.runtime.stage import stage
from schemas import Candidates, ClickDiagnostics, ClickEstimates, Impressions, Variants, Verdicts

ATTRACTIVENESS_HISTOGRAM = """
SELECT clicks AS successes, examinations AS trials, count(*) AS pairs
FROM pair_counts GROUP BY ALL ORDER BY ALL
"""

SATISFACTION_HISTOGRAM = """
SELECT last_clicks AS successes, clicks AS trials, count(*) AS pairs
FROM pair_counts GROUP BY ALL ORDER BY ALL
"""

ESTIMATES = """
CREATE VIEW estimates AS
WITH prior AS (
    SELECT getvariable('attractiveness_alpha') AS attractiveness_alpha,
           getvariable('attractiveness_beta') AS attractiveness_beta,
           getvariable('satisfaction_alpha') AS satisfaction_alpha,
           getvariable('satisfaction_beta') AS satisfaction_beta
),
posterior AS (
    SELECT *,
           CASE WHEN examinations > 0 THEN (clicks + attractiveness_alpha)
               / (examinations + attractiveness_alpha + attractiveness_beta) END AS attractiveness,
           CASE WHEN examinations > 0 THEN (last_clicks + satisfaction_alpha)
               / (clicks + satisfaction_alpha + satisfaction_beta) END AS satisfaction
    FROM pair_counts, prior
)
SELECT *, attractiveness * satisfaction AS relevance FROM posterior
"""

SDBN_ESTIMATES = "SELECT * FROM estimates"
"""SQL query for sDBN estimates; without ORDER BY, because DuckDB keeps the order of the table."""

MODEL_ESTIMATES = "SELECT * FROM estimates ORDER BY query, doc"


@stage(
    "clicks",
    version="5",
    writes=(ClickEstimates, ClickDiagnostics),
    plugins=lambda w: plugin_packages("click_models", (w.clicks.model,)),
)
def estimate_relevance(
    out: Path,
    *,
    impressions: Same[Impressions],
    candidates: Same[Candidates],
    params: ClickParameters,
    limits: ResourceLimits,
    progress: Progress,
    variants: Same[Variants] | None = None,
    verdicts: Same[Verdicts] | None = None,
    filters: Filters = (),
) -> RowLedger:
    """Estimate the attractiveness and satisfaction of each document shown for a candidate query.

    Writes `click_estimates`, `click_diagnostics` and `rejects`.

    Args:
        out: Empty output folder of the stage.
        impressions: Result pages shown (schema `Impressions`).
        candidates: Candidate queries of the collection (schema `Candidates`).
        params: Click model and its options.
        limits: Limits for threads, memory and scratch space.
        progress: Receives the number of impressions counted.
        variants: Representative of each query (schema `Variants`); clicks are counted for the
            representative. None to count each query separately.
        verdicts: Labels, such as `bot`, that lists and plug-ins assign (schema `Verdicts`).
        filters: Conditions on verdicts that exclude users, such as bots.

    Returns:
        The ledger: numbers of impressions read, kept and rejected. Reject reasons:
        `query_not_selected`, `user_left_out`, and `no_click_skipped` if impressions without
        clicks are skipped.
    """
    excluded = excluded_users(verdicts, filters)
    selection = ImpressionSelection(impressions, candidates, variants, excluded)
    share = SDBN_ENGINE_SHARE if params.model == "sdbn" else ENGINE_SHARE
    with limits.connect_to_duckdb(share) as connection:
        selection.create_views(connection)
        used = create_pair_counts(connection, params, int(limits.memory * share))
        ledger = _write_rejects(*selection.count_impressions(connection), used, params, out)
        progress.advance(used.total)
        if params.model == "sdbn":
            create_sdbn_estimates(connection, choose_priors(connection, params))
        else:
            create_model_estimates(connection, params, limits)
        rows = SDBN_ESTIMATES if params.model == "sdbn" else MODEL_ESTIMATES
        write_query_result(connection, rows, out / "click_estimates.parquet", ClickEstimates)
        write_click_diagnostics(connection, out / "click_diagnostics.parquet", params, limits)
    return ledger


def _write_rejects(
    total: int,
    excluded: int,
    counted: ImpressionCounts,
    params: ClickParameters,
    out: Path,
) -> RowLedger:
    """Write the table `rejects`, and return the ledger with the row counts of the stage.

    Args:
        total: Total number of impressions.
        excluded: Number of impressions of excluded users.
        counted: Number of impressions, and number of impressions without a click, over the
            candidate queries issued by users who are not excluded.
        params: Section `[clicks]` of the definition.
        out: Folder of the table.
    """
    skipped = counted.without_click if params.no_click == "skip" else 0
    ledger = RowLedger("impressions", rows_in=total, rows_out=counted.total - skipped)
    with RejectWriter(out, "clicks", ledger) as rejects:
        rejects.add("query_not_selected", rows=total - counted.total - excluded)
        rejects.add("user_left_out", rows=excluded)
        if params.no_click == "skip":
            rejects.add("no_click_skipped", rows=skipped)
    return ledger


def choose_priors(connection: duckdb.DuckDBPyConnection, params: ClickParameters) -> Priors:
    """Return the Beta priors of sDBN, as configured or as fitted to the table `pair_counts`."""
    if params.prior == "beta":
        fixed = BetaPrior(params.prior_alpha, params.prior_beta)
        return Priors(fixed, fixed)
    return Priors(
        _fit_prior(connection, ATTRACTIVENESS_HISTOGRAM),
        _fit_prior(connection, SATISFACTION_HISTOGRAM),
    )


def _fit_prior(connection: duckdb.DuckDBPyConnection, histogram_sql: str) -> BetaPrior:
    """Fit a Beta prior to the counts returned by an SQL query."""
    columns = connection.execute(histogram_sql).fetchnumpy()
    successes, trials, pairs = (
        np.asarray(columns[name], dtype=np.int64) for name in ("successes", "trials", "pairs")
    )
    return fit_beta(successes, trials, pairs)


def create_sdbn_estimates(connection: duckdb.DuckDBPyConnection, priors: Priors) -> None:
    """Create the view `estimates`, with the sDBN estimates of each pair under given priors."""
    set_sql_variables(
        connection,
        attractiveness_alpha=priors.attractiveness.alpha,
        attractiveness_beta=priors.attractiveness.beta,
        satisfaction_alpha=priors.satisfaction.alpha,
        satisfaction_beta=priors.satisfaction.beta,
    )
    connection.execute(ESTIMATES)
