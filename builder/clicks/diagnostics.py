"""Computes click diagnostics, such as click-through rates, sparsity and click model quality.

The table `click_diagnostics` has one row per measure and rank, with an integer count and total, so
that proportions can be pooled over snapshots. Measures on held-out impressions also have a value
and the name of the model.
"""

from pathlib import Path

import duckdb
import polars as pl

from builder.clicks.held_out import evaluate_on_held_out_impressions
from builder.io.tables import write_query_result
from builder.parameters import ClickParameters
from builder.runtime.limits import ResourceLimits
from schemas import ClickDiagnostics

SHARES = """
CREATE VIEW shares AS
WITH page_properties AS (
    SELECT weight, len(clicks) = 0 AS without_click,
           CASE WHEN len(clicks) > 1 THEN clicks <> list_sort(clicks) END AS has_reordered_clicks,
           CASE WHEN len(clicks) > 1 THEN list_unique(clicks) < len(clicks) END
               AS has_repeated_clicks,
           list_unique(results) < length AS has_duplicate_results
    FROM pages
),
page_totals AS (
    SELECT coalesce(sum(weight), 0) AS total,
           coalesce(sum(weight) FILTER (without_click), 0) AS without_click,
           coalesce(sum(weight) FILTER (has_reordered_clicks), 0) AS reordered,
           coalesce(sum(weight) FILTER (has_repeated_clicks), 0) AS repeated,
           coalesce(sum(weight) FILTER (has_duplicate_results), 0) AS duplicates
    FROM page_properties
),
lengths AS (
    SELECT length, sum(weight) AS impressions FROM pages GROUP BY length
),
clicked_ranks AS (
    SELECT rank, sum(weight) AS clicks
    FROM (SELECT unnest(list_distinct(clicks))::BIGINT AS rank, weight FROM pages)
    GROUP BY rank
),
ranks AS (
    SELECT unnest(range(1, coalesce(max(length), 0) + 1)) AS rank FROM lengths
),
click_through AS (
    SELECT rank, coalesce(any_value(clicks), 0) AS clicks, sum(impressions) AS shown
    FROM ranks LEFT JOIN clicked_ranks USING (rank) JOIN lengths ON length >= rank
    GROUP BY rank
),
pairs AS (
    SELECT count(*) AS total,
           count(*) FILTER (examinations = 0) AS never_examined,
           count(*) FILTER (examinations = 1) AS examined_once,
           count(*) FILTER (clicks > 0) AS clicked
    FROM pair_counts WHERE impressions > 0
),
active_users AS (
    SELECT "user", count(*) AS impressions
    FROM used_impressions WHERE "user" IS NOT NULL GROUP BY "user"
),
activity AS (
    SELECT impressions, count(*) AS users FROM active_users GROUP BY impressions
),
ranked_users AS (
    SELECT impressions, users,
           sum(users) OVER (ORDER BY impressions DESC) - users AS before,
           ceil(sum(users) OVER () * 0.01)::BIGINT AS percentile
    FROM activity
),
users AS (
    SELECT coalesce(sum(impressions * users), 0) AS total,
           coalesce(max(impressions), 0) AS most_active,
           coalesce(sum(impressions * greatest(least(users, percentile - before), 0)), 0)
               AS top_percent
    FROM ranked_users
)
SELECT 'click_through' AS measure, rank, clicks AS count, shown AS total FROM click_through
UNION ALL SELECT 'impressions_without_click', 0, without_click, total FROM page_totals
UNION ALL SELECT 'impressions_with_reordered_clicks', 0, reordered, total FROM page_totals
UNION ALL SELECT 'impressions_with_repeated_clicks', 0, repeated, total FROM page_totals
UNION ALL SELECT 'impressions_with_duplicate_results', 0, duplicates, total FROM page_totals
UNION ALL SELECT 'impressions_without_user', 0, page_totals.total - users.total, page_totals.total
          FROM page_totals, users
UNION ALL SELECT 'pairs_never_examined', 0, never_examined, total FROM pairs
UNION ALL SELECT 'pairs_examined_once', 0, examined_once, total FROM pairs
UNION ALL SELECT 'pairs_clicked', 0, clicked, total FROM pairs
UNION ALL SELECT 'impressions_of_most_active_user', 0, most_active, total FROM users
UNION ALL SELECT 'impressions_of_top_percent_of_users', 0, top_percent, total FROM users
"""

DIAGNOSTICS = """
SELECT *, NULL::DOUBLE AS value, NULL::VARCHAR AS model FROM shares
UNION ALL SELECT * FROM predictions
ORDER BY measure, rank
"""


def write_click_diagnostics(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    params: ClickParameters,
    limits: ResourceLimits,
) -> None:
    """Write click-through rates, sparsity and model quality to the table `click_diagnostics`.

    Args:
        connection: DuckDB connection with `used_impressions`, `pages` and `pair_counts`; see
            `create_pair_counts`.
        path: Parquet file to write (schema `ClickDiagnostics`).
        params: Click model and its options.
        limits: Memory limit for arrays.
    """
    predictions = pl.DataFrame(
        evaluate_on_held_out_impressions(connection, params, limits),
        schema=ClickDiagnostics.dtypes(),
        orient="row",
    )
    connection.register("predictions", predictions.to_arrow())
    connection.execute(SHARES)
    write_query_result(connection, DIAGNOSTICS, path, ClickDiagnostics)
