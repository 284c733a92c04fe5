"""Converts the lines of a JSON Lines crawl to raw pages and rejects.

Where possible, many lines are parsed at once into columns (see `line_columns`). Lines for which
this fails, or that have ambiguous values, are parsed one by one (see `page`). The result is the
same in both cases.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import orjson
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from builder.ingest.crawls.page import (
    DEFAULT_PARAMS,
    RAW_SCHEMA,
    FieldNames,
    parse_page,
    resolve_field_names,
)
from builder.ingest.line_columns import ColumnSchema, parse_lines
from builder.ingest.lines import LineChunk
from builder.ingest.lists import Mask, Rows
from builder.ingest.rejects import FILE_TRUNCATED, RECORD_TOO_LARGE, value_or_reject_reason
from builder.ingest.time_columns import to_unix_seconds
from builder.parameters import CrawlParameters

NO_ROWS: Rows = np.zeros(0, dtype=np.int64)
URL_TYPES = {str: pa.string(), int: pa.int64()}
TIMES = {int: pa.int64(), float: pa.float64(), str: pa.string()}
SAMPLE_LINES = 64
"""Number of leading lines of a chunk from which the column types are inferred."""
PARTIAL_LINE_REASONS = ("not_json", "not_utf8")
"""Reject reasons of incomplete lines, such as the last line of a truncated file."""


def parse_page_chunk(
    chunk: LineChunk, params: CrawlParameters = DEFAULT_PARAMS
) -> tuple[pl.DataFrame, list[tuple[int, str]]]:
    """Parse every line of a chunk; return a data frame of raw pages, and the rejects.

    Args:
        chunk: Lines of the crawl.
        params: Section `[crawl]` of the definition.

    Returns:
        Raw pages with the schema `page.RAW_SCHEMA`; line number and reason of each reject.
    """
    names = resolve_field_names(params.fields)
    column_schema = infer_schema(chunk, names)
    columns, indices = (
        (None, NO_ROWS) if column_schema is None else parse_lines(chunk, column_schema)
    )
    remaining = np.ones(len(chunk), dtype=bool)
    frames = []
    if columns is not None:
        pages, is_certain = _pages_from_columns(
            columns, (chunk.first_line_number + indices).astype(np.uint64), names, params
        )
        frames.append(pages)
        remaining[indices[is_certain]] = False
    one_by_one, rejects = _parse_lines_one_by_one(chunk, np.flatnonzero(remaining), params)
    frames = [frame for frame in (*frames, one_by_one) if frame.height]
    if chunk.fault is not None:
        rejects.append((chunk.first_line_number + len(chunk), chunk.fault))
    if len(frames) == 1:
        return frames[0], rejects
    return (pl.concat(frames).sort("line") if frames else pl.DataFrame(schema=RAW_SCHEMA)), rejects


def infer_schema(chunk: LineChunk, field_names: FieldNames) -> ColumnSchema | None:
    """Infer the schema of a chunk from sample lines; None if lines must be parsed one by one."""
    if "." in "".join(field_names.all_names) or len(set(field_names.all_names)) < len(
        field_names.all_names
    ):
        return None
    types = dict.fromkeys((field_names.title, *field_names.texts), pa.string())
    kinds = {field_names.url: URL_TYPES, **dict.fromkeys(field_names.times, TIMES)}
    observed_types: dict[str, set[type]] = {name: set() for name in kinds}
    other_fields: set[str] = set()
    for record in read_sample_records(chunk):
        other_fields |= record.keys() - types.keys() - observed_types.keys()
        for name in kinds:
            if record.get(name) is not None:
                observed_types[name].add(type(record[name]))
    for name, known in kinds.items():
        kind = infer_arrow_type(observed_types[name], known)
        if kind is None:
            return None
        types[name] = kind
    return ColumnSchema(pa.schema(types), bool(other_fields))


def _pages_from_columns(
    columns: pa.RecordBatch,
    line_numbers: np.ndarray,
    field_names: FieldNames,
    params: CrawlParameters,
) -> tuple[pl.DataFrame, Mask]:
    """Return the raw pages of the rows that are certainly valid, and a Boolean mask of these rows.

    Args:
        columns: Parsed lines, in columns.
        line_numbers: Line number of each row.
        field_names: Field names of the crawl.
        params: Section `[crawl]` of the definition.
    """
    seconds, is_dated = _coalesce_times(columns, field_names, params)
    url, text = columns[field_names.url], _coalesce_texts(columns, field_names)
    is_certain: Mask = is_dated & _not_null_mask(url) & _not_null_mask(text)
    raw = pa.table(
        {
            "line": pa.array(line_numbers),
            "url": url.cast(pa.string()),
            "fetched_at": seconds,
            "title": columns[field_names.title].fill_null(""),
            "text": text,
        }
    )
    certain = raw if is_certain.all() else raw.filter(pa.array(is_certain))
    null_columns = [pl.lit(None, RAW_SCHEMA[name]).alias(name) for name in list(RAW_SCHEMA)[5:]]
    frame = pl.DataFrame(certain).with_columns(null_columns)
    return frame.select(pl.col(name).cast(kind) for name, kind in RAW_SCHEMA.items()), is_certain


def _not_null_mask(column: pa.Array) -> Mask:
    """Return a Boolean mask of the values that are not null."""
    return np.asarray(column.is_valid().to_numpy(zero_copy_only=False), dtype=bool)


def _coalesce_times(
    columns: pa.RecordBatch, field_names: FieldNames, params: CrawlParameters
) -> tuple[pa.Array, Mask]:
    """Return the time of each row in Unix seconds, and a Boolean mask of the rows to accept.

    The time of a row is the first non-null value among its time fields. A row is accepted
    if this value could be parsed, or if it has no time and `crawl.undated` allows that.
    """
    seconds = np.zeros(len(columns), dtype=np.int64)
    has_time = np.zeros(len(columns), dtype=bool)
    is_certain = has_time.copy()
    for name in field_names.times:
        is_first = _not_null_mask(columns[name]) & ~has_time
        if is_first.any():
            values = to_unix_seconds(columns[name], params)
            seconds[is_first] = values.fill_null(0).to_numpy()[is_first]
            is_certain[is_first] = _not_null_mask(values)[is_first]
            has_time |= is_first
    if params.undated == "start":
        is_certain |= ~has_time
    return pa.array(seconds, mask=~has_time), is_certain


def _coalesce_texts(columns: pa.RecordBatch, field_names: FieldNames) -> pa.Array:
    """Return the text of each row: the first non-empty value among its text fields."""
    texts = [columns[name] for name in field_names.texts]
    first = texts[0]
    if len(texts) == 1 or (not first.null_count and pc.min(pc.binary_length(first)).as_py() != 0):
        return first
    full = [pc.if_else(pc.equal(pc.binary_length(text), 0), None, text) for text in texts]
    return pc.coalesce(*full, *texts)


def _parse_lines_one_by_one(
    chunk: LineChunk, line_indices: Rows, params: CrawlParameters
) -> tuple[pl.DataFrame, list[tuple[int, str]]]:
    """Parse the lines with the given indices one by one; return raw pages and rejects."""
    rows: list[tuple[object, ...]] = []
    rejects = []
    for index in line_indices.tolist():
        line, number = chunk.get_line(index), chunk.first_line_number + index
        page = (
            RECORD_TOO_LARGE
            if line is None
            else value_or_reject_reason(partial(parse_page, line, params))
        )
        if isinstance(page, str):
            is_partial = (
                chunk.is_unterminated
                and index == len(chunk) - 1
                and page in PARTIAL_LINE_REASONS
                and _is_start_of_object(line)
            )
            rejects.append((number, FILE_TRUNCATED if is_partial else page))
        else:
            rows.append((number, *page))
    return build_raw_page_frame(rows), rejects


def _is_start_of_object(line: bytes | None) -> bool:
    """Whether a line starts like a JSON object but does not end like one."""
    return line is not None and line.lstrip()[:1] == b"{" and line.rstrip()[-1:] != b"}"


def build_raw_page_frame(rows: list[tuple[object, ...]]) -> pl.DataFrame:
    """Build a data frame of raw pages from tuples of a line number and the `RawPage` fields."""
    columns = zip(*rows, strict=True) if rows else ([] for _ in RAW_SCHEMA)
    return pl.DataFrame(
        [
            pl.Series(name, column, dtype=dtype)
            for (name, dtype), column in zip(RAW_SCHEMA.items(), columns, strict=True)
        ]
    )


def read_sample_records(chunk: LineChunk) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects among the first lines of a chunk."""
    first = bytes((chunk.data or b"")[: SAMPLE_LINES * 2048])
    for line in first.split(b"\n")[:SAMPLE_LINES]:
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(record, dict):
            yield record


def infer_arrow_type(
    python_types: set[type], arrow_types: dict[type, pa.DataType]
) -> pa.DataType | None:
    """Return the Arrow type of a column; None if its values have different or unsupported types.

    Args:
        python_types: Python types of the values; if there are none, the first of `arrow_types` is
            returned.
        arrow_types: Arrow type of each supported Python type.
    """
    if not python_types:
        return next(iter(arrow_types.values()), None)
    if python_types == {int, float}:
        python_types = {float}
    return arrow_types.get(next(iter(python_types))) if len(python_types) == 1 else None
