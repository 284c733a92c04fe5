"""The stage `coverage`: counts how many of the shown documents the crawl and the snapshot contain.

Input: impressions, crawled pages and documents of a snapshot. Output: `coverage`, with the numbers
of documents and impressions, for the whole log and for candidate queries; `host_coverage`, the same
numbers by host for candidate queries; and a reject for every document that was shown for a
candidate query but is missing from the snapshot. A document without text cannot be judged, so these
counts show how much of the log can be judged.
"""

from collections.abc import Iterator
from pathlib import Path

import duckdb

from builder.documents.loose_keys import LOOSE_KEY
from builder.errors import DataError
from builder.io.tables import write_query_result
from builder.runtime.ledger import RejectWriter, RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress
from builder.runtime.references import Same
from builder.runtime.stage import stage
from builder.text.keys import doc_id
from schemas import (
    Coverage,
    GatheredDocuments,
    HostCoverage,
    Impressions,
    LogUrls,
    Pages,
    ShownDocuments,
)

ROWS_PER_BATCH = 65_536
NOT_IN_CRAWL = "not_in_crawl"
NOT_IN_COLLECTION = "left_out_of_collection"

SHOWN = """
CREATE TABLE shown AS
WITH
collected AS (SELECT ('0x' || substr(doc_id, 2))::UBIGINT AS doc FROM documents),
in_log AS (SELECT unnest(results) AS doc FROM impressions),
times AS (SELECT doc, count(*) AS times FROM in_log GROUP BY doc)
SELECT
    doc,
    times,
    coalesce(kept.impressions, 0) AS kept_times,
    doc IN (SELECT doc FROM pages) AS in_crawl,
    doc IN (SELECT doc FROM collected) AS in_collection
FROM times LEFT JOIN shown_documents AS kept USING (doc)
"""

COVERAGE = """
WITH scopes AS (
    SELECT 'log' AS scope, times, in_crawl, in_collection FROM shown
    UNION ALL
    SELECT 'kept_queries', kept_times, in_crawl, in_collection FROM shown WHERE kept_times > 0
),
names AS (SELECT unnest(['kept_queries', 'log']) AS scope)
SELECT
    scope,
    count(times) AS shown,
    count(times) FILTER (in_crawl) AS in_crawl,
    count(times) FILTER (in_collection) AS in_collection,
    coalesce(sum(times), 0) AS impressions,
    coalesce(sum(times) FILTER (in_crawl), 0) AS impressions_in_crawl,
    coalesce(sum(times) FILTER (in_collection), 0) AS impressions_in_collection
FROM names LEFT JOIN scopes USING (scope)
GROUP BY scope
ORDER BY scope
"""

HOST_COVERAGE = r"""
SELECT
    coalesce(regexp_extract(url_key, '^https?://([^/?]*)', 1), '') AS host,
    count(*) AS shown,
    count(*) FILTER (in_crawl) AS in_crawl,
    count(*) FILTER (in_collection) AS in_collection,
    sum(kept_times) AS impressions,
    coalesce(sum(kept_times) FILTER (in_crawl), 0) AS impressions_in_crawl,
    coalesce(sum(kept_times) FILTER (in_collection), 0) AS impressions_in_collection
FROM shown LEFT JOIN log_urls USING (doc)
WHERE kept_times > 0
GROUP BY host
ORDER BY host
"""

COUNTS = """
SELECT count(*), count(*) FILTER (in_collection) FROM shown WHERE kept_times > 0
"""

MISSING_DOCUMENTS = """
SELECT doc, in_crawl FROM shown WHERE kept_times > 0 AND NOT in_collection ORDER BY doc
"""

CLASH = """
SELECT l.url_key, p.url_key
FROM log_urls AS l JOIN pages AS p USING (doc)
WHERE l.url_key <> p.url_key
LIMIT 1
"""

OTHER_FORMS = """
WITH
missing AS (
    SELECT url_key, loose_key(url_key) AS loose_key
    FROM shown JOIN log_urls USING (doc) WHERE kept_times > 0 AND NOT in_crawl
),
crawled AS (
    SELECT loose_key(url_key) AS loose_key, min(url_key) AS url_key FROM pages
    WHERE loose_key(url_key) IN (SELECT loose_key FROM missing) GROUP BY 1
)
SELECT count(*), min(missing.url_key), arg_min(crawled.url_key, missing.url_key)
FROM missing JOIN crawled USING (loose_key)
"""
"""SQL query for documents that the crawl contains only under another form of their URL: the number
of these documents, and the URL of one of them in the log and in the crawl."""
MIN_SHARE = 0.01
"""Minimum share of shown documents that the crawl contains only under another form of their URL;
below this share, no note is written."""


@stage("coverage", version="3", writes=(Coverage, HostCoverage))
def measure_coverage(
    out: Path,
    *,
    impressions: Same[Impressions],
    log_urls: Same[LogUrls],
    shown_documents: Same[ShownDocuments],
    pages: Same[Pages],
    documents: Same[GatheredDocuments],
    limits: ResourceLimits,
    progress: Progress,
) -> RowLedger:
    """Stage: count how many documents shown to users are in the crawl and in the snapshot.

    Args:
        out: Output folder for `coverage.parquet`, `host_coverage.parquet` and `rejects.parquet`.
        impressions: See `schemas.Impressions`.
        log_urls: See `schemas.LogUrls`.
        shown_documents: See `schemas.ShownDocuments`.
        pages: See `schemas.Pages`.
        documents: Documents of the snapshot; only `doc_id` is read.
        limits: Memory limit and number of threads.
        progress: Advances by the number of documents shown for candidate queries.

    Returns:
        Ledger of the documents shown for candidate queries: their number (`rows_in`), the number
        that the snapshot contains (`rows_out`), and the numbers of rejects by reason.

    Raises:
        DataError: a URL in the log and a different URL in the crawl have the same document key.
    """
    tables = {"impressions": impressions, "log_urls": log_urls, "pages": pages}
    with limits.connect_to_duckdb() as connection:
        for name, table in tables.items():
            table.create_view(connection, name)
        shown_documents.create_view(connection, "shown_documents")
        documents.create_view(connection, "documents")
        _check_key_collisions(connection)
        connection.execute(SHOWN)
        write_query_result(connection, COVERAGE, out / "coverage.parquet", Coverage)
        write_query_result(connection, HOST_COVERAGE, out / "host_coverage.parquet", HostCoverage)
        ledger = RowLedger("documents shown", *connection.execute(COUNTS).fetchall()[0])
        with RejectWriter(out, "coverage", ledger) as rejects:
            for reason in (NOT_IN_CRAWL, NOT_IN_COLLECTION):
                rejects.add(reason, rows=0)
            for batch in connection.sql(MISSING_DOCUMENTS).to_arrow_reader(ROWS_PER_BATCH):
                for doc, in_crawl in zip(*(c.to_pylist() for c in batch.columns), strict=True):
                    rejects.add(NOT_IN_COLLECTION if in_crawl else NOT_IN_CRAWL, key=doc_id(doc))
        ledger.notes.extend(_note_other_forms(connection, ledger.rows_in))
    progress.advance(ledger.rows_in)
    return ledger


def _note_other_forms(connection: duckdb.DuckDBPyConnection, shown: int) -> Iterator[str]:
    """Yield a note if many documents are in the crawl only under another form of their URL.

    Args:
        connection: DuckDB connection with the table `shown`.
        shown: Number of documents shown for candidate queries.
    """
    connection.execute(LOOSE_KEY)
    found, logged, crawled = connection.execute(OTHER_FORMS).fetchall()[0]
    if found and found >= MIN_SHARE * shown:
        yield (
            f"{found:,} of {shown:,} documents shown are in the crawl only under a URL that "
            f"differs in scheme, www. or final slash, such as {logged} in the log and {crawled} in "
            "the crawl; documents with different URLs are not matched: rewrite the URLs of the log "
            "or of the crawl"
        )


def _check_key_collisions(connection: duckdb.DuckDBPyConnection) -> None:
    """Raise DataError if a URL in the log and a different URL in the crawl have the same key."""
    if clash := connection.execute(CLASH).fetchall():
        raise DataError(
            "expected one URL per document id, found two URLs with the same id, one in the log and "
            f"one in the crawl: {list(clash[0])}; remove one of them"
        )
