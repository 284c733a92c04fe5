"""The queries of a log that k-anonymity lets anyone look at, range by range.

In: impressions and the forms in which queries were typed. Out: one row for each anonymous query,
in frames of bounded size, by ascending key. Nothing else in this room reads the text of a log.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

import duckdb
import polars as pl

from builder.parameters import SelectParameters
from builder.queries.counting import count_queries
from builder.queries.forms import describe
from builder.resources import Limits
from builder.tables import Table

FORMS_PER_RANGE = 500_000

LOG_OF_ALL = "CREATE TEMP VIEW log AS SELECT * FROM impressions"
LOG_WITHOUT = 'CREATE TEMP VIEW log AS SELECT * FROM impressions ANTI JOIN left_out USING ("user")'

TEXTS = """
CREATE TEMP TABLE texts AS
SELECT forms.query, log_queries.text, log_queries.folded, forms.impressions, forms.users
FROM forms SEMI JOIN counted USING (query) JOIN log_queries USING (surface)
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
        min_users: k of k-anonymity.
    """

    asked: int
    heard: int
    passed: int
    connection: duckdb.DuckDBPyConnection
    min_users: int

    def ranges(self) -> Iterator[pl.DataFrame]:
        """The queries in frames, sorted by `query` within and over them.

        Columns: those of `forms.describe`, `impressions`, `clicks`, `users`, `top_clicks`.
        """
        parts = _count(self.connection, "texts") // FORMS_PER_RANGE + 1
        for first, stop in pairwise(part * 2**64 // parts for part in range(parts + 1)):
            keys = {"first": first, "last": stop - 1}
            forms = self.connection.sql(FORMS_OF_RANGE, params=keys).pl()
            counts = self.connection.sql(COUNTS_OF_RANGE, params=keys).pl()
            yield describe(forms, self.min_users).join(
                counts, on="query", how="left", maintain_order="left"
            )


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
        yield AnonymousQueries(
            asked=heard if asked is None else asked,
            heard=heard,
            passed=_count(connection, "counted"),
            connection=connection,
            min_users=params.min_users,
        )


def _count(connection: duckdb.DuckDBPyConnection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])  # noqa: S608
