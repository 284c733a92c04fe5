"""Reads JSON Lines logs in bulk.

Arrow parses the lines of a chunk that have the most common schema (see `json_schema`); the
remaining lines are parsed one by one. Arrow takes 2.4 us per line with ten results. DuckDB's
`json_structure`, `json_keys` and `json_transform`, which perform the same checks, take 6 us and
would make the stage take 1.4 times as long.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import duckdb
import numpy as np
import orjson
import pyarrow as pa

from builder.ingest.fields import RECORD_FIELDS, rename_fields
from builder.ingest.json_object import parse_json_object
from builder.ingest.line_columns import parse_lines
from builder.ingest.lines import LineChunk
from builder.ingest.logs.json_schema import JsonLogSchema, infer_schema
from builder.ingest.logs.records import NumberedRecord, RawRecords, Record
from builder.ingest.rejects import LINE_TOO_LONG, RejectError
from builder.ingest.timestamps import LATEST, UNITS
from builder.parameters import LogFields, LogParameters

CHUNK_BYTES = (4 * 2**20, 64 * 2**20)
"""Minimum and maximum chunk size in bytes. The larger the chunks, the fewer strings are stored more
than once."""
CHUNK_SHARE = 1 / 32
"""Size of a chunk as a fraction of the memory limit."""

SAMPLE_LINES = 64
"""Number of leading lines of a chunk from which the schema is inferred."""

COLUMNS = """
SELECT record, {time} AS time, {user}::VARCHAR AS "user", {query}::VARCHAR AS query,
       {results} AS results, {clicks} AS clicks
FROM parsed
"""

RESULT_URLS = """
CASE WHEN list_count(list_transform({list}, lambda result: result.{rank})) = 0
       OR list_transform({list}, lambda result: result.{rank}) = range(1, len({list}) + 1)
     THEN CASE WHEN len({clicks}) > 0
                 OR list_bool_and(list_transform({list}, lambda result:
                                                 coalesce(result.{clicked}::BIGINT, 0) IN (0, 1)))
               THEN list_transform({list}, lambda result: result.{url}::VARCHAR) END END
"""
"""SQL expression for the URLs of result objects. Null if the record is ambiguous: the ranks are not
1, 2, 3, ..., or the record lists no clicks and a `clicked` value is neither 0 nor 1."""

CLICKED_RESULTS = """
CASE WHEN len({clicks}) > 0 THEN {ranks}
     ELSE list_filter(range(1, len({list}) + 1), lambda rank:
                      coalesce({list}[rank].{clicked}::BIGINT, 0) > 0) END
"""

CLICK_RANKS = """
CASE WHEN list_max(list_transform({list}, lambda click: abs(click.{time}::DOUBLE))) >= {latest}
     THEN [NULL]
     WHEN list_count(list_transform({list}, lambda click: click.{time})) = len({list})
     THEN list_transform(list_sort(list_zip(list_transform({list}, lambda click: click.{time}),
                                            range(1, len({list}) + 1),
                                            list_transform({list}, lambda click: click.{rank}))),
                         lambda click: click[3])
     ELSE list_transform({list}, lambda click: click.{rank}) END
"""
"""SQL expression for the ranks of click objects, sorted by time if all clicks have a time; a single
null if a time is ambiguous."""


def chunk_size(memory_limit: int) -> int:
    """Return the chunk size in bytes for a memory limit in bytes."""
    least, most = CHUNK_BYTES
    return max(least, min(int(memory_limit * CHUNK_SHARE), most))


def parse_chunk(
    chunk: LineChunk, params: LogParameters, connection: duckdb.DuckDBPyConnection
) -> RawRecords:
    """Parse a chunk of a JSON Lines log and return its raw records.

    Args:
        chunk: Lines of the log.
        params: Section `[log]` of the definition.
        connection: DuckDB connection; each query uses its own cursor.
    """
    schema = None
    if not _may_have_plain_dotted_name(chunk, params.fields):
        schema = infer_schema(_read_sample_records(chunk), params)
    table, rows = (None, np.zeros(0, dtype=np.int64))
    if schema is not None:
        batch, rows = parse_lines(chunk, schema.columns)
        table = (
            None
            if batch is None
            else _standardize_columns(batch, chunk, rows, schema, params, connection)
        )
    get_rows = partial(_parse_lines_individually, chunk, params.fields)
    others = [*get_rows(np.delete(np.arange(len(chunk)), rows) + chunk.first_line_number)]
    if chunk.fault is not None:
        others.append((chunk.first_line_number + len(chunk), chunk.fault))
    return RawRecords([] if table is None else [table], get_rows, others)


def _may_have_plain_dotted_name(chunk: LineChunk, fields: LogFields) -> bool:
    """Whether a name such as `a.b` may be that of a field, which takes precedence over `b` in `a`.

    Arrow reads only the nested field.
    """
    names = [name for own in RECORD_FIELDS if "." in (name := getattr(fields, own))]
    plain = "|".join(re.escape(f'"{name}"') for name in names).encode()
    return bool(names) and re.search(plain, chunk.data or b"") is not None


def _read_sample_records(chunk: LineChunk) -> list[Record]:
    """Return the JSON objects among the first lines of a chunk."""
    lines = bytes((chunk.data or b"")[: SAMPLE_LINES * 4096]).split(b"\n")[:SAMPLE_LINES]
    return [record for line in lines if isinstance(record := _parse_json_or_none(line), dict)]


def _parse_json_or_none(line: bytes) -> object:
    """Parse a line as JSON; return None for invalid JSON."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return None


def _standardize_columns(
    batch: pa.RecordBatch,
    chunk: LineChunk,
    line_indices: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    schema: JsonLogSchema,
    params: LogParameters,
    connection: duckdb.DuckDBPyConnection,
) -> pa.Table:
    """Convert parsed lines to a table with standard column names and types.

    Args:
        batch: Parsed lines, with the field names of the log.
        chunk: Chunk that contains the lines.
        line_indices: Index of each parsed line in the chunk.
        schema: Schema of the lines.
        params: Section `[log]` of the definition.
        connection: DuckDB connection.
    """
    numbers = pa.array((chunk.first_line_number + line_indices).astype(np.uint64))
    parsed = pa.Table.from_batches([batch]).append_column("record", numbers)
    own = {name: getattr(params.fields, name) for name in ("time", "user", "query")}
    names = [*own.values(), params.fields.results, params.fields.clicks]
    if list(own) == [*own.values()] and _has_only_flat_fields(schema, names):
        texts = [parsed[name].cast(pa.string()) for name in ("user", "query")]
        results, clicks = parsed[names[3]].cast(pa.list_(pa.string())), parsed[names[4]]
        columns = [parsed["record"], parsed["time"], *texts, results, clicks]
        return pa.table(columns, names=["record", "time", "user", "query", "results", "clicks"])
    with connection.cursor() as cursor:
        cursor.register("parsed", parsed)
        return cursor.sql(_build_columns_query(schema, params)).to_arrow_table()


def _has_only_flat_fields(schema: JsonLogSchema, field_names: Sequence[str]) -> bool:
    """Whether a log has neither nested fields nor lists of objects."""
    has_objects = schema.has_result_objects or schema.has_click_objects
    return not has_objects and all("." not in name for name in field_names)


def _build_columns_query(schema: JsonLogSchema, params: LogParameters) -> str:
    """Return the SQL query that converts parsed lines to columns with standard names and types."""
    fields, latest = params.fields, LATEST * UNITS[params.time_unit]
    latest = 0 if params.time_format else latest  # every time is ambiguous
    results, clicks = _field_expression(fields.results), _field_expression(fields.clicks)
    found = {"results": f"{results}::VARCHAR[]", "clicks": clicks}
    if schema.has_click_objects:
        names = {own: _quote_identifier(name) for own, name in fields.click_fields.items()}
        found["clicks"] = CLICK_RANKS.format(list=clicks, latest=latest, **names)
    if schema.has_result_objects:
        names = {own: _quote_identifier(name) for own, name in fields.result_fields.items()}
        found["results"] = RESULT_URLS.format(list=results, clicks=clicks, **names)
        found["clicks"] = CLICKED_RESULTS.format(
            list=results, clicks=clicks, ranks=found["clicks"], **names
        )
    scalars = {own: _field_expression(getattr(fields, own)) for own in ("time", "user", "query")}
    return COLUMNS.format(**scalars, **found)


def _field_expression(name: str) -> str:
    """Return the SQL expression for a field of the parsed lines, given its plain or dotted name."""
    return ".".join(["parsed", *map(_quote_identifier, name.split("."))])


def _quote_identifier(name: str) -> str:
    """Quote an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def _parse_lines_individually(
    chunk: LineChunk, fields: LogFields, line_numbers: Iterable[int]
) -> Iterator[NumberedRecord]:
    """Parse the lines with the given numbers one by one.

    For each line, yield its number and its record or reject reason.
    """
    for number in map(int, line_numbers):
        line = chunk.get_line(number - chunk.first_line_number)
        try:
            if line is None:
                raise RejectError(LINE_TOO_LONG)
            yield number, rename_fields(parse_json_object(line), fields)
        except RejectError as reject:
            yield number, str(reject)
