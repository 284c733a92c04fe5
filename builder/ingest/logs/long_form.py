"""Groups the rows of logs in long form (one row per result) into impressions.

Rows may be in any order and in several files. Rows with equal time, user and query form one
impression, except that a repeated rank starts a new impression. Without ranks, results are ranked
in row order. Impressions are returned as raw records in the order of their first rows. DuckDB
groups and sorts the rows, and spills to disk if they exceed the memory limit.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from builder.ingest.fields import DEFAULT_FIELDS
from builder.ingest.lists import build_list_array
from builder.ingest.logs.records import NumberedRecord, RawRecords
from builder.ingest.logs.scalars import CLICKED, NOT_CLICKED
from builder.io.engine import set_sql_variables
from builder.parameters import LogFields

ROWS = pa.schema(
    {"record": pa.uint64(), **dict.fromkeys(("time", "user", "query"), pa.string())}
    | dict.fromkeys(("url", "rank", "clicked"), pa.string())
)
"""Schema of rows in long form: row number, and all fields as strings."""

MAX_RESULTS = 2**16
"""Maximum number of results per impression, to bound memory use; further results start a new
impression."""

ROW_BITS = 40
"""Number of low bits of a row's number that hold its number within the file; the bits above hold
the index of the file."""

CREATE = "CREATE TABLE rows AS SELECT * FROM batch LIMIT 0"
INSERT = "INSERT INTO rows SELECT * REPLACE (record + $start::UBIGINT AS record) FROM batch"

CREATE_TYPED = """
CREATE VIEW typed AS
SELECT record, time, CASE WHEN trim("user", ' ') <> '' THEN "user" END AS "user", query, url,
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
  ON (a.time, a."user", a.query) IS NOT DISTINCT FROM (b.time, b."user", b.query)
WHERE NOT is_ranked AND NOT (getvariable('row_is_click') AND click_order = 0)
"""
"""Creates a table of rejected rows: rows with an invalid rank, and rows without a rank in an
impression in which other rows have a rank."""

CREATE_COPIES = """
CREATE TABLE copies AS
WITH repeated AS (
    SELECT DISTINCT time, "user", query FROM typed WHERE rank IS NOT NULL
    GROUP BY time, "user", query, rank HAVING count(*) > 1
),
counted AS (
    SELECT *, row_number() OVER (place ORDER BY record) AS copy, count(*) OVER place AS copies,
           coalesce(min(url) OVER place = max(url) OVER place, false) AS is_one_url,
           CASE WHEN count(click_order) OVER place = count(*) OVER place
                THEN coalesce(min(nullif(click_order, 0)) OVER place, 0) END AS first_click
    FROM typed AS a SEMI JOIN repeated AS b
      ON (a.time, a."user", a.query) IS NOT DISTINCT FROM (b.time, b."user", b.query)
    WHERE rank IS NOT NULL WINDOW place AS (PARTITION BY time, "user", query, rank)
)
SELECT record, copy, first_click FROM counted WINDOW page AS (PARTITION BY time, "user", query)
QUALIFY min(copies) OVER page = 1 AND bool_and(is_one_url) OVER page
"""
"""Creates a table of the rows of results that were repeated when the log was joined with its
clicks: some results of the impression occur several times, always with the same URL, and others
once. Only the first copy of a result is kept; it is clicked if any copy is clicked."""

REJECTED = "SELECT record, 'bad_rank' AS reason FROM rejected ORDER BY record"

GROUPED = """
WITH ranked AS (
    SELECT * REPLACE (
        CASE WHEN rank IS NOT NULL THEN rank
             WHEN getvariable('row_is_click') AND click_order = 0 THEN 0
             ELSE row_number() OVER (PARTITION BY time, "user", query ORDER BY record) END AS rank,
        if(copy = 1, first_click, click_order) AS click_order)
    FROM typed ANTI JOIN rejected USING (record) LEFT JOIN copies USING (record)
    WHERE copy IS NULL OR copy = 1
),
occurring AS (
    SELECT *, row_number() OVER (PARTITION BY time, "user", query, rank ORDER BY record)
              AS occurrence
    FROM ranked
)
SELECT min(record) OVER (PARTITION BY time, "user", query, occurrence) AS first,
       time, "user", query, url, click_order
FROM occurring ORDER BY first, rank, record
"""


def is_long_form(column_names: Iterable[str], fields: LogFields = DEFAULT_FIELDS) -> bool:
    """Whether column names are those of a log in long form: a URL column and no results column."""
    return fields.results not in column_names and fields.url in column_names


def optional_fields(column_names: Iterable[str], fields: LogFields) -> tuple[str, ...]:
    """Return the standard names of the optional columns of a log with the given column names.

    A log in long form (one row per result) has different optional columns from a log in wide form.
    """
    return ("user", "rank", "clicked") if is_long_form(column_names, fields) else ("user", "clicks")


def rows_to_table(records: Sequence[tuple[int, dict[str, Any]]], fields: LogFields) -> pa.Table:
    """Convert numbered rows in long form to a table with the schema `ROWS`.

    Args:
        records: Number and values of each row; the values are keyed by the log's column names.
        fields: Section `[log.fields]` of the definition.
    """
    names = {own: getattr(fields, own) for own in ROWS.names[1:]}
    columns: dict[str, list[Any]] = {
        own: [_to_text(row.get(name)) for _, row in records] for own, name in names.items()
    }
    return pa.table({"record": [number for number, _ in records], **columns}, schema=ROWS)


def _to_text(value: Any) -> str | None:
    """Convert a cell value to a string; None remains None."""
    return value if value is None or isinstance(value, str) else str(value)


def group_result_rows(
    batches: Iterable[tuple[int, RawRecords]],
    connection: duckdb.DuckDBPyConnection,
    *,
    row_is_click: bool,
) -> Iterator[tuple[int, RawRecords]]:
    """Group rows in long form into impressions.

    Args:
        batches: Batches of rows, each with the index of its file: tables with the schema `ROWS`,
            and rejected rows.
        connection: DuckDB connection used for these files only.
        row_is_click: Whether every row with a URL is a clicked result, as in click logs, and every
            row without a URL is an impression with unknown results.

    Yields:
        Batches of rejected rows, then of impressions in the order of their first rows, each with
        the index of the file. The file of an impression is that of its first row.
    """
    set_sql_variables(
        connection,
        row_is_click=row_is_click,
        clicked=sorted(CLICKED),
        not_clicked=sorted(NOT_CLICKED),
    )
    yield from _insert_rows(batches, connection)
    for create in (CREATE_TYPED, CREATE_REJECTED, CREATE_COPIES):
        connection.execute(create)
    for found in connection.sql(REJECTED).to_arrow_reader(2**16):
        for file, rejected in _split_by_file(pa.Table.from_batches([found])):
            rows: list[NumberedRecord] = list(zip(*rejected.to_pydict().values(), strict=True))
            yield file, RawRecords(rows=rows)
    for table in _impression_tables(connection, row_is_click=row_is_click):
        for file, part in _split_by_file(table):
            yield file, RawRecords([part], partial(_read_records, part), clicks_are_ranks=True)


def _insert_rows(
    batches: Iterable[tuple[int, RawRecords]], connection: duckdb.DuckDBPyConnection
) -> Iterator[tuple[int, RawRecords]]:
    """Insert the rows of all files into the table `rows`; yield the rejected rows of each batch."""
    connection.register("batch", ROWS.empty_table())
    connection.execute(CREATE)
    for file, batch in batches:
        for table in batch.tables:
            connection.register("batch", table)
            connection.execute(INSERT, {"start": file << ROW_BITS})
        if batch.rows:
            yield file, RawRecords(rows=batch.rows)
    connection.unregister("batch")


def _split_by_file(table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """Yield the index and the rows of each file in a table that is sorted by `record`.

    In the yielded rows, `record` is the row number within the file.
    """
    numbers = table["record"].to_numpy()
    files, starts = np.unique(numbers >> ROW_BITS, return_index=True)
    for file, start, stop in zip(files.tolist(), starts, [*starts[1:], len(table)], strict=True):
        within = pa.array(numbers[start:stop] - np.uint64(file << ROW_BITS))
        yield file, table.slice(start, stop - start).set_column(0, "record", within)


def _impression_tables(
    connection: duckdb.DuckDBPyConnection, *, row_is_click: bool
) -> Iterator[pa.Table]:
    """Yield the impressions in the table `rows` as tables, sorted by number of the first row."""
    reader = connection.sql(GROUPED).to_arrow_reader(2**17)
    rest = reader.schema.empty_table()
    for batch in reader:
        rest = pa.concat_tables([rest, pa.Table.from_batches([batch])])
        whole = _count_rows_of_complete_impressions(rest["first"].to_numpy())
        if whole:
            yield _build_impressions(rest.slice(0, whole), row_is_click=row_is_click)
        rest = rest.slice(whole)
    if len(rest):
        yield _build_impressions(rest, row_is_click=row_is_click)


def _count_rows_of_complete_impressions(
    first_rows: "np.ndarray[tuple[int], np.dtype[np.uint64]]",
) -> int:
    """Return the number of leading rows that belong to complete impressions.

    The last impression may continue in the next batch, so its rows are not counted unless there are
    at least `MAX_RESULTS`.

    Args:
        first_rows: For each row, the number of the first row of its impression; sorted.
    """
    start = int(np.searchsorted(first_rows, first_rows[-1]))
    return start if len(first_rows) - start < MAX_RESULTS else len(first_rows)


def _build_impressions(rows: pa.Table, *, row_is_click: bool) -> pa.Table:
    """Build a table of impressions (raw records) from rows that are sorted by impression and rank.

    A `clicked` value that cannot be interpreted becomes a null click, for which the impression is
    rejected later.
    """
    first = rows["first"].to_numpy()
    starts = np.flatnonzero(np.diff(first, prepend=first[0] + np.uint64(1)))
    group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(first))))
    heads = rows.take(pa.array(starts))
    if row_is_click:
        shown = rows["click_order"].to_numpy() > 0
        rows, group = rows.filter(pa.array(shown)), group[shown]
    sizes = np.bincount(group, minlength=len(starts))
    position = np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
    order = rows["click_order"].fill_null(np.nan).to_numpy()
    clicked = np.flatnonzero((order > 0) | np.isnan(order))
    sequence = clicked[np.lexsort((position[clicked], order[clicked], group[clicked]))]
    counts = np.bincount(group[clicked], minlength=len(starts))
    return pa.table(
        {
            "record": heads["first"],
            "time": heads["time"],
            "user": heads["user"],
            "query": heads["query"],
            "results": build_list_array(sizes, rows["url"].combine_chunks()),
            "clicks": build_list_array(
                counts, pa.array(position[sequence], mask=np.isnan(order[sequence]))
            ),
        }
    )


def _read_records(table: pa.Table, record_numbers: Sequence[int]) -> Iterator[NumberedRecord]:
    """Yield the rows that have the given record numbers, as dictionaries without nulls."""
    indices = np.searchsorted(
        table["record"].to_numpy(), np.asarray(record_numbers, dtype=np.uint64)
    )
    for row in table.take(pa.array(indices)).to_pylist():
        yield row.pop("record"), {name: v for name, v in row.items() if v is not None}
