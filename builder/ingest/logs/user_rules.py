"""Finds the impressions that the user rules drop: repeated impressions, and those of bots.

The rules, in order of precedence:

    bot_rate             the user has at least `bot_rate` impressions within one clock hour
    bot_no_variation     the user has at least `bot_alike` impressions, all with the same two or
                         more clicks
    repeated_impression  same user, query and second as an earlier impression

Anonymous impressions are never dropped. `bot_rate` and `repeated_impression` require times.
"""

from pathlib import Path

import duckdb
import pyarrow as pa

from builder.io import parquet
from builder.io.engine import set_sql_variables
from builder.parameters import LogParameters

DROPPED = """
WITH log AS (SELECT * FROM logged WHERE "user" IS NOT NULL),
busy_users AS (
    SELECT "user" FROM (
        SELECT "user" FROM log
        GROUP BY "user", floor(seconds / 3600) HAVING count(*) >= getvariable('bot_rate')
    )
),
uniform_users AS (
    SELECT "user" FROM log GROUP BY "user"
    HAVING count(*) >= getvariable('bot_alike') AND min(len(clicks)) >= 2
       AND min(clicks) = max(clicks)
),
repeats AS (
    SELECT "user", query, seconds, min(impression) AS first FROM log
    GROUP BY "user", query, seconds HAVING count(*) > 1
),
broken AS (
    SELECT impression, 1 AS priority, 'bot_rate' AS reason
    FROM log SEMI JOIN busy_users USING ("user") WHERE getvariable('drop_busy')
    UNION ALL
    SELECT impression, 2, 'bot_no_variation'
    FROM log SEMI JOIN uniform_users USING ("user") WHERE getvariable('drop_bots')
    UNION ALL
    SELECT impression, 3, 'repeated_impression'
    FROM log JOIN repeats USING ("user", query, seconds)
    WHERE impression > first AND getvariable('drop_repeats')
),
first_rule AS (
    SELECT impression, arg_min(reason, priority) AS reason FROM broken GROUP BY impression
)
SELECT impression, file, record, reason
FROM first_rule JOIN logged USING (impression) ORDER BY impression
"""


def find_impressions_to_drop(
    connection: duckdb.DuckDBPyConnection, log_path: Path, params: LogParameters
) -> pa.RecordBatchReader:
    """Find the impressions that the user rules drop, each with the first rule that applies.

    Args:
        connection: DuckDB connection.
        log_path: Path of `log.parquet` (schema `staging.USER_RULE_COLUMNS`).
        params: Section `[log]` of the definition.

    Returns:
        Reader of the columns `impression`, `file`, `record`, `reason`, sorted by impression.
    """
    is_dated = params.undated == "reject"
    parquet.read_parquet_relation(connection, log_path).create_view("logged")
    set_sql_variables(
        connection,
        bot_rate=params.bot_rate,
        bot_alike=params.bot_alike,
        drop_bots=params.bots == "drop",
        drop_busy=params.bots == "drop" and is_dated,
        drop_repeats=params.repeats == "drop" and is_dated,
    )
    return connection.sql(DROPPED).to_arrow_reader(2**16)
