"""The stage `shown`: collects the documents shown for candidate queries.

Input: impressions and candidate queries. Output: `shown_documents`, the keys of all documents that
were shown for a candidate query, clicked or not. The output does not depend on the click model, so
changing the model never changes the documents of a collection.
"""

from pathlib import Path

from builder.io.tables import write_query_result
from builder.runtime.ledger import RejectWriter, RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress
from builder.runtime.references import Same
from builder.runtime.stage import stage
from schemas import Candidates, Impressions, ShownDocuments

SHOWN_DOCUMENTS = """
SELECT unnest(results) AS doc, count(*) AS impressions
FROM impressions SEMI JOIN candidates USING (query)
GROUP BY doc
ORDER BY doc
"""

COUNTS = """
SELECT count(*), count(*) FILTER (query IN (SELECT query FROM candidates)) FROM impressions
"""


@stage("shown", version="1", writes=(ShownDocuments,))
def collect_shown_documents(
    out: Path,
    *,
    impressions: Same[Impressions],
    candidates: Same[Candidates],
    limits: ResourceLimits,
    progress: Progress,
) -> RowLedger:
    """Stage: collect the documents shown for candidate queries.

    Args:
        out: Output folder for `shown_documents.parquet` and `rejects.parquet`.
        impressions: See `schemas.Impressions`.
        candidates: See `schemas.Candidates`.
        limits: Memory limit and number of threads.
        progress: Advances by the number of impressions.

    Returns:
        Ledger: numbers of impressions read, kept and rejected; impressions of queries that are not
        candidates are rejected as `query_not_selected`.
    """
    with limits.connect_to_duckdb() as connection:
        impressions.create_view(connection, "impressions")
        candidates.create_view(connection, "candidates")
        rows_in, rows_out = connection.execute(COUNTS).fetchall()[0]
        write_query_result(
            connection, SHOWN_DOCUMENTS, out / "shown_documents.parquet", ShownDocuments
        )
    ledger = RowLedger("impressions", rows_in, rows_out)
    with RejectWriter(out, "shown", ledger) as rejects:
        rejects.add("query_not_selected", rows=rows_in - rows_out)
    progress.advance(rows_in)
    return ledger
