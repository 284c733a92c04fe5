"""Merges the click estimates of several logs.

Counts are integers over disjoint impressions, so their sums equal the counts of the concatenated
logs. Priors and estimates are recomputed from the sums.
"""

from collections.abc import Sequence
from pathlib import Path

from builder.clicks.estimation import SDBN_ESTIMATES, choose_priors, create_sdbn_estimates
from builder.clicks.statistics import ENGINE_SHARE
from builder.errors import UsageError
from builder.io import parquet
from builder.io.tables import Table, write_query_result
from builder.parameters import ClickParameters
from builder.runtime.limits import ResourceLimits
from schemas import ClickEstimates

SUMS = """
CREATE TEMP TABLE pair_counts AS
SELECT query, doc, sum(impressions)::UINTEGER AS impressions,
       sum(examinations)::UINTEGER AS examinations, sum(clicks)::UINTEGER AS clicks,
       sum(last_clicks)::UINTEGER AS last_clicks,
       CASE WHEN count(*) = count(other_examinations)
            THEN sum(other_examinations)::UINTEGER END AS other_examinations
FROM added
GROUP BY query, doc
ORDER BY query, doc
"""


def sum_estimates(
    estimates: Sequence[Table], out: Path, *, params: ClickParameters, limits: ResourceLimits
) -> int:
    """Sum the click counts of several logs, and recompute the estimates.

    Args:
        estimates: Click estimates (schema `ClickEstimates`) of separate days, shards or
            snapshots, all counted with the same parameters.
        out: Parquet file to write (schema `ClickEstimates`).
        params: Parameters with which all logs were counted; an empirical prior is refitted.
        limits: Limits for threads, memory and scratch space.

    Returns:
        Number of pairs written.

    Raises:
        UsageError: `estimates` is empty; the estimates of the click model are not derived from
            counts; or `params.votes` is `user`, so that counts cannot be added, because a user who
            occurs in two logs would vote twice.
    """
    if not estimates:
        raise UsageError("expected at least one table of click estimates, found none")
    if params.model != "sdbn":
        raise UsageError(
            f"estimates of {params.model} cannot be added because they are not derived from counts "
            "alone; run the model on the concatenated logs, or use sdbn"
        )
    if params.votes == "user":
        raise UsageError(
            'counts with votes = "user" cannot be added because a user who occurs in two logs '
            "would vote twice; run the model on the concatenated logs"
        )
    with limits.connect_to_duckdb(ENGINE_SHARE) as connection:
        files = (path for table in estimates for path in table.paths)
        parquet.read_parquet_relation(connection, *files).create_view("added")
        connection.execute(SUMS)
        create_sdbn_estimates(connection, choose_priors(connection, params))
        return write_query_result(connection, SDBN_ESTIMATES, out, ClickEstimates)
