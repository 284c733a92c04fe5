"""Diagnostics of the click evidence: click-through by rank, thin evidence, concentration by user.

In: the views that `statistics` made. Out: the table `click_diagnostics`, one row per measure and
rank, as an integer count out of an integer total, so that any share can be recomputed and added
over snapshots.
"""

from pathlib import Path

import duckdb

from builder.tables import write_query
from schemas import ClickDiagnostics

PER_RANK = """
CREATE TEMP TABLE clicked_ranks AS
WITH lengths AS (
    SELECT len(results) AS length, count(*) AS impressions FROM used_impressions GROUP BY ALL
),
shown_at AS (
    SELECT rank, sum(impressions) AS total
    FROM (SELECT unnest(range(1, length + 1)) AS rank, impressions FROM lengths) GROUP BY rank
),
clicked_at AS (
    SELECT rank, count(*) AS clicks
    FROM (SELECT unnest(list_distinct(clicks)) AS rank FROM used_impressions) GROUP BY rank
)
SELECT rank, coalesce(clicks, 0) AS clicks, total
FROM shown_at LEFT JOIN clicked_at USING (rank)
"""

PER_USER = """
CREATE TEMP TABLE user_activity AS
SELECT impressions, count(*) AS users
FROM (SELECT "user", count(*) AS impressions FROM used_impressions
      WHERE "user" IS NOT NULL GROUP BY "user")
GROUP BY impressions
"""

MEASURES = """
WITH pages AS (
    SELECT count(*) AS total,
           count(*) FILTER (len(clicks) = 0) AS without_click,
           count(*) FILTER (clicks <> list_sort(clicks)) AS reordered,
           count(*) FILTER (len(list_distinct(clicks)) < len(clicks)) AS repeated,
           count(*) FILTER (len(list_distinct(results)) < len(results)) AS with_duplicate,
           count(*) FILTER ("user" IS NULL) AS anonymous
    FROM used_impressions
),
pairs AS (
    SELECT count(*) AS total,
           count(*) FILTER (examinations = 0) AS never_examined,
           count(*) FILTER (examinations = 1) AS examined_once,
           count(*) FILTER (clicks > 0) AS clicked
    FROM pair_counts WHERE impressions > 0
),
ranked_users AS (
    SELECT impressions, users,
           sum(users) OVER (ORDER BY impressions DESC) - users AS before,
           ceil(sum(users) OVER () * 0.01)::BIGINT AS percentile
    FROM user_activity
),
users AS (
    SELECT coalesce(sum(impressions * users), 0) AS total,
           coalesce(max(impressions), 0) AS most_active,
           coalesce(sum(impressions * greatest(least(users, percentile - before), 0)), 0)
               AS top_percent
    FROM ranked_users
)
SELECT 'click_through' AS measure, rank, clicks AS count, total FROM clicked_ranks
UNION ALL SELECT 'impressions_without_click', 0, without_click, total FROM pages
UNION ALL SELECT 'impressions_with_reordered_clicks', 0, reordered, total FROM pages
UNION ALL SELECT 'impressions_with_repeated_clicks', 0, repeated, total FROM pages
UNION ALL SELECT 'impressions_with_duplicate_results', 0, with_duplicate, total FROM pages
UNION ALL SELECT 'impressions_without_user', 0, anonymous, total FROM pages
UNION ALL SELECT 'pairs_never_examined', 0, never_examined, total FROM pairs
UNION ALL SELECT 'pairs_examined_once', 0, examined_once, total FROM pairs
UNION ALL SELECT 'pairs_clicked', 0, clicked, total FROM pairs
UNION ALL SELECT 'impressions_of_most_active_user', 0, most_active, total FROM users
UNION ALL SELECT 'impressions_of_top_percent_of_users', 0, top_percent, total FROM users
ORDER BY measure, rank
"""


def write_diagnostics(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Write the diagnostics of the impressions used and the pairs counted.

    Args:
        connection: Has the view `used_impressions` and the table `pair_counts`.
        path: The Parquet file to write (contract `ClickDiagnostics`).
    """
    connection.execute(PER_RANK)
    connection.execute(PER_USER)
    write_query(connection, MEASURES, path, ClickDiagnostics)
