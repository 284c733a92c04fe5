"""Reads Parquet logs with one row per impression or, in long format, per result.

Batches whose columns have one of the expected types are converted column by column; other batches
are parsed row by row.
"""

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from builder.errors import FormatError
from builder.ingest import parquet_rows
from builder.ingest.columns import check_configured_columns, check_unique_columns
from builder.ingest.fields import RECORD_FIELDS, rename_fields
from builder.ingest.lists import build_list_array, is_string_type, list_lengths
from builder.ingest.logs.cell_lists import parse_lists_stored_as_text
from builder.ingest.logs.long_format import ROWS, is_long_format, optional_fields
from builder.ingest.logs.records import NumberedRecord, RawRecords
from builder.ingest.nested import existing_column_names, get_column, has_column
from builder.ingest.parquet_bounds import DecompressionBombError, is_list_type
from builder.ingest.parquet_rows import NumberedBatch, batch_to_rows, convert_parquet_errors
from builder.ingest.rejects import DECOMPRESSION_BOMB
from builder.io.parquet import open_file
from builder.io.sources import Source
from builder.parameters import LogParameters


def find_configured_columns(
    schema: pa.Schema, source: Source, params: LogParameters, *, needs_time: bool = True
) -> list[str]:
    """Return the column names in `[log.fields]` that a Parquet log has.

    Raises:
        FormatError: a column that is required or named in the definition is missing, or two columns
            have the same name.
    """
    fields, names = params.fields, schema.names
    found = existing_column_names(schema, fields.model_dump().values())
    shown = fields.url if is_long_format(found, fields) else fields.results
    needed = [*([fields.time] if needs_time else []), fields.query]
    missing = sorted({*needed, shown} - set(found))
    if missing:
        raise FormatError(
            f"expected the columns {', '.join(needed)}, {fields.results} (or "
            f"{fields.url}), {fields.user}, {fields.clicks}; missing: {', '.join(missing)}; "
            f"found {', '.join(names)}; name the columns in [log.fields]",
            source.name,
        )
    optional = optional_fields(found, fields)
    check_configured_columns("log.fields", fields, optional, names, source, found)
    check_unique_columns(names, found, source)
    return found


def read_batches(
    source: Source, columns: Sequence[str], faults: list[str], user_column: str = "user"
) -> Iterator[NumberedBatch]:
    """Yield batches of rows of a Parquet log, each with the 1-based number of its first row.

    Args:
        source: The log file.
        columns: Names of the columns to read.
        faults: Output list to which the reject reason is appended if reading stops early.
        user_column: Name of the column of user ids; binary ids that are not UTF-8 are hex-encoded.

    Raises:
        FormatError: the file cannot be read as Parquet.
    """
    with convert_parquet_errors(source), open_file(source.path) as file:
        try:
            yield from parquet_rows.read_numbered_batches(
                file, source.path.stat().st_size, columns, decoders={user_column: bytes.hex}
            )
        except DecompressionBombError:
            faults.append(DECOMPRESSION_BOMB)


def parse_batch(numbered_batch: NumberedBatch, params: LogParameters) -> RawRecords:
    """Convert a batch to raw records, by column if all types are supported, otherwise by row."""
    first, batch = numbered_batch
    get_rows = partial(_read_rows, numbered_batch, params)
    try:
        batch.validate(full=True)
        table = _standardize_columns(numbered_batch, params)
    except (pa.ArrowException, TypeError, KeyError):
        return RawRecords(rows=list(get_rows(range(first, first + len(batch)))))
    return RawRecords([table], get_rows)


def _standardize_columns(numbered_batch: NumberedBatch, params: LogParameters) -> pa.Table:
    """Convert a batch to a table with standard column names and types.

    Raises:
        TypeError: a column has a type that only row-by-row parsing supports.
        KeyError: a field name is ambiguous.
    """
    first, batch = numbered_batch
    if params.click_form == "ids":
        raise TypeError("click ids require row-wise parsing")
    time, user, query, results, clicks = (
        _get_column_or_nulls(batch, getattr(params.fields, name)) for name in RECORD_FIELDS
    )
    if not is_list_type(results.type):
        raise TypeError(results.type)
    return pa.table(
        {
            "record": np.arange(first, first + len(batch), dtype=np.uint64),
            "time": _cast_time_column(time),
            "user": _cast_text_column(user),
            "query": _cast_text_column(query),
            "results": _replace_list_values(results, _cast_text_column(pc.list_flatten(results))),
            "clicks": _cast_click_lists(clicks),
        }
    )


def _get_column_or_nulls(batch: pa.RecordBatch, name: str) -> pa.Array:
    """Return the column or struct field with the given name, or nulls if there is none.

    Raises:
        KeyError: the name is both a column name and a path into a struct column.
    """
    root, dot, _ = name.partition(".")
    if dot and {name, root} <= {*batch.schema.names}:
        raise KeyError(name)
    return get_column(batch, name) if has_column(batch.schema, name) else pa.nulls(batch.num_rows)


def _cast_time_column(times: pa.Array) -> pa.Array:
    """Cast a column of times to int64 or strings; keep floats and timestamps.

    Raises:
        TypeError: the column has any other type.
    """
    dtype = times.type
    if pa.types.is_integer(dtype):
        return times.cast(pa.int64())
    if pa.types.is_floating(dtype) or pa.types.is_timestamp(dtype):
        return times
    return _cast_text_column(times, allow_integers=False)


def _cast_text_column(values: pa.Array, *, allow_integers: bool = True) -> pa.Array:
    """Cast a column of strings, nulls or (if allowed) integers to strings.

    Raises:
        TypeError: the column has any other type.
    """
    dtype = values.type
    if not (
        is_string_type(dtype)
        or pa.types.is_null(dtype)
        or (allow_integers and pa.types.is_integer(dtype))
    ):
        raise TypeError(dtype)
    return values.cast(pa.string())


def _cast_click_lists(clicks: pa.Array) -> pa.Array:
    """Cast a column of clicks to lists of int64.

    Raises:
        TypeError: the column does not consist of lists of numbers.
        pyarrow.ArrowInvalid: a number has a fractional part.
    """
    if pa.types.is_null(clicks.type):
        return pa.nulls(len(clicks), pa.list_(pa.int64()))
    if not is_list_type(clicks.type):
        raise TypeError(clicks.type)
    dtype = clicks.type.value_type
    if not (pa.types.is_integer(dtype) or pa.types.is_floating(dtype) or pa.types.is_null(dtype)):
        raise TypeError(dtype)
    return _replace_list_values(
        clicks, pc.list_flatten(clicks).cast(pa.int64())
    )  # fails on fractions


def _replace_list_values(lists: pa.Array, items: pa.Array) -> pa.Array:
    """Replace the items of a list array, keeping offsets and nulls."""
    found = build_list_array(list_lengths(lists), items)
    return pc.if_else(lists.is_valid(), found, None) if lists.null_count else found


def _read_rows(
    numbered_batch: NumberedBatch, params: LogParameters, row_numbers: Sequence[int]
) -> Iterator[NumberedRecord]:
    """Yield the rows with the given numbers as records with standard field names."""
    first, batch = numbered_batch
    chosen = batch.take(pa.array([number - first for number in row_numbers], pa.int64()))
    for number, row in zip(row_numbers, batch_to_rows(chosen), strict=True):
        record = row
        if not isinstance(record, str):
            record = parse_lists_stored_as_text(to_plain_value(record), params)
        yield number, record if isinstance(record, str) else rename_fields(record, params.fields)


def to_plain_value(value: Any) -> Any:
    """Convert whole floats and decimals to integers, and UUIDs and bytes to text.

    Lists and dictionaries are converted item by item. NaN, which pandas writes for missing values,
    becomes None.
    """
    if isinstance(value, dict):
        return {name: to_plain_value(item) for name, item in value.items()}
    if isinstance(value, list):
        return [to_plain_value(item) for item in value]
    if isinstance(value, float | Decimal):
        return None if math.isnan(value) else int(value) if value % 1 == 0 else value
    if isinstance(value, bytes):
        return value.hex()
    return str(value) if isinstance(value, UUID) else value


def parse_result_rows(numbered_batch: NumberedBatch, params: LogParameters) -> RawRecords:
    """Convert a batch in long format (one row per result) to a table with the schema `ROWS`."""
    first, batch = numbered_batch
    numbers = np.arange(first, first + len(batch), dtype=np.uint64)
    columns = {
        own: _column_to_strings(get_column(batch, name))
        for own in ROWS.names[1:]
        if has_column(batch.schema, name := getattr(params.fields, own))
    }
    absent = {own: pa.nulls(len(batch), pa.string()) for own in ROWS.names[1:]}
    return RawRecords([pa.table({"record": numbers, **absent, **columns}, schema=ROWS)])


def _column_to_strings(column: pa.Array) -> pa.Array:
    """Convert a column of any type to strings.

    Timestamps become ISO 8601 strings, whole floats are written as integers, and NaN becomes null.
    """
    if (
        is_string_type(column.type)
        or pa.types.is_null(column.type)
        or pa.types.is_integer(column.type)
    ):
        return column.cast(pa.string())
    return pa.array([_value_to_string(to_plain_value(v)) for v in column.to_pylist()], pa.string())


def _value_to_string(value: Any) -> str | None:
    """Convert a plain cell value to a string; None remains None."""
    if value is None:
        return None
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
