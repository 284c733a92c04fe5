"""The stage `changes`: writes the change tables of two consecutive snapshots.

Input: documents, queries and qrels of both snapshots. Output: `document_changes`, `query_changes`
and `qrel_changes`, with one row per id (or judged pair) that occurs in either snapshot, sorted by
id.

A document is *updated* if its tokens (lowercased words of title and text) differ between the
snapshots; `text_changed` is true even if only case, punctuation or white space differ. The change
of an updated document depends on the Jaccard coefficient of the shingle sets (sets of word n-grams)
of its two versions: *cosmetic* if the coefficient is at least the parameter `cosmetic`, *rewritten*
if it is below the parameter `rewritten`, otherwise *edited*.
"""

from pathlib import Path
from typing import Annotated

import duckdb

from builder.alignment.absence import CrawlTables
from builder.alignment.document_changes import align_documents
from builder.io.tables import Table, write_query_result
from builder.parameters import ChangeParameters, DocumentParameters
from builder.runtime.ledger import RejectWriter, RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress
from builder.runtime.references import Before, From, FromName, SettingReference, To, ToName
from builder.runtime.scope import Scope, split_pair_key
from builder.runtime.stage import stage
from schemas import (
    DocumentChanges,
    Documents,
    Pages,
    QrelChanges,
    Qrels,
    Queries,
    QueryChanges,
    ShownDocuments,
)

QUERY_CHANGES = """
SELECT
    coalesce(f.query_id, t.query_id) AS query_id,
    getvariable('from_snapshot') AS from_snapshot,
    getvariable('to_snapshot') AS to_snapshot,
    CASE
        WHEN f.query_id IS NULL THEN 'new' WHEN t.query_id IS NULL THEN 'gone' ELSE 'kept'
    END AS status,
    f.impressions AS impressions_from,
    t.impressions AS impressions_to
FROM queries_from AS f FULL JOIN queries_to AS t ON f.query_id = t.query_id
ORDER BY 1
"""

QREL_CHANGES = """
SELECT
    coalesce(f.query_id, t.query_id) AS query_id,
    coalesce(f.doc_id, t.doc_id) AS doc_id,
    getvariable('from_snapshot') AS from_snapshot,
    getvariable('to_snapshot') AS to_snapshot,
    f.grade AS grade_from,
    t.grade AS grade_to,
    f.examinations AS examinations_from,
    t.examinations AS examinations_to
FROM qrels_from AS f FULL JOIN qrels_to AS t
    ON f.query_id = t.query_id AND f.doc_id = t.doc_id
ORDER BY 1, 2
"""


@stage(
    "changes", version="5", scope=Scope.PAIR, writes=(DocumentChanges, QueryChanges, QrelChanges)
)
def align_snapshots(
    out: Path,
    *,
    documents_from: From[Documents],
    documents_to: To[Documents],
    queries_from: From[Queries],
    queries_to: To[Queries],
    qrels_from: From[Qrels],
    qrels_to: To[Qrels],
    earlier: Before[Documents],
    from_snapshot: FromName,
    to_snapshot: ToName,
    params: ChangeParameters,
    limits: ResourceLimits,
    progress: Progress,
    pages_from: From[Pages] | None = None,
    pages_to: To[Pages] | None = None,
    shown_documents_to: To[ShownDocuments] | None = None,
    sampling: Annotated[
        DocumentParameters,
        SettingReference(lambda w, key: w.section("documents", split_pair_key(key)[1])),
    ]
    | None = None,
) -> RowLedger:
    """Write the tables of changes in documents, queries and qrels between two snapshots.

    Args:
        out: Output folder for the three tables and `rejects` (always empty); must exist.
        documents_from: Documents of the earlier snapshot.
        documents_to: Documents of the later snapshot.
        queries_from: Queries of the earlier snapshot.
        queries_to: Queries of the later snapshot.
        qrels_from: Judgements of the earlier snapshot.
        qrels_to: Judgements of the later snapshot.
        earlier: Documents of all snapshots before `from_snapshot`, to detect returned documents.
        from_snapshot: Name of the earlier snapshot.
        to_snapshot: Name of the later snapshot.
        params: Shingle size, thresholds for the degree of change, and criteria for moved pages.
        limits: Memory limit, number of threads and scratch folder.
        progress: Advances by the number of documents compared.
        pages_from: Pages of the earlier crawl, of which only `doc` is read; None if unknown.
        pages_to: Pages of the later crawl, of which only `doc` is read; None if unknown.
        shown_documents_to: Documents shown for selected queries of the later snapshot; None if
            unknown.
        sampling: Section `[documents]` of the later snapshot, with its sampling parameters; None if
            unknown.

    Returns:
        Ledger (numbers of items read, kept and rejected), which counts the distinct document ids
        of both snapshots; none is rejected.
    """
    ledger = RowLedger("document ids")
    pair = (from_snapshot, to_snapshot)
    with limits.connect_to_duckdb(memory_share=0.5) as connection:
        ledger.rows_in, ledger.rows_out = align_documents(
            connection,
            out / "document_changes.parquet",
            documents_from,
            documents_to,
            earlier,
            pair,
            params,
            limits,
            progress,
            CrawlTables(pages_from, pages_to, shown_documents_to, sampling),
        )
        _create_snapshot_views(connection, "queries", queries_from, queries_to)
        _create_snapshot_views(connection, "qrels", qrels_from, qrels_to)
        write_query_result(connection, QUERY_CHANGES, out / "query_changes.parquet", QueryChanges)
        write_query_result(connection, QREL_CHANGES, out / "qrel_changes.parquet", QrelChanges)
    with RejectWriter(out, "changes", ledger):
        return ledger


def _create_snapshot_views(
    connection: duckdb.DuckDBPyConnection, table_name: str, before: Table, after: Table
) -> None:
    """Create the views `<table>_from` (earlier snapshot) and `<table>_to` (later snapshot)."""
    before.create_view(connection, f"{table_name}_from")
    after.create_view(connection, f"{table_name}_to")
