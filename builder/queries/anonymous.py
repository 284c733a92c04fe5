"""The queries of a log that k-anonymity lets anyone look at, range by range.

In: impressions and the forms in which queries were typed. Out: one row for each anonymous query,
in frames of bounded size, by ascending key; and the table of those that are kept. Nothing else in
this room reads the text of a log.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import duckdb
import polars as pl

from builder.io.tables import Table, write_query
from builder.parameters import SelectParameters
from builder.queries.counting import count_queries, count_users
from builder.queries.forms import describe
from builder.runtime.limits import Limits
from schemas import Candidates

FORMS_PER_RANGE = 200_000

LOG_OF_ALL = "CREATE TEMP VIEW log AS SELECT * FROM impressions"
LOG_WITHOUT = 'CREATE TEMP VIEW log AS SELECT * FROM impressions ANTI JOIN left_out USING ("user")'

TEXTS = """
CREATE TEMP TABLE texts AS
SELECT forms.query, log_queries.text, log_queries.folded, forms.impressions, forms.anonymous
FROM forms JOIN log_queries USING (surface)
"""

KEPT = ("query", "text", "topics", "impressions", "clicks")

NONE_KEPT = """
CREATE TEMP TABLE kept (
    query UBIGINT, text VARCHAR, topics VARCHAR[], impressions UINTEGER, clicks UINTEGER
)
"""

CANDIDATES = """
SELECT query, text, topics, impressions, users, clicks, NULL::VARCHAR AS variant_set
FROM kept JOIN users_of_kept USING (query) ORDER BY query
"""

FORMS_OF_RANGE = "SELECT * FROM texts WHERE query BETWEEN $first AND $last"
COUNTS_OF_RANGE = "SELECT * FROM counted WHERE query BETWEEN $first AND $last"


@dataclass(frozen=True)
class AnonymousQueries:
    """The anonymous queries of a log.

    Args:
        asked: Distinct queries of the log.
        heard: Distinct queries that users asked who are not left out.
        passed: Distinct queries that passed k-anonymity.
        connection: Holds their counts and forms.
        params: `[select]`.
    """

    asked: int
    heard: int
    passed: int
    connection: duckdb.DuckDBPyConnection
    params: SelectParameters

    def ranges(self) -> Iterator[pl.DataFrame]:
        """The queries in frames, sorted by `query` within and over them.

        Columns: those of `forms.describe`, `impressions`, `clicks`, `top_clicks`.
        """
        parts = _count(self.connection, "texts") // FORMS_PER_RANGE + 1
        for first, stop in pairwise(part * 2**64 // parts for part in range(parts + 1)):
            keys = {"first": first, "last": stop - 1}
            forms = self.connection.sql(FORMS_OF_RANGE, params=keys).pl()
            counts = self.connection.sql(COUNTS_OF_RANGE, params=keys).pl()
            yield describe(forms).join(counts, on="query", how="left", maintain_order="left")

    def keep(self, queries: pl.DataFrame) -> None:
        """Add queries of a range, columns `KEPT`, to those that `write_kept` writes."""
        self.connection.register("chosen", queries.select(KEPT).to_arrow())
        self.connection.execute("INSERT INTO kept SELECT * FROM chosen")
        self.connection.unregister("chosen")

    def write_kept(self, path: Path) -> int:
        """Write the queries kept, with their exact numbers of users; returns their number.

        Args:
            path: File of the table (see `schemas.Candidates`).
        """
        count_users(self.connection, self.params)
        return write_query(self.connection, CANDIDATES, path, Candidates)


@contextmanager
def anonymous_queries(
    impressions: Table,
    log_queries: Table,
    params: SelectParameters,
    limits: Limits,
    left_out_users: pl.Series | None = None,
) -> Iterator[AnonymousQueries]:
    """Count a log and open its anonymous queries.

    Args:
        impressions: See `schemas.Impressions`.
        log_queries: See `schemas.LogQueries`.
        params: `anonymity`, `min_users` and the navigational rule.
        limits: Memory and threads.
        left_out_users: Users whose impressions do not count at all, such as bots.

    Raises:
        DataError: users are to be counted, but the log names none.
    """
    with limits.connect(0.6) as connection:
        impressions.view(connection, "impressions")
        log_queries.view(connection, "log_queries")
        asked = None
        if left_out_users is None or left_out_users.is_empty():
            connection.execute(LOG_OF_ALL)
        else:
            connection.register("left_out", left_out_users.alias("user").to_frame().to_arrow())
            connection.execute(LOG_WITHOUT)
            asked = _count(connection, "(SELECT DISTINCT query FROM impressions)")
        heard = count_queries(connection, params)
        connection.execute(TEXTS)
        connection.execute(NONE_KEPT)
        yield AnonymousQueries(
            asked=heard if asked is None else asked,
            heard=heard,
            passed=_count(connection, "counted"),
            connection=connection,
            params=params,
        )


def _count(connection: duckdb.DuckDBPyConnection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])  # noqa: S608
