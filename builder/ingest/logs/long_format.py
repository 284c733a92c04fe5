"""Groups the rows of logs in long format (one row per result) into impressions.

Rows may be in any order and in several files. Rows with equal time, user and query form one
impression, except that a repeated rank starts a new impression. Times in different notations are
equal if they denote the same moment. Without ranks, results are ranked in row order. Impressions
are returned as raw records in the order of their first rows. DuckDB groups and sorts the rows, and
spills to disk if they exceed the memory limit.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from builder.ingest.advice import advise_on_split_impressions
from builder.ingest.fields import DEFAULT_FIELDS
from builder.ingest.logs.grouped_rows import build_impressions, read_records
from builder.ingest.logs.records import NumberedRecord, RawRecords
from builder.ingest.logs.scalars import CLICKED, NOT_CLICKED
from builder.ingest.rejects import RejectError
from builder.ingest.timestamps import parse_time_with_fraction
from builder.io.engine import set_sql_variables
from builder.parameters import LogFields, LogParameters

ROWS = pa.schema(
    {"record": pa.uint64(), **dict.fromkeys(("time", "user", "query"), pa.string())}
    | dict.fromkeys(("url", "rank", "clicked"), pa.string())
)
"""Schema of rows in long format: row number, and all fields as strings."""

ROW_BITS = 40
"""Number of low bits of a row number that store the row number within its file; the high bits store
the file index."""

CREATE = "CREATE TABLE rows AS SELECT * FROM batch LIMIT 0"
INSERT = "INSERT INTO rows SELECT * REPLACE (record + $start::UBIGINT AS record) FROM batch"

CREATE_TYPED = """
CREATE VIEW typed AS
SELECT record, time, coalesce(moment::VARCHAR, time) AS moment,
       CASE WHEN trim("user", ' ') <> '' THEN "user" END AS "user", query, url,
       coalesce(lower(trim(rank)) NOT IN ('', 'nan'), false) AS is_ranked,
       CASE WHEN TRY_CAST(rank AS DOUBLE) % 1 = 0 AND TRY_CAST(rank AS DOUBLE) >= 0
            THEN TRY_CAST(rank AS DOUBLE) END AS rank,
       CASE WHEN getvariable('row_is_click') THEN (coalesce(url, '') <> '')::DOUBLE
            WHEN clicked IS NULL OR lower(trim(clicked)) IN getvariable('not_clicked') THEN 0
            WHEN lower(trim(clicked)) IN getvariable('clicked') THEN 1
            WHEN TRY_CAST(clicked AS DOUBLE) BETWEEN 0 AND 1e300
              THEN TRY_CAST(clicked AS DOUBLE) END AS click_order
FROM rows
"""

CREATE_REJECTED = """
CREATE TABLE rejected AS
SELECT record FROM typed WHERE is_ranked AND rank IS NULL
UNION ALL
SELECT record FROM typed AS a SEMI JOIN (FROM typed WHERE rank IS NOT NULL) AS b
  ON (a.moment, a."user", a.query) IS NOT DISTINCT FROM (b.moment, b."user", b.query)
WHERE NOT is_ranked AND NOT (getvariable('row_is_click') AND click_order = 0)
"""
"""Creates a table of rejected rows: rows with an invalid rank, and rows without a rank in an
impression in which other rows have a rank."""

CREATE_COPIES = """
CREATE TABLE copies AS
WITH repeated AS (
    SELECT DISTINCT moment, "user", query FROM typed WHERE rank IS NOT NULL
    GROUP BY moment, "user", query, rank HAVING count(*) > 1
),
counted AS (
    SELECT *, row_number() OVER (place ORDER BY record) AS copy, count(*) OVER place AS copies,
           coalesce(min(url) OVER place = max(url) OVER place, false) AS is_one_url,
           CASE WHEN count(click_order) OVER place = count(*) OVER place
                THEN coalesce(min(nullif(click_order, 0)) OVER place, 0) END AS first_click
    FROM typed AS a SEMI JOIN repeated AS b
      ON (a.moment, a."user", a.query) IS NOT DISTINCT FROM (b.moment, b."user", b.query)
    WHERE rank IS NOT NULL WINDOW place AS (PARTITION BY moment, "user", query, rank)
)
SELECT record, copy, first_click FROM counted WINDOW page AS (PARTITION BY moment, "user", query)
QUALIFY min(copies) OVER page = 1 AND bool_and(is_one_url) OVER page
"""
"""Creates a table of result rows from impressions in which a join of the log with its clicks has
repeated some results: at least one rank occurs once, others several times, always with one URL per
rank. The first copy becomes the result, with the earliest click of all copies; the later clicks are
added in `GROUPED`."""

REJECTED = "SELECT record, 'bad_rank' AS reason FROM rejected ORDER BY record"

GROUPED = """
WITH ranked AS (
    SELECT typed.* REPLACE (
        CASE WHEN rank IS NOT NULL THEN rank
             WHEN getvariable('row_is_click') AND click_order = 0 THEN 0
             ELSE row_number() OVER (PARTITION BY moment, "user", query ORDER BY record)
        END AS rank,
        if(copy = 1, first_click, click_order) AS click_order)
    FROM typed ANTI JOIN rejected USING (record) LEFT JOIN copies USING (record)
    WHERE copy IS NULL OR copy = 1
),
occurring AS (
    SELECT *, false AS is_later_click,
           row_number() OVER (PARTITION BY moment, "user", query, rank ORDER BY record)
           AS occurrence
    FROM ranked
    UNION ALL
    SELECT typed.*, true, 1 FROM typed JOIN copies USING (record) WHERE click_order > first_click
)
SELECT min(record) OVER (PARTITION BY moment, "user", query, occurrence) AS first,
       time, "user", query, rank, url, click_order, is_later_click
FROM occurring ORDER BY first, rank, is_later_click, record
"""


def is_long_format(column_names: Iterable[str], fields: LogFields = DEFAULT_FIELDS) -> bool:
    """Whether a log is in long format: it has a URL column and no results column."""
    return fields.results not in column_names and fields.url in column_names


def optional_fields(column_names: Iterable[str], fields: LogFields) -> tuple[str, ...]:
    """Return the standard names of the optional columns of a log with the given column names.

    Logs in long format (one row per result) and in wide format (one row per impression) have
    different optional columns.
    """
    return (
        ("user", "rank", "clicked") if is_long_format(column_names, fields) else ("user", "clicks")
    )


def rows_to_table(records: Sequence[tuple[int, dict[str, Any]]], fields: LogFields) -> pa.Table:
    """Convert numbered rows in long format to a table with the schema `ROWS`.

    Args:
        records: Number and values of each row; the values are keyed by the log's column names.
        fields: Section `[log.fields]` of the definition.
    """
    names = {own: getattr(fields, own) for own in ROWS.names[1:]}
    columns: dict[str, list[Any]] = {
        own: [_cell_to_string(row.get(name)) for _, row in records] for own, name in names.items()
    }
    return pa.table({"record": [number for number, _ in records], **columns}, schema=ROWS)


def _cell_to_string(cell: Any) -> str | None:
    """Convert a cell to a string; None remains None."""
    return cell if cell is None or isinstance(cell, str) else str(cell)


def group_result_rows(
    batches: Iterable[tuple[int, RawRecords]],
    connection: duckdb.DuckDBPyConnection,
    params: LogParameters,
    notes: list[str],
) -> Iterator[tuple[int, RawRecords]]:
    """Group rows in long format into impressions.

    If `log.click_form` is `rows`, every row with a URL is a clicked result, and every row without a
    URL is an impression with unknown results.

    Args:
        batches: Batches of rows, each with the index of its file: tables with the schema `ROWS`,
            and rejected rows.
        connection: DuckDB connection used for these files only.
        params: Section `[log]` of the definition.
        notes: Output list to which a note is appended if impressions seem to be split.

    Yields:
        Batches of rejected rows, then of impressions in the order of their first rows, each with
        the index of its file. An impression belongs to the file of its first row.
    """
    row_is_click = params.click_form == "rows"
    impressions_by_first_rank, impressions_by_size = Counter[float](), Counter[int]()
    set_sql_variables(
        connection,
        row_is_click=row_is_click,
        clicked=sorted(CLICKED),
        not_clicked=sorted(NOT_CLICKED),
    )
    yield from _insert_rows(batches, connection, params)
    for create in (CREATE_TYPED, CREATE_REJECTED, CREATE_COPIES):
        connection.execute(create)
    for found in connection.sql(REJECTED).to_arrow_reader(2**16):
        for file, rejected in _split_by_file(pa.Table.from_batches([found])):
            rows: list[NumberedRecord] = list(zip(*rejected.to_pydict().values(), strict=True))
            yield file, RawRecords(rows=rows)
    reader = connection.sql(GROUPED).to_arrow_reader(2**17)
    for table in build_impressions(
        reader, impressions_by_first_rank, impressions_by_size, row_is_click=row_is_click
    ):
        for file, part in _split_by_file(table):
            yield file, RawRecords([part], partial(read_records, part), clicks_are_ranks=True)
    if not row_is_click:
        notes.extend(advise_on_split_impressions(impressions_by_first_rank, impressions_by_size))


def _insert_rows(
    batches: Iterable[tuple[int, RawRecords]],
    connection: duckdb.DuckDBPyConnection,
    params: LogParameters,
) -> Iterator[tuple[int, RawRecords]]:
    """Insert the rows of all files into the table `rows`; yield the rejected rows of each batch."""
    connection.register("batch", _add_timestamp_column(ROWS.empty_table(), params))
    connection.execute(CREATE)
    for file, batch in batches:
        for table in batch.tables:
            connection.register("batch", _add_timestamp_column(table, params))
            connection.execute(INSERT, {"start": file << ROW_BITS})
        if batch.rows:
            yield file, RawRecords(rows=batch.rows)
    connection.unregister("batch")


def _add_timestamp_column(rows: pa.Table, params: LogParameters) -> pa.Table:
    """Append the column `moment`, the time of each row in Unix microseconds; null if unparsable."""
    times = rows["time"].combine_chunks().dictionary_encode()
    moments = [_to_unix_microseconds(time, params) for time in times.dictionary.to_pylist()]
    return rows.append_column("moment", pa.array(moments, pa.int64()).take(times.indices))


def _to_unix_microseconds(time: str, params: LogParameters) -> int | None:
    """Convert a time to Unix microseconds; return None if it cannot be parsed."""
    try:
        return round(parse_time_with_fraction(time, params) * 10**6)
    except RejectError:
        return None


def _split_by_file(table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """Yield the index and the rows of each file in a table that is sorted by `record`.

    In the yielded rows, `record` is the row number within the file.
    """
    numbers = table["record"].to_numpy()
    files, starts = np.unique(numbers >> ROW_BITS, return_index=True)
    for file, start, stop in zip(files.tolist(), starts, [*starts[1:], len(table)], strict=True):
        within = pa.array(numbers[start:stop] - np.uint64(file << ROW_BITS))
        yield file, table.slice(start, stop - start).set_column(0, "record", within)
