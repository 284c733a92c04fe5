"""Writes `document_changes`: how each document changed between two snapshots.

Input: documents of both snapshots and of all snapshots before them. Output: one row per document id
that occurs in either snapshot, sorted by id. `builder.alignment.pairing` matches the documents, and
`builder.alignment.change_degree` measures the degree of change.
"""

from collections.abc import Sequence
from pathlib import Path

import duckdb

from builder.alignment.absence import CrawlTables, classify_absences
from builder.alignment.change_degree import measure_change_degrees
from builder.alignment.moved_pages import match_moved_pages
from builder.alignment.pairing import pair_documents
from builder.io import parquet
from builder.io.engine import set_sql_variables
from builder.io.tables import Table, write_query_result
from builder.parameters import ChangeParameters
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress
from schemas import DocumentChanges

DOCUMENT_CHANGES = """
WITH partners AS (
    SELECT removed_id AS doc_id, added_id AS matched_id, matched_by, text_changed FROM matches
    UNION ALL
    SELECT added_id, removed_id, matched_by, text_changed FROM matches
)
SELECT
    p.doc_id,
    getvariable('from_snapshot') AS from_snapshot,
    getvariable('to_snapshot') AS to_snapshot,
    CASE WHEN r.doc_id IS NULL THEN p.status ELSE 'returned' END AS status,
    coalesce(p.text_changed, m.text_changed) AS text_changed,
    d.dice,
    d.shingle_jaccard,
    p.tokens_from,
    p.tokens_to,
    CASE
        WHEN d.shingle_jaccard >= getvariable('cosmetic') THEN 'cosmetic'
        WHEN d.shingle_jaccard < getvariable('rewritten') THEN 'rewritten'
        WHEN d.shingle_jaccard IS NOT NULL THEN 'edited'
    END AS band,
    m.matched_by,
    m.matched_id,
    CASE
        WHEN p.tokens_to IS NULL AND getvariable('crawl_to_known')
            THEN p.doc_id IN (SELECT doc_id FROM crawled_to)
        WHEN p.tokens_from IS NULL AND getvariable('crawl_from_known')
            THEN p.doc_id IN (SELECT doc_id FROM crawled_from)
    END AS crawled
FROM pairing AS p
LEFT JOIN returned AS r ON p.doc_id = r.doc_id
LEFT JOIN degrees AS d ON p.doc_id = d.doc_id
LEFT JOIN partners AS m ON p.doc_id = m.doc_id
ORDER BY p.doc_id
"""

IDS_IN_EITHER = """
SELECT (SELECT count(*) FROM documents_from)
     + (SELECT count(*) FROM documents_to ANTI JOIN documents_from USING (doc_id))
"""


def align_documents(
    connection: duckdb.DuckDBPyConnection,
    target: Path,
    documents_from: Table,
    documents_to: Table,
    earlier_documents: Sequence[Table],
    snapshot_names: tuple[str, str],
    params: ChangeParameters,
    limits: ResourceLimits,
    progress: Progress,
    crawls: CrawlTables | None = None,
) -> tuple[int, int]:
    """Write a table of the changes in documents between two snapshots.

    Args:
        connection: DuckDB connection that no other caller uses; receives intermediate tables.
        target: Parquet file to write.
        documents_from: Documents of the earlier snapshot.
        documents_to: Documents of the later snapshot.
        earlier_documents: Documents of all snapshots before `documents_from`.
        snapshot_names: Names of the earlier and the later snapshot.
        params: Shingle size, thresholds for the degree of change, and criteria for moved pages.
        limits: Number of threads and scratch folder.
        progress: Advances by the number of documents whose text is read.
        crawls: Pages crawled for both snapshots, and documents shown in the later snapshot; None
            if unknown.

    Returns:
        Number of distinct document ids in the two snapshots, and number of rows written.
    """
    set_sql_variables(
        connection,
        from_snapshot=snapshot_names[0],
        to_snapshot=snapshot_names[1],
        cosmetic=params.cosmetic,
        rewritten=params.rewritten,
    )
    documents_from.create_view(connection, "documents_from")
    documents_to.create_view(connection, "documents_to")
    _create_earlier_documents_view(connection, earlier_documents)
    ids = int(connection.execute(IDS_IN_EITHER).fetchall()[0][0])
    classify_absences(connection, crawls or CrawlTables())
    pair_documents(connection)
    match_moved_pages(connection, documents_from, documents_to, params, limits, progress)
    measure_change_degrees(
        connection, documents_from, documents_to, params.shingle, limits.threads, progress
    )
    return ids, write_query_result(connection, DOCUMENT_CHANGES, target, DocumentChanges)


def _create_earlier_documents_view(
    connection: duckdb.DuckDBPyConnection, tables: Sequence[Table]
) -> None:
    """Create the view `documents_earlier`, with the document ids of all given tables."""
    paths = [path for table in tables for path in table.paths]
    if paths:
        parquet.read_parquet_relation(connection, *paths).select("doc_id").create_view(
            "documents_earlier"
        )
    else:
        connection.execute("CREATE TEMP TABLE documents_earlier (doc_id VARCHAR)")
