"""Opens a query log in any supported format as a DuckDB view of impressions.

Queries are normalized to NFC with single spaces; otherwise, queries and URLs are not changed. Times
are ignored. Invalid records are counted by reject reason and dropped. A Parquet file gives the same
impressions and rejects whether it is read in place or converted.
"""

from pathlib import Path

import duckdb

from builder.clicks.log_conversion import convert_to_parquet, row_count_if_readable_in_place
from builder.clicks.log_summary import LogSummary
from builder.errors import DataError, UsageError
from builder.ingest.advice import (
    CLICK_REASONS,
    LOG_ADVICE,
    advise_on_rejects,
    note_rejected_clicks,
)
from builder.ingest.logs.cell_lists import JOINED_ITEMS
from builder.ingest.logs.checks import CLEAN_LINE
from builder.ingest.logs.rules import HAS_BAD_RANKS, HAS_BAD_RESULTS, RANK_REASONS
from builder.io import parquet
from builder.parameters import LogParameters
from builder.reporting.numbers import pluralize
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress

MAX_RESULTS = 2**16 - 1
STANDALONE = LogParameters(
    max_query_chars=2**16, max_results=MAX_RESULTS, max_line_bytes=16 * 2**20
)
"""Parameters for a standalone log, with all size limits at their maximum."""


def standalone_log_parameters(params: LogParameters) -> LogParameters:
    """Return the parameters `STANDALONE`, except for values set explicitly in `[log]`."""
    return STANDALONE.model_copy(update={n: getattr(params, n) for n in params.model_fields_set})


CREATE_CHECKED = """
CREATE VIEW checked AS
WITH numbered AS (
    SELECT file_row_number AS impression,
           CASE WHEN trim("user", ' ') <> '' THEN "user" END AS "user",
           query, results, coalesce(clicks, []) AS ranks
    FROM records
)
SELECT *,
       CASE WHEN len(results) > {max_results} THEN 'too_many_results'
            WHEN len(results) = 0 THEN 'no_results'
            WHEN {bad_results} THEN 'bad_results'
            WHEN {bad_ranks} THEN 'bad_clicks'
            {rank_reasons}
            WHEN query IS NULL THEN 'bad_query'
            WHEN query = '' THEN 'empty_query'
            WHEN len(results) = 1 AND regexp_matches(results[1], '{joined}') THEN 'bad_list'
       END AS reason
FROM numbered
"""

CREATE_USED = """
CREATE VIEW used_impressions AS
SELECT impression, "user", query, results, ranks::USMALLINT[] AS clicks
FROM checked WHERE reason IS NULL
"""

HAS_UNCLEAN_QUERIES = """
SELECT count(*) > 0 FROM records
WHERE query <> '' AND (NOT regexp_full_match(query, $clean) OR length(query) > $max_chars)
"""
"""SQL query that returns whether any non-empty query is too long or not normalized."""

REJECTED = """
SELECT reason, count(*) FROM checked WHERE reason IS NOT NULL GROUP BY reason ORDER BY reason
"""


CLICKED = "SELECT count(*) FROM used_impressions WHERE len(clicks) > 0"


def open_log(
    connection: duckdb.DuckDBPyConnection,
    log: Path,
    limits: ResourceLimits,
    progress: Progress,
    log_params: LogParameters = STANDALONE,
) -> LogSummary:
    """Open a query log as the DuckDB view `used_impressions`.

    A Parquet file with columns of the expected names and types and normalized queries is read in
    place; any other file is first converted to Parquet in scratch space.

    Args:
        connection: DuckDB connection; receives the views `records` (all records), `checked` (with
            reject reasons) and `used_impressions` (valid records: impression, user, query, results,
            clicks).
        log: Log in any format, plain or compressed with gzip or zstd; see `read_impressions`.
        limits: Limits for threads, memory and scratch space.
        progress: Receives the number of records read.
        log_params: Section `[log]` of the definition; see `standalone_log_parameters`.

    Raises:
        UsageError: the file does not exist.
        FormatError: the file cannot be read, or required columns are missing.
    """
    if log.is_dir():
        raise UsageError(f"{log}: expected a query log, found a folder; pass a file")
    if not log.is_file():
        raise UsageError(
            f"{log}: file not found; expected a query log as JSON lines, Parquet, CSV or TSV"
        )
    summary = LogSummary(str(log))
    rows = row_count_if_readable_in_place(log) if log_params == STANDALONE else None
    if rows is not None:
        _create_records_view(connection, log)
    if rows is not None and not _has_queries_to_normalize(connection):
        summary.records = rows
    else:
        decoded = limits.scratch / "decoded.parquet"
        convert_to_parquet(log, decoded, summary, limits, progress, log_params)
        _create_records_view(connection, decoded)
    _create_impression_views(connection)
    return summary


def _create_impression_views(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the views `checked` and `used_impressions` over the view `records`."""
    sql = CREATE_CHECKED.format(
        bad_results=HAS_BAD_RESULTS,
        bad_ranks=HAS_BAD_RANKS,
        joined=JOINED_ITEMS.pattern,
        max_results=MAX_RESULTS,
        rank_reasons=RANK_REASONS,
    )
    connection.execute(sql)
    connection.execute(CREATE_USED)


def add_rejects_to_summary(
    connection: duckdb.DuckDBPyConnection, summary: LogSummary, used: int
) -> None:
    """Add the numbers of rejected records, and advice to the user, to the summary of a log.

    For a converted log, `convert_to_parquet` already added the numbers.

    Args:
        connection: DuckDB connection with the view `checked`.
        summary: Summary of the log; is modified.
        used: Number of valid records of the log.

    Raises:
        DataError: the log has no records, or all records were rejected.
    """
    if not summary.records:
        raise DataError(
            f"{summary.file}: expected at least one impression as JSON lines, Parquet, CSV or "
            "TSV, found no records; export the log again"
        )
    if summary.impressions != used:
        summary.rejected.update(dict(connection.execute(REJECTED).fetchall()))
    if summary.rejected.total() == summary.records:
        reasons = ", ".join(f"{name} {rows:,}" for name, rows in sorted(summary.rejected.items()))
        raise DataError(
            f"{summary.file}: expected impressions, found none in "
            f"{pluralize(summary.records, 'record')} ({reasons}); an impression has a "
            "query, a list of results and a list of clicked ranks; set other field names in "
            "[log.fields], the form of clicks in log.click_form, the separator of lists in "
            "log.list_separator, and a URL template for document ids in log.address"
        )
    summary.notes.extend(advise_on_rejects(summary.rejected, summary.records, LOG_ADVICE))
    if any(summary.rejected[reason] for reason in CLICK_REASONS):
        ((clicked,),) = connection.execute(CLICKED).fetchall()
        summary.notes.extend(note_rejected_clicks(summary.rejected, summary.records, clicked))


def _has_queries_to_normalize(connection: duckdb.DuckDBPyConnection) -> bool:
    """Return whether any query of the view `records` is too long or not normalized."""
    values = {"clean": CLEAN_LINE, "max_chars": STANDALONE.max_query_chars}
    ((found,),) = connection.execute(HAS_UNCLEAN_QUERIES, values).fetchall()
    return bool(found)


def _create_records_view(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Create the view `records`, with null users if the file has no user column."""
    rows = parquet.read_parquet_relation(connection, path, file_row_number=True)
    if "user" not in rows.columns:
        rows = rows.project('NULL::VARCHAR AS "user", *')
    rows.create_view("records", replace=True)
