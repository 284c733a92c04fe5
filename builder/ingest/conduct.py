"""What only the whole log shows: impressions that were logged twice, and users that are programs.

In: impressions in keys with their seconds, in scratch space. Out: those to leave out, each with the
first rule that it falls under:

    bot_rate             its user has at least `bot_rate` impressions within an hour of the clock
    bot_no_variation     its user has at least `bot_alike`, all with the same two or more clicks
    repeated_impression  the same user, query and second as an earlier one

Impressions without a user fall under none of them.
"""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from builder.parameters import LogParameters
from builder.resources import Limits

STAGED = {"seconds": pa.int64(), "file": pa.uint32(), "record": pa.uint64()}
"""Columns that impressions have in scratch space only."""

HASTY = """
CREATE TEMP TABLE hasty AS
WITH hourly AS (
    SELECT "user", count(*) AS shown FROM staged WHERE "user" IS NOT NULL
    GROUP BY "user", seconds // 3600
)
SELECT DISTINCT "user" FROM hourly WHERE shown >= $rate
"""

ALIKE = """
CREATE TEMP TABLE alike AS
SELECT "user" FROM staged WHERE "user" IS NOT NULL GROUP BY "user"
HAVING count(*) >= $alike AND min(len(clicks)) >= 2 AND min(clicks) = max(clicks)
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
        staged: Impressions with the columns of `STAGED`.
        params: `[log]`.
        limits: Memory and scratch space.
    """

    def __init__(self, staged: Path, params: LogParameters, limits: Limits) -> None:
        self._staged = staged
        with limits.connect() as connection:
            connection.read_parquet(str(staged)).create_view("staged")
            self.left_out = self._judge(connection, params)
            found = connection.sql(NUMBERS).fetchnumpy()["impression"]
        self._numbers = np.asarray(found, dtype=np.uint64)

    def _judge(self, connection: duckdb.DuckDBPyConnection, params: LogParameters) -> list[Left]:
        if params.bots == "drop":
            connection.execute(HASTY, {"rate": params.bot_rate})
            connection.execute(ALIKE, {"alike": params.bot_alike})
        else:
            for name in ("hasty", "alike"):
                connection.execute(NO_USERS.format(name=name))
        connection.execute(REPEATED if params.repeats == "drop" else NO_REPEATS)
        connection.execute(LEFT_OUT)
        return connection.sql(ORDERED).fetchall()

    def kept(self) -> Iterator[pa.RecordBatch]:
        """The impressions that stay, in order, as they were staged."""
        with pq.ParquetFile(self._staged) as file:
            for batch in file.iter_batches():
                numbers = batch["impression"].to_numpy()
                if not len(self._numbers):
                    yield batch
                    continue
                place = np.searchsorted(self._numbers, numbers)
                place = np.minimum(place, len(self._numbers) - 1)
                yield batch.filter(pa.array(self._numbers[place] != numbers))
