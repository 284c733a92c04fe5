"""Which impressions of a log in keys count: those of candidate queries, but for some users'.

In: the tables of a snapshot. Out: the view `used_impressions` of a connection, with the query that
stands for each query.
"""

from dataclasses import dataclass

import duckdb
import polars as pl

from builder.tables import Table

SELECTED = """
CREATE VIEW used_impressions AS
SELECT impression, "user", {query} AS query, results, clicks
FROM impressions
SEMI JOIN candidates USING (query)
{users}
{variants}
WHERE impression >= getvariable('first') AND impression < getvariable('last')
"""
WITHOUT_USERS = 'ANTI JOIN left_out_users USING ("user")'
STANDS_FOR = "coalesce(representative, query)"
VARIANTS = "LEFT JOIN (SELECT query, representative FROM variants) USING (query)"


@dataclass(frozen=True)
class Selection:
    """The impressions that count.

    Args:
        impressions: Result pages shown (contract `Impressions`).
        candidates: Queries whose impressions count (contract `Candidates`).
        variants: Which query stands for which (contract `Variants`), or None.
        left_out: Users whose impressions do not count.
    """

    impressions: Table
    candidates: Table
    variants: Table | None
    left_out: pl.Series

    def open(self, connection: duckdb.DuckDBPyConnection, first: int, last: int) -> None:
        """Create the view `used_impressions` of the impressions numbered first to last - 1."""
        self.impressions.view(connection, "impressions")
        self.candidates.view(connection, "candidates")
        if self.variants is not None:
            self.variants.view(connection, "variants")
        connection.register("left_out_users", self.left_out.to_frame("user").to_arrow())
        connection.execute("SET VARIABLE first = ?", [first])
        connection.execute("SET VARIABLE last = ?", [last])
        has_variants = self.variants is not None
        sql = SELECTED.format(
            query=STANDS_FOR if has_variants else "query",
            users=WITHOUT_USERS if len(self.left_out) else "",
            variants=VARIANTS if has_variants else "",
        )
        connection.execute(sql)

    def extent(self) -> tuple[int, int]:
        """The number of the first impression, and that after the last."""
        number = pl.col("impression")
        found = self.impressions.scan().select(first=number.min(), past=number.max() + 1).collect()
        first, past = found.row(0)
        return first or 0, past or 0
