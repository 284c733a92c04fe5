"""Why a snapshot lacks a document of the one before: the crawl lacks it, or a rule of selection.

In: the crawled pages of both snapshots, what the later one showed, and how it samples. Out: the
table `absences` of a DuckDB connection, one row per document of the earlier snapshot that the
later one lacks although its crawl has the page, with its status:

- `not_sampled`: in the earlier sample, and not in the later one, whose share or seed differs;
- `not_shown`: in the earlier snapshot because it was shown, and no selected query shows it now;
- `left_out`: shown or sampled in the later snapshot as well, and left out there by a rule (a list,
  a verdict, a duplicate).

Documents that the later crawl lacks have no row: these were removed.
"""

from dataclasses import dataclass

import duckdb
import polars as pl

from builder.io.engine import append_rows, set_variables
from builder.io.tables import Table
from builder.parameters import DocumentParameters
from builder.text.keys import in_sample

ABSENCES = "CREATE TEMP TABLE absences (doc_id VARCHAR, status VARCHAR)"

LACKING = """
SELECT doc_id, sampled, doc_id IN (SELECT doc_id FROM shown_to) AS shown
FROM documents_from
ANTI JOIN documents_to USING (doc_id)
SEMI JOIN crawled_to USING (doc_id)
ORDER BY doc_id
"""


DOC_ID = "format('d{:016x}', doc) AS doc_id"
"""Printable id of a document key."""


@dataclass(frozen=True)
class Crawls:
    """What is known of the crawls of two snapshots; nothing, where a release was imported.

    Args:
        pages_from: `doc` of the pages that the earlier crawl has.
        pages_to: `doc` of the pages that the later crawl has.
        shown_to: `doc` of the documents that selected queries of the later snapshot showed.
        sampling: How the later snapshot samples its crawl.
    """

    pages_from: Table | None = None
    pages_to: Table | None = None
    shown_to: Table | None = None
    sampling: DocumentParameters | None = None

    def view(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Create `crawled_from`, `crawled_to` and `shown_to`, empty where unknown."""
        for name, table in (
            ("crawled_from", self.pages_from),
            ("crawled_to", self.pages_to),
            ("shown_to", self.shown_to),
        ):
            if table is not None and table.paths:
                table.rows(connection).select(DOC_ID).create_view(name)
            else:
                connection.execute(f"CREATE TEMP TABLE {name} (doc_id VARCHAR)")
        set_variables(
            connection,
            crawl_from_known=self.pages_from is not None,
            crawl_to_known=self.pages_to is not None,
        )


def explain_absences(connection: duckdb.DuckDBPyConnection, crawls: Crawls) -> None:
    """Create `absences`; needs `documents_from` and `documents_to`."""
    crawls.view(connection)
    connection.execute(ABSENCES)
    if crawls.sampling is None:
        return
    sampling = crawls.sampling
    found = connection.sql(LACKING).pl()
    kept = in_sample("doc_id", sampling.sample_share, sampling.sample_seed) | pl.col("shown")
    status = (
        pl.when(kept)
        .then(pl.lit("left_out"))
        .when(pl.col("sampled"))
        .then(pl.lit("not_sampled"))
        .otherwise(pl.lit("not_shown"))
    )
    append_rows(connection, "absences", found.select("doc_id", status.alias("status")))
