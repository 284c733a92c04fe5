"""Finds why a later snapshot lacks a document although its crawl contains the page.

Input: the crawled pages of both snapshots, the documents shown in the later one, and its sampling
parameters. Output: the table `absences` of a DuckDB connection, one row per document of the earlier
snapshot that the later snapshot lacks but its crawl has, with a status:

- `not_sampled`: in the earlier sample but not in the later one, whose share or seed differs;
- `not_shown`: shown for a query of the earlier snapshot, but for no selected query of the later;
- `left_out`: shown or sampled in the later snapshot too, but excluded there by a rule (a list,
  a verdict, a duplicate).

Documents that the later crawl lacks have no row: they were removed.
"""

from dataclasses import dataclass

import duckdb
import polars as pl

from builder.io.engine import append_rows, set_variables
from builder.io.tables import Table
from builder.parameters import DocumentParameters
from builder.text.keys import in_sample

ABSENCES = "CREATE TEMP TABLE absences (doc_id VARCHAR, status VARCHAR)"

MISSING = """
SELECT doc_id, sampled, doc_id IN (SELECT doc_id FROM shown_to) AS shown
FROM documents_from
ANTI JOIN documents_to USING (doc_id)
SEMI JOIN crawled_to USING (doc_id)
ORDER BY doc_id
"""


DOC_ID = "format('d{:016x}', doc) AS doc_id"
"""SQL expression of the printable id of a document key."""


@dataclass(frozen=True)
class CrawlTables:
    """Crawled and shown documents of two snapshots; None if unknown, as for imported releases.

    Args:
        pages_from: `doc` of the pages in the earlier crawl.
        pages_to: `doc` of the pages in the later crawl.
        shown_to: `doc` of the documents shown for selected queries of the later snapshot.
        sampling: Sampling parameters of the later snapshot.
    """

    pages_from: Table | None = None
    pages_to: Table | None = None
    shown_to: Table | None = None
    sampling: DocumentParameters | None = None

    def create_views(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Create the views `crawled_from`, `crawled_to` and `shown_to`; empty if unknown."""
        for name, table in (
            ("crawled_from", self.pages_from),
            ("crawled_to", self.pages_to),
            ("shown_to", self.shown_to),
        ):
            if table is not None and table.paths:
                table.relation(connection).select(DOC_ID).create_view(name)
            else:
                connection.execute(f"CREATE TEMP TABLE {name} (doc_id VARCHAR)")
        set_variables(
            connection,
            crawl_from_known=self.pages_from is not None,
            crawl_to_known=self.pages_to is not None,
        )


def classify_absences(connection: duckdb.DuckDBPyConnection, crawls: CrawlTables) -> None:
    """Create the table `absences`: why documents of the earlier snapshot are missing later."""
    crawls.create_views(connection)
    connection.execute(ABSENCES)
    if crawls.sampling is None:
        return
    sampling = crawls.sampling
    missing = connection.sql(MISSING).pl()
    is_selected = in_sample("doc_id", sampling.sample_share, sampling.sample_seed) | pl.col("shown")
    status = (
        pl.when(is_selected)
        .then(pl.lit("left_out"))
        .when(pl.col("sampled"))
        .then(pl.lit("not_sampled"))
        .otherwise(pl.lit("not_shown"))
    )
    append_rows(connection, "absences", missing.select("doc_id", status.alias("status")))
