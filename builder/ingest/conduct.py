"""What only the whole log shows: impressions that were logged twice, and users that are programs.

In: a log in scratch space (see `staging`). Out: the impressions to leave out, each
with the first rule that it falls under:

    bot_rate             its user has at least `bot_rate` impressions within an hour of the clock
    bot_no_variation     its user has at least `bot_alike`, all with the same two or more clicks
    repeated_impression  the same user, query and second as an earlier one

Impressions without a user fall under none of them.
"""

import duckdb
import numpy as np

from builder import parquet
from builder.ingest.staging import Staging
from builder.parameters import LogParameters
from builder.resources import Limits
from builder.sorting import Keys

ENGINE_SHARE = 0.35
"""Part of the memory for the engine, which works beside another one."""

BUSY = """
CREATE TEMP TABLE busy AS
SELECT "user", count(*) AS shown, min(len(clicks)) AS least FROM staged
WHERE "user" IS NOT NULL GROUP BY "user" HAVING count(*) >= least($rate, $alike)
"""

HASTY = """
CREATE TEMP TABLE hasty AS
WITH hourly AS (
    SELECT "user", count(*) AS shown FROM staged
    WHERE "user" IN (SELECT "user" FROM busy WHERE shown >= $rate)
    GROUP BY "user", seconds // 3600
)
SELECT DISTINCT "user" FROM hourly WHERE shown >= $rate
"""

ALIKE = """
CREATE TEMP TABLE alike AS
SELECT "user" FROM staged
WHERE "user" IN (SELECT "user" FROM busy WHERE shown >= $alike AND least >= 2)
GROUP BY "user" HAVING min(clicks) = max(clicks)
"""

NO_USERS = 'CREATE TEMP TABLE {name} ("user" UBIGINT)'

REPEATED = """
CREATE TEMP TABLE repeated AS
SELECT "user", query, seconds, min(impression) AS first FROM staged WHERE "user" IS NOT NULL
GROUP BY "user", query, seconds HAVING count(*) > 1
"""

NO_REPEATS = """
CREATE TEMP TABLE repeated ("user" UBIGINT, query UBIGINT, seconds BIGINT, first UBIGINT)
"""

LEFT_OUT = """
CREATE TEMP TABLE left_out AS
WITH of_bots AS (
    SELECT impression, file, record, query, seconds, "user",
           "user" IN (SELECT "user" FROM hasty) AS is_hasty,
           "user" IN (SELECT "user" FROM alike) AS is_alike
    FROM staged WHERE "user" IS NOT NULL
)
SELECT impression, file, record,
       CASE WHEN is_hasty THEN 'bot_rate' WHEN is_alike THEN 'bot_no_variation'
            ELSE 'repeated_impression' END AS reason
FROM of_bots LEFT JOIN repeated USING ("user", query, seconds)
WHERE is_hasty OR is_alike OR (first IS NOT NULL AND impression > first)
"""

ORDERED = "SELECT reason, file, record FROM left_out ORDER BY impression"
NUMBERS = "SELECT impression FROM left_out ORDER BY impression"

Left = tuple[str, int, int]
"""Reason, number of the file, number of the record."""


class Conduct:
    """The verdict on a staged log.

    Args:
        staging: The log.
        params: `[log]`.
        limits: Memory and scratch space.

    Attributes:
        left_out: The impressions to leave out, in order.
        numbers: Their numbers.
    """

    def __init__(self, staging: Staging, params: LogParameters, limits: Limits) -> None:
        with limits.connect(ENGINE_SHARE) as connection:
            parquet.rows(connection, staging.noted).create_view("staged")
            self.left_out = self._judge(connection, params)
            found = connection.sql(NUMBERS).fetchnumpy()["impression"]
        self.numbers: Keys = np.asarray(found, dtype=np.uint64)

    def _judge(self, connection: duckdb.DuckDBPyConnection, params: LogParameters) -> list[Left]:
        if params.bots == "drop":
            least = {"rate": params.bot_rate, "alike": params.bot_alike}
            connection.execute(BUSY, least)
            connection.execute(HASTY, {"rate": params.bot_rate})
            connection.execute(ALIKE, {"alike": params.bot_alike})
        else:
            for name in ("hasty", "alike"):
                connection.execute(NO_USERS.format(name=name))
        connection.execute(REPEATED if params.repeats == "drop" else NO_REPEATS)
        connection.execute(LEFT_OUT)
        return connection.sql(ORDERED).fetchall()
