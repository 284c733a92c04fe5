"""Checks raw log records, and converts each to an impression or a reject.

Records in columnar form are checked in SQL. Records with unusual values, such as times in rare
formats or invalid queries, are passed one by one to the reference implementation,
`impression.make_impression`. Both implementations give the same result.
"""

from collections.abc import Iterable

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from builder.ingest.lists import build_list_array, list_lengths
from builder.ingest.logs.impression import Impression, make_impression, normalize_query
from builder.ingest.logs.records import (
    IMPRESSIONS,
    CheckedRecords,
    NumberedRecord,
    RawRecords,
    impressions_to_table,
)
from builder.ingest.logs.rules import (
    HAS_BAD_RANKS,
    HAS_BAD_RESULTS,
    RANK_REASONS,
    RESULT_COUNT_REASONS,
)
from builder.ingest.rejects import RejectError
from builder.ingest.time_columns import to_unix_seconds
from builder.io.sources import Interval
from builder.parameters import LogParameters
from builder.text.replacement import replace_where

UNCLEAR = "unclear"

CLEAN_LINE = r"^[!-~\x{a1}-\x{2ff}]+( [!-~\x{a1}-\x{2ff}]+)*$"
"""Regular expression (Polars, DuckDB) for clean queries: words separated by single spaces, without
characters that NFC changes."""

REASONS = """
SELECT CASE WHEN seconds IS NULL OR query IS NULL OR {bad_results} OR {bad_ranks}
            THEN 'unclear'
            WHEN seconds < $start OR seconds >= $stop THEN 'outside_interval'
            {result_count_reasons}
            {rank_reasons}
       END AS reason
FROM records
""".format(
    bad_results=HAS_BAD_RESULTS,
    bad_ranks=HAS_BAD_RANKS,
    result_count_reasons=RESULT_COUNT_REASONS.format(max_results="$max_results"),
    rank_reasons=RANK_REASONS,
)

RANKS_FROM_FLAGS = """
SELECT CASE WHEN len(clicks) >= len(results) AND list_count(clicks) = len(clicks)
                 AND coalesce(list_min(clicks) >= 0, true)
            THEN list_filter(range(1, len(clicks) + 1), lambda rank: clicks[rank] > 0) END AS ranks
FROM records
"""
"""SQL query that converts click flags to clicked ranks; null if flags are missing or negative."""

ANY_TIME = Interval(-(2**62), 2**62)


def check_records(
    raw_records: RawRecords,
    interval: Interval | None,
    params: LogParameters,
    connection: duckdb.DuckDBPyConnection,
) -> CheckedRecords:
    """Convert every record of a batch to an impression or a reject.

    Args:
        raw_records: Batch of raw records.
        interval: Accepted time interval; if None, times are ignored and set to 0.
        params: Section `[log]` of the definition.
        connection: DuckDB connection; each query uses its own cursor.
    """
    kept, rejects, unclear = [], list[tuple[int, str]](), list[int]()
    params = (
        params.model_copy(update={"click_form": "ranks"})
        if raw_records.clicks_are_ranks
        else params
    )
    for table in raw_records.tables:
        cleaned = _normalize_columns(table, interval, params, connection)
        reasons = pl.Series(_reject_reasons(cleaned, interval, params, connection))
        if reasons.null_count() < len(reasons):
            failed = pl.DataFrame({"record": pl.Series(cleaned["record"]), "reason": reasons})
            is_unclear = pl.col("reason") == UNCLEAR
            unclear += failed.filter(is_unclear)["record"].to_list()
            rejects += failed.drop_nulls("reason").filter(~is_unclear).rows()
            cleaned = cleaned.filter(pa.array(reasons.is_null().to_numpy()))
        names = ["ranks" if name == "clicks" else name for name in IMPRESSIONS.names]
        columns = cleaned.rename_columns({"seconds": "time"}).select(names)
        kept.append(columns.rename_columns(IMPRESSIONS.names).cast(IMPRESSIONS))
    for records in (raw_records.rows, raw_records.get_rows(sorted(unclear))):
        impressions, more = _check_records_individually(records, interval, params)
        kept.append(impressions_to_table(impressions))
        rejects += more
    filled = [table for table in kept if len(table)]
    impressions = pa.concat_tables(filled or [IMPRESSIONS.empty_table()])
    impressions = impressions.sort_by("record") if len(filled) > 1 else impressions
    return CheckedRecords(impressions, sorted(rejects))


def _normalize_columns(
    table: pa.Table,
    interval: Interval | None,
    params: LogParameters,
    connection: duckdb.DuckDBPyConnection,
) -> pa.Table:
    """Normalize the columns of raw records; values that must be checked individually become null.

    The returned columns are `record`, `seconds` (Unix time), `user`, `query`, `results` and `ranks`
    (of the clicked results). Empty user ids become null, because they are anonymous.
    """
    ranks = _null_lists_to_empty_lists(table["clicks"].combine_chunks())
    if params.click_form == "flags":
        with connection.cursor() as cursor:
            cursor.register("records", table.select(["results", "clicks"]))
            ranks = cursor.sql(RANKS_FROM_FLAGS).to_arrow_table()["ranks"]
    columns = {
        "record": table["record"],
        "seconds": _to_unix_seconds_or_zeros(table["time"], interval, params),
        "user": _blanks_to_nulls(table["user"]),
        "query": _normalize_queries(table["query"], params),
        "results": table["results"],
        "ranks": ranks,
    }
    return pa.table(columns)


def _blanks_to_nulls(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Replace empty strings, and strings that contain only spaces, with nulls."""
    is_blank = pc.equal(pc.utf8_trim(texts, " "), "")
    return pc.if_else(is_blank, None, texts) if pc.any(is_blank).as_py() else texts


def _null_lists_to_empty_lists(lists: pa.Array) -> pa.Array:
    """Replace null lists with empty lists."""
    return (
        build_list_array(list_lengths(lists), pc.list_flatten(lists)) if lists.null_count else lists
    )


def _reject_reasons(
    records: pa.Table,
    interval: Interval | None,
    params: LogParameters,
    connection: duckdb.DuckDBPyConnection,
) -> pa.ChunkedArray:
    """Return the reject reason of each record; null for valid records.

    The reason is `unclear` for records that must be checked individually.
    """
    wanted = interval or ANY_TIME
    values = {"start": wanted.start, "stop": wanted.stop, "max_results": params.max_results}
    with connection.cursor() as cursor:
        cursor.register("records", records)
        return cursor.sql(REASONS, params=values).to_arrow_table()["reason"]


def _to_unix_seconds_or_zeros(
    times: pa.ChunkedArray, interval: Interval | None, params: LogParameters
) -> pa.Array | pa.ChunkedArray:
    """Convert times to Unix seconds; return 0 for all records if times are ignored.

    Times that must be parsed individually become null: those in unusual formats, and local times
    with an ambiguous UTC offset. Times are ignored if `interval` is None.
    """
    if interval is None:
        return pa.array(np.zeros(len(times), dtype=np.int64))
    return to_unix_seconds(times.combine_chunks(), params)


def _normalize_queries(texts: pa.ChunkedArray, params: LogParameters) -> pa.Array:
    """Normalize queries, processing each distinct text once; rejected queries become null."""
    encoded = texts.combine_chunks().dictionary_encode()
    distinct = pl.Series(pl.from_arrow(encoded.dictionary), dtype=pl.String)
    is_clean = distinct.str.contains(CLEAN_LINE) & (
        distinct.str.len_chars() <= params.max_query_chars
    )
    cleaned_others = [
        _normalize_query_or_none(text, params) for text in distinct.filter(~is_clean).to_list()
    ]
    cleaned = replace_where(distinct, ~is_clean, pl.Series(cleaned_others, dtype=pl.String))
    return cleaned.to_arrow().cast(pa.string()).take(encoded.indices)


def _normalize_query_or_none(text: str, params: LogParameters) -> str | None:
    """Return the query as normalized by `normalize_query`; None if the query is rejected."""
    try:
        return normalize_query(text, params)
    except RejectError:
        return None


def _check_records_individually(
    records: Iterable[NumberedRecord], interval: Interval | None, params: LogParameters
) -> tuple[list[tuple[int, Impression]], list[tuple[int, str]]]:
    """Check records one by one; return (number, impression) pairs and (number, reason) pairs."""
    impressions, rejects = [], []
    for number, record in records:
        try:
            if isinstance(record, str):
                raise RejectError(record)
            impressions.append((number, make_impression(record, interval, params)))
        except RejectError as reject:
            rejects.append((number, str(reject)))
    return impressions, rejects
