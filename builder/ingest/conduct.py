"""What only the whole log shows: impressions that were logged twice, and users that are programs.

In: impressions in keys with their seconds, in scratch space. Out: those to leave out, each with the
first rule that it falls under:

    bot_rate             its user has at least `bot_rate` impressions within an hour of the clock
    bot_no_variation     its user has at least `bot_alike`, all with the same two or more clicks
    repeated_impression  the same user, query and second as an earlier one

Impressions without a user fall under none of them.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from builder import parquet
from builder.ingest.keying import KEYED
from builder.parameters import LogParameters
from builder.resources import Limits
from builder.tables import arrow_schema
from schemas import Impressions

ENGINE_SHARE = 0.35
"""Part of the memory for the engine, which works beside another one."""

NOTED = ("impression", "user", "query", "clicks", "seconds", "file", "record")
"""Columns of impressions that the rules look at or that tell where one stands."""

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


class Staging:
    """A log in scratch space: as its table will have it, and beside what the rules look at.

    Args:
        scratch: Where both are.
    """

    def __init__(self, scratch: Path) -> None:
        self.impressions, self.noted = scratch / "impressions.arrow", scratch / "noted.parquet"
        self._schema = arrow_schema(Impressions)
        self._opened = ExitStack()
        self._count = 0

    def add(self, keyed: pa.Table, file: int) -> None:
        """Impressions of a file, in the columns of `keying.KEYED`."""
        numbers = np.arange(self._count, self._count + len(keyed), dtype=np.uint64)
        files = np.full(len(keyed), file, dtype=np.uint32)
        table = keyed.append_column("impression", pa.array(numbers))
        self._whole.write_table(table.select(self._schema.names).cast(self._schema))
        self._parts.write_table(table.append_column("file", pa.array(files)).select(NOTED))
        self._count += len(keyed)

    def __enter__(self) -> Self:
        noted = KEYED.append(pa.field("impression", pa.uint64()))
        noted = noted.append(pa.field("file", pa.uint32()))
        self._whole = self._opened.enter_context(
            pa.ipc.new_file(str(self.impressions), self._schema)
        )
        self._parts = self._opened.enter_context(
            pq.ParquetWriter(
                self.noted,
                pa.schema([noted.field(name) for name in NOTED]),
                compression="none",
                use_dictionary=False,
            )
        )
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()


class Conduct:
    """The verdict on a staged log.

    Args:
        staging: The log.
        params: `[log]`.
        limits: Memory and scratch space.
    """

    def __init__(self, staging: Staging, params: LogParameters, limits: Limits) -> None:
        self._staging = staging
        with limits.connect(ENGINE_SHARE) as connection:
            parquet.rows(connection, staging.noted).create_view("staged")
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
        with pa.OSFile(str(self._staging.impressions)) as file:
            staged = pa.ipc.open_file(file)
            for batch in map(staged.get_batch, range(staged.num_record_batches)):
                numbers = batch["impression"].to_numpy()
                if not len(self._numbers):
                    yield batch
                    continue
                place = np.searchsorted(self._numbers, numbers)
                place = np.minimum(place, len(self._numbers) - 1)
                yield batch.filter(pa.array(self._numbers[place] != numbers))
