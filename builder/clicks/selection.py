"""Selects the impressions of candidate queries, without those of excluded users.

In the view `used_impressions`, each query is replaced by the query that represents its variant
set (spellings and word orders of the same query).
"""

from dataclasses import dataclass

import duckdb
import polars as pl

from builder.io.tables import Table

USED_IMPRESSIONS = """
CREATE VIEW used_impressions AS
SELECT impression, "user", {query} AS query, results, clicks
FROM impressions
SEMI JOIN candidates USING (query)
{users}
{variants}
"""
WITHOUT_USERS = 'ANTI JOIN excluded_users USING ("user")'
REPRESENTATIVE = "coalesce(representative, query)"
VARIANTS = "LEFT JOIN (SELECT query, representative FROM variants) USING (query)"

NUMBER_OF_IMPRESSIONS = "SELECT count(*) FROM impressions"

NUMBER_OF_EXCLUDED = """
SELECT count(*) FROM impressions
SEMI JOIN candidates USING (query)
SEMI JOIN excluded_users USING ("user")
"""


@dataclass(frozen=True)
class ImpressionSelection:
    """Impressions of a log, the queries whose impressions count, and the users to exclude.

    Args:
        impressions: Result pages shown (schema `Impressions`).
        candidates: Queries whose impressions are counted (schema `Candidates`).
        variants: Query that represents each query (schema `Variants`); None if each query
            represents itself.
        excluded_users: Users whose impressions are not counted.
    """

    impressions: Table
    candidates: Table
    variants: Table | None
    excluded_users: pl.Series

    def create_views(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Create the view `used_impressions`, which contains the selected impressions."""
        self.impressions.create_view(connection, "impressions")
        self.candidates.create_view(connection, "candidates")
        if self.variants is not None:
            self.variants.create_view(connection, "variants")
        connection.register("excluded_users", self.excluded_users.to_frame("user").to_arrow())
        has_variants = self.variants is not None
        sql = USED_IMPRESSIONS.format(
            query=REPRESENTATIVE if has_variants else "query",
            users=WITHOUT_USERS if len(self.excluded_users) else "",
            variants=VARIANTS if has_variants else "",
        )
        connection.execute(sql)

    def count_impressions(self, connection: duckdb.DuckDBPyConnection) -> tuple[int, int]:
        """Return the number of all impressions, and the number dropped by the user filter.

        The second number only counts impressions of candidate queries.
        """
        total = connection.execute(NUMBER_OF_IMPRESSIONS).fetchall()[0][0]
        if not len(self.excluded_users):
            return int(total), 0
        return int(total), int(connection.execute(NUMBER_OF_EXCLUDED).fetchall()[0][0])
