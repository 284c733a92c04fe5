"""Diagnostics of the click evidence: click-through by rank, thin evidence, concentration by user.

In: the evidence of a log. Out: the table `click_diagnostics`, one row per measure and
rank, as an integer count out of an integer total, so that any share can be recomputed and added
over snapshots.
"""

from pathlib import Path

import duckdb
import numpy as np
import polars as pl

from builder.clicks.evidence import Evidence
from builder.clicks.tally import Tally
from builder.tables import write_query
from schemas import ClickDiagnostics

MEASURES = """
WITH pairs AS (
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
UNION ALL SELECT measure, 0, count, total FROM tallied
UNION ALL SELECT 'pairs_never_examined', 0, never_examined, total FROM pairs
UNION ALL SELECT 'pairs_examined_once', 0, examined_once, total FROM pairs
UNION ALL SELECT 'pairs_clicked', 0, clicked, total FROM pairs
UNION ALL SELECT 'impressions_of_most_active_user', 0, most_active, total FROM users
UNION ALL SELECT 'impressions_of_top_percent_of_users', 0, top_percent, total FROM users
ORDER BY measure, rank
"""


TALLIED = {
    "impressions_without_click": "without_click",
    "impressions_with_reordered_clicks": "reordered",
    "impressions_with_repeated_clicks": "repeated",
    "impressions_with_duplicate_results": "with_duplicate",
    "impressions_without_user": "anonymous",
}
"""Measures over impressions, and where the tally has them."""


def write_diagnostics(
    connection: duckdb.DuckDBPyConnection, evidence: Evidence, path: Path
) -> None:
    """Write the diagnostics of the impressions used and the pairs counted.

    Args:
        connection: Has `pair_counts`.
        evidence: What was counted.
        path: The Parquet file to write (contract `ClickDiagnostics`).
    """
    tally = evidence.tally
    values = {name: getattr(tally, field) for name, field in TALLIED.items()}
    tallied = pl.DataFrame({"measure": list(values), "count": list(values.values())})
    frames = {
        "clicked_ranks": clicked_ranks(tally),
        "user_activity": evidence.activity,
        "tallied": tallied.with_columns(total=pl.lit(tally.total)),
    }
    for name, frame in frames.items():
        connection.register(name, frame.to_arrow())
    write_query(connection, MEASURES, path, ClickDiagnostics)


def clicked_ranks(tally: Tally) -> pl.DataFrame:
    """Columns rank, clicks, total: impressions that show so many results, and click that one."""
    longest = len(tally.lengths) - 1
    shown = tally.lengths[::-1].cumsum()[::-1][1:]
    clicks = np.zeros(longest, dtype=np.int64)
    found = tally.clicks[1 : longest + 1]
    clicks[: len(found)] = found
    return pl.DataFrame({"rank": np.arange(1, longest + 1), "clicks": clicks, "total": shown})
