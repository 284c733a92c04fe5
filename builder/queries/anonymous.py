"""Reads the k-anonymous queries of a log in batches, and writes the selected candidates.

This is the only module of the package that reads the query texts of a log, so that no other code
sees a query issued by fewer than k users.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import duckdb
import polars as pl

from builder.io.tables import Table, write_query_result
from builder.parameters import SelectionParameters
from builder.queries.counting import count_candidate_users, count_queries
from builder.queries.forms import choose_published_texts
from builder.runtime.limits import ResourceLimits
from schemas import Candidates

FORMS_PER_RANGE = 200_000

ALL_IMPRESSIONS = "CREATE TEMP VIEW log AS SELECT * FROM impressions"
ELIGIBLE_IMPRESSIONS = """
CREATE TEMP VIEW log AS SELECT * FROM impressions ANTI JOIN excluded_users USING ("user")
"""

TEXTS = """
CREATE TEMP TABLE texts AS
SELECT forms.query, log_queries.text, log_queries.folded, forms.impressions, forms.anonymous
FROM forms JOIN log_queries USING (surface)
"""

CANDIDATE_COLUMNS = ("query", "text", "topics", "impressions", "clicks")

EMPTY_KEPT = """
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
    """The k-anonymous queries of a log, and the candidate queries selected from them.

    Args:
        total: Number of distinct queries of the log.
        eligible: Number of distinct queries, except those issued only by excluded users.
        anonymous: Number of distinct queries that satisfy k-anonymity.
        connection: DuckDB connection with the tables of query counts and texts.
        params: Section `[select]` of the definition.
    """

    total: int
    eligible: int
    anonymous: int
    connection: duckdb.DuckDBPyConnection
    params: SelectionParameters

    def iter_batches(self) -> Iterator[pl.DataFrame]:
        """Yield all k-anonymous queries in batches, in ascending order of `query`.

        The columns are `impressions`, `clicks`, `top_clicks`, and those that
        `forms.choose_published_texts` returns.
        """
        parts = _count_rows(self.connection, "texts") // FORMS_PER_RANGE + 1
        for first, stop in pairwise(part * 2**64 // parts for part in range(parts + 1)):
            keys = {"first": first, "last": stop - 1}
            forms = self.connection.sql(FORMS_OF_RANGE, params=keys).pl()
            counts = self.connection.sql(COUNTS_OF_RANGE, params=keys).pl()
            yield choose_published_texts(forms).join(
                counts, on="query", how="left", maintain_order="left"
            )

    def add_candidates(self, queries: pl.DataFrame) -> None:
        """Add queries with the columns `CANDIDATE_COLUMNS` to the candidates."""
        self.connection.register("selected", queries.select(CANDIDATE_COLUMNS).to_arrow())
        self.connection.execute("INSERT INTO kept SELECT * FROM selected")
        self.connection.unregister("selected")

    def write_candidates(self, path: Path) -> int:
        """Count the users of each candidate, write all candidates, and return how many there are.

        Args:
            path: Parquet file to write (schema `Candidates`).
        """
        count_candidate_users(self.connection, self.params)
        return write_query_result(self.connection, CANDIDATES, path, Candidates)


@contextmanager
def select_k_anonymous_queries(
    impressions: Table,
    log_queries: Table,
    params: SelectionParameters,
    limits: ResourceLimits,
    excluded_users: pl.Series | None = None,
) -> Iterator[AnonymousQueries]:
    """Select the k-anonymous queries of a log, and open a context for reading them.

    Args:
        impressions: Table with the schema `Impressions`.
        log_queries: Table with the schema `LogQueries`.
        params: Section `[select]`; `anonymity`, `min_users` and `navigational_share` are used.
        limits: Memory and threads.
        excluded_users: Keys of users, such as bots, whose impressions are ignored.

    Raises:
        DataError: `params.anonymity` is `users`, but no impression has a user.
    """
    with limits.connect_to_duckdb(0.6) as connection:
        create_log_view(connection, impressions, excluded_users)
        log_queries.create_view(connection, "log_queries")
        total = None
        if excluded_users is not None and not excluded_users.is_empty():
            total = _count_rows(connection, "(SELECT DISTINCT query FROM impressions)")
        eligible = count_queries(connection, params)
        connection.execute(TEXTS)
        connection.execute(EMPTY_KEPT)
        yield AnonymousQueries(
            total=eligible if total is None else total,
            eligible=eligible,
            anonymous=_count_rows(connection, "counted"),
            connection=connection,
            params=params,
        )


def create_log_view(
    connection: duckdb.DuckDBPyConnection, impressions: Table, excluded_users: pl.Series | None
) -> None:
    """Create the views `impressions` (of all users) and `log` (without excluded users)."""
    impressions.create_view(connection, "impressions")
    if excluded_users is None or excluded_users.is_empty():
        connection.execute(ALL_IMPRESSIONS)
        return
    connection.register("excluded_users", excluded_users.alias("user").to_frame().to_arrow())
    connection.execute(ELIGIBLE_IMPRESSIONS)


def _count_rows(connection: duckdb.DuckDBPyConnection, table: str) -> int:
    """Return the number of rows of a table or subquery."""
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])  # noqa: S608
