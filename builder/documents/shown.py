"""Which documents the kept queries showed: the part of a snapshot that is not a sample.

In: impressions and candidate queries. Out: `shown_documents`, every document key on a result page
of a candidate query, whatever was clicked. It does not depend on the click model, so that another
model never changes which documents a collection has.
"""

from pathlib import Path

from builder.io.tables import write_query
from builder.runtime.ledger import Ledger, RejectWriter
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress
from builder.runtime.references import Same
from builder.runtime.stage import stage
from schemas import Candidates, Impressions, ShownDocuments

SHOWN = """
SELECT unnest(results) AS doc, count(*) AS impressions
FROM impressions SEMI JOIN candidates USING (query)
GROUP BY doc
ORDER BY doc
"""

ACCOUNT = """
SELECT count(*), count(*) FILTER (query IN (SELECT query FROM candidates)) FROM impressions
"""


@stage("shown", version="1", writes=(ShownDocuments,))
def collect_shown(
    out: Path,
    *,
    impressions: Same[Impressions],
    candidates: Same[Candidates],
    limits: Limits,
    progress: Progress,
) -> Ledger:
    """Stage: collect the documents that candidate queries showed.

    Args:
        out: Folder that receives `shown_documents.parquet` and `rejects.parquet`.
        impressions: See `schemas.Impressions`.
        candidates: See `schemas.Candidates`.
        limits: Memory and threads.
        progress: Told the impressions.

    Returns:
        An account of the impressions; those of other queries are `query_not_selected`.
    """
    with limits.connect() as connection:
        impressions.view(connection, "impressions")
        candidates.view(connection, "candidates")
        offered, used = connection.execute(ACCOUNT).fetchall()[0]
        write_query(connection, SHOWN, out / "shown_documents.parquet", ShownDocuments)
    ledger = Ledger("impressions", offered, used)
    with RejectWriter(out, "shown", ledger) as rejects:
        rejects.add("query_not_selected", rows=offered - used)
    progress.advance(offered)
    return ledger
