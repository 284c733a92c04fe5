"""Raw records to impressions and rejects: one expression for the reason of a reject.

In: a batch of raw records. Out: the result of `impression.make_impression`, the one-record
specification, for each of them. Records in columns are checked in SQL; unclear ones (a text that is
not clean, an unusual time) are passed to the specification one by one.
"""

from collections.abc import Iterable

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from builder.ingest.lists import lengths, lists_of
from builder.ingest.logs.impression import Impression, clean_query, make_impression
from builder.ingest.logs.records import IMPRESSIONS, Numbered, RawRecords, Records, as_table
from builder.ingest.rejects import RejectError
from builder.ingest.times import unix_seconds
from builder.io.sources import Interval
from builder.parameters import LogParameters
from builder.text.replacement import replaced

UNCLEAR = "unclear"

CLEAN_LINE = r"^[!-~\u{a1}-\u{2ff}]+( [!-~\u{a1}-\u{2ff}]+)*$"
"""Words between single spaces, in characters that NFC leaves as they are."""

REASONS = """
SELECT CASE WHEN seconds IS NULL OR query IS NULL OR results IS NULL OR ranks IS NULL
                 OR list_count(results) < len(results) OR list_contains(results, '')
                 OR list_count(ranks) < len(ranks) THEN 'unclear'
            WHEN seconds < $start OR seconds >= $stop THEN 'outside_interval'
            WHEN len(results) > $max_results THEN 'too_many_results'
            WHEN len(results) = 0 THEN 'no_results'
            WHEN list_min(ranks) < 1 OR list_max(ranks) > len(results) THEN 'click_not_shown'
       END AS reason
FROM records
"""

RANKS_OF_FLAGS = """
SELECT CASE WHEN len(clicks) >= len(results) AND list_count(clicks) = len(clicks)
                 AND coalesce(list_min(clicks) >= 0, true)
            THEN list_filter(range(1, len(clicks) + 1), lambda rank: clicks[rank] > 0) END AS ranks
FROM records
"""
"""Ranks of the results whose flag is above 0; null where the record is unclear."""

ANY_TIME = Interval(-(2**62), 2**62)


def check_records(
    raw: RawRecords,
    interval: Interval | None,
    params: LogParameters,
    connection: duckdb.DuckDBPyConnection,
) -> Records:
    """Every record of a batch as an impression or a reject.

    Args:
        raw: The batch.
        interval: Allowed time range; None: times are ignored and set to 0.
        params: `[log]`.
        connection: DuckDB connection; a separate cursor is opened on it.
    """
    kept, rejects, unclear = [], list[tuple[int, str]](), list[int]()
    params = params.model_copy(update={"click_form": "ranks"}) if raw.are_ranks else params
    for table in raw.tables:
        cleaned = _cleaned_columns(table, interval, params, connection)
        reasons = pl.Series(_reasons(cleaned, interval, params, connection))
        if reasons.null_count() < len(reasons):
            failed = pl.DataFrame({"record": pl.Series(cleaned["record"]), "reason": reasons})
            is_unclear = pl.col("reason") == UNCLEAR
            unclear += failed.filter(is_unclear)["record"].to_list()
            rejects += failed.drop_nulls("reason").filter(~is_unclear).rows()
            cleaned = cleaned.filter(pa.array(reasons.is_null().to_numpy()))
        names = ["ranks" if name == "clicks" else name for name in IMPRESSIONS.names]
        columns = cleaned.rename_columns({"seconds": "time"}).select(names)
        kept.append(columns.rename_columns(IMPRESSIONS.names).cast(IMPRESSIONS))
    for numbered in (raw.others, raw.original(sorted(unclear))):
        impressions, more = _check_individually(numbered, interval, params)
        kept.append(as_table(impressions))
        rejects += more
    filled = [table for table in kept if len(table)]
    impressions = pa.concat_tables(filled or [IMPRESSIONS.empty_table()])
    impressions = impressions.sort_by("record") if len(filled) > 1 else impressions
    return Records(impressions, sorted(rejects))


def _cleaned_columns(
    table: pa.Table,
    interval: Interval | None,
    params: LogParameters,
    connection: duckdb.DuckDBPyConnection,
) -> pa.Table:
    """`record`, `seconds`, `user`, `query`, `results`, `ranks`; null where a value is unclear."""
    ranks = _without_nulls(table["clicks"].combine_chunks())
    if params.click_form == "flags":
        with connection.cursor() as cursor:
            cursor.register("records", table.select(["results", "clicks"]))
            ranks = cursor.sql(RANKS_OF_FLAGS).to_arrow_table()["ranks"]
    columns = {
        "record": table["record"],
        "seconds": _seconds(table["time"], interval, params),
        "user": table["user"],
        "query": _clean_queries(table["query"], params),
        "results": table["results"],
        "ranks": ranks,
    }
    return pa.table(columns)


def _without_nulls(lists: pa.Array) -> pa.Array:
    """Lists, empty where one is null."""
    return lists_of(lengths(lists), pc.list_flatten(lists)) if lists.null_count else lists


def _reasons(
    records: pa.Table,
    interval: Interval | None,
    params: LogParameters,
    connection: duckdb.DuckDBPyConnection,
) -> pa.ChunkedArray:
    """Each record's reject reason, `unclear`, or null if accepted."""
    wanted = interval or ANY_TIME
    values = {"start": wanted.start, "stop": wanted.stop, "max_results": params.max_results}
    with connection.cursor() as cursor:
        cursor.register("records", records)
        return cursor.sql(REASONS, params=values).to_arrow_table()["reason"]


def _seconds(
    times: pa.ChunkedArray, interval: Interval | None, params: LogParameters
) -> pa.Array | pa.ChunkedArray:
    """Unix seconds, null where a time is unclear; 0 where times are not read."""
    if interval is None:
        return pa.array(np.zeros(len(times), dtype=np.int64))
    return unix_seconds(times.combine_chunks(), params)


def _clean_queries(texts: pa.ChunkedArray, params: LogParameters) -> pa.Array:
    """Cleaned queries, each distinct text once; null where one is to be rejected."""
    encoded = texts.combine_chunks().dictionary_encode()
    distinct = pl.Series(pl.from_arrow(encoded.dictionary), dtype=pl.String)
    is_clean = distinct.str.contains(CLEAN_LINE) & (
        distinct.str.len_chars() <= params.max_query_chars
    )
    others = [_cleaned(text, params) for text in distinct.filter(~is_clean).to_list()]
    cleaned = replaced(distinct, ~is_clean, pl.Series(others, dtype=pl.String))
    return cleaned.to_arrow().cast(pa.string()).take(encoded.indices)


def _cleaned(text: str, params: LogParameters) -> str | None:
    try:
        return clean_query(text, params)
    except RejectError:
        return None


def _check_individually(
    numbered: Iterable[Numbered], interval: Interval | None, params: LogParameters
) -> tuple[list[tuple[int, Impression]], list[tuple[int, str]]]:
    """Impressions and rejects of records, by the one-record specification."""
    impressions, rejects = [], []
    for number, record in numbered:
        try:
            if isinstance(record, str):
                raise RejectError(record)
            impressions.append((number, make_impression(record, interval, params)))
        except RejectError as reject:
            rejects.append((number, str(reject)))
    return impressions, rejects
