"""Determines why documents are missing from a later snapshot although its crawl contains them.

Input: the crawled pages of both snapshots, the documents shown to users in search results of the
later snapshot, and the sampling parameters of the later snapshot. Output: the table `absences` of a
DuckDB connection, with one row per document of the earlier snapshot that is missing from the later
snapshot but not from the later crawl. The column `status` is one of:

- `not_sampled`: in the random sample of the earlier snapshot, but not in the random sample of the
  later snapshot, which has a different sample share or seed;
- `not_shown`: shown for a query of the earlier snapshot, but not for any selected query of the
  later snapshot;
- `left_out`: shown or sampled in the later snapshot, but excluded because of a URL list, because
  of a label such as spam, or as a duplicate.

Documents that are missing from the later crawl have no row: they were removed.
"""

from dataclasses import dataclass

import duckdb
import polars as pl

from builder.io.engine import append_rows, set_sql_variables
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
"""SQL expression that converts a document key to a printable document id."""


@dataclass(frozen=True)
class CrawlTables:
    """Pages crawled for two snapshots, and documents shown to users in the later snapshot.

    A field is None if its data are unknown; for example, for imported releases. Only the column
    `doc` of the tables is read.

    Args:
        pages_from: Pages of the earlier crawl.
        pages_to: Pages of the later crawl.
        shown_to: Documents shown for selected queries of the later snapshot.
        sampling: Parameters in the section `[documents]` for the later snapshot.
    """

    pages_from: Table | None = None
    pages_to: Table | None = None
    shown_to: Table | None = None
    sampling: DocumentParameters | None = None

    def create_views(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Create views with the ids of the crawled pages and of the shown documents.

        The views `crawled_from` and `crawled_to` contain the pages of the earlier and of the later
        crawl; `shown_to` contains the documents shown in the later snapshot. An empty table
        replaces a view whose data are unknown. The variables `crawl_from_known` and
        `crawl_to_known` record whether the pages of each crawl are known.
        """
        for name, table in (
            ("crawled_from", self.pages_from),
            ("crawled_to", self.pages_to),
            ("shown_to", self.shown_to),
        ):
            if table is not None and table.paths:
                table.relation(connection).select(DOC_ID).create_view(name)
            else:
                connection.execute(f"CREATE TEMP TABLE {name} (doc_id VARCHAR)")
        set_sql_variables(
            connection,
            crawl_from_known=self.pages_from is not None,
            crawl_to_known=self.pages_to is not None,
        )


def classify_absences(connection: duckdb.DuckDBPyConnection, crawls: CrawlTables) -> None:
    """Create the table `absences`: why documents are missing although the later crawl has them.

    Args:
        connection: DuckDB connection with the views `documents_from` and `documents_to`.
        crawls: Pages crawled for both snapshots, and documents shown in the later snapshot.
    """
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
