"""Parquet logs to raw records: columns of the usual types as they are, all others row by row.

One row is an impression, or a result in the long form (see `long_form`).
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from builder.errors import FormatError
from builder.ingest import parquet_rows
from builder.ingest.fields import OWN, rename
from builder.ingest.lists import is_text, lengths, lists_of
from builder.ingest.logs.long_form import ROWS, is_long
from builder.ingest.logs.records import Numbered, RawRecords
from builder.ingest.nested import column_of, leads_to, named
from builder.ingest.parquet_bounds import BOMB, BombError, is_list
from builder.ingest.parquet_rows import NumberedBatch, readable, rows_of
from builder.io.sources import Source
from builder.parameters import LogFields, LogParameters


def known_columns(
    schema: pa.Schema, source: Source, params: LogParameters, *, timed: bool = True
) -> list[str]:
    """The names of `[log.fields]` that lead to columns of a file.

    Raises:
        FormatError: a needed column is missing.
    """
    fields, names = params.fields, schema.names
    found = named(schema, fields.model_dump().values())
    shown = fields.url if is_long(found, fields) else fields.results
    needed = [*([fields.time] if timed else []), fields.query]
    missing = sorted({*needed, shown} - set(found))
    if missing:
        raise FormatError(
            f"expected the columns {', '.join(needed)}, {fields.results} (or "
            f"{fields.url}), {fields.user}, {fields.clicks}; {', '.join(missing)} is missing, "
            f"found {', '.join(names)}",
            source.name,
        )
    return found


def batches(source: Source, columns: Sequence[str], faults: list[str]) -> Iterator[NumberedBatch]:
    """Some columns of a file; why reading stopped early is appended to `faults`.

    Raises:
        FormatError: it is not a readable Parquet file.
    """
    with readable(source), pq.ParquetFile(source.path) as file:
        try:
            yield from parquet_rows.batches(file, source.path.stat().st_size, columns)
        except BombError:
            faults.append(BOMB)


def parse_batch(numbered: NumberedBatch, params: LogParameters) -> RawRecords:
    """The rows of a batch as raw records."""
    first, batch = numbered
    original = partial(_rows, numbered, params.fields)
    try:
        batch.validate(full=True)
        table = _canonical_columns(numbered, params)
    except (pa.ArrowException, TypeError, KeyError):
        return RawRecords(others=list(original(range(first, first + len(batch)))))
    return RawRecords([table], original)


def _canonical_columns(numbered: NumberedBatch, params: LogParameters) -> pa.Table:
    """Columns renamed to the canonical field names.

    Raises:
        TypeError: a column has an unsupported type.
        KeyError: a name matches two columns.
    """
    first, batch = numbered
    if params.click_form == "ids":
        raise TypeError("ids are looked up among the results, row by row")
    time, user, query, results, clicks = (
        _column(batch, getattr(params.fields, name)) for name in OWN
    )
    if not is_list(results.type):
        raise TypeError(results.type)
    return pa.table(
        {
            "record": np.arange(first, first + len(batch), dtype=np.uint64),
            "time": _time_column(time),
            "user": _text_column(user),
            "query": _text_column(query),
            "results": _lists(results, _text_column(pc.list_flatten(results))),
            "clicks": _click_lists(clicks),
        }
    )


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    root, dot, _ = name.partition(".")
    if dot and {name, root} <= {*batch.schema.names}:
        raise KeyError(name)
    return column_of(batch, name) if leads_to(batch.schema, name) else pa.nulls(batch.num_rows)


def _time_column(times: pa.Array) -> pa.Array:
    kind = times.type
    if pa.types.is_integer(kind):
        return times.cast(pa.int64())
    if pa.types.is_floating(kind) or pa.types.is_timestamp(kind):
        return times
    return _text_column(times, integers=False)


def _text_column(values: pa.Array, *, integers: bool = True) -> pa.Array:
    kind = values.type
    if not (is_text(kind) or pa.types.is_null(kind) or (integers and pa.types.is_integer(kind))):
        raise TypeError(kind)
    return values.cast(pa.string())


def _click_lists(clicks: pa.Array) -> pa.Array:
    if pa.types.is_null(clicks.type):
        return pa.nulls(len(clicks), pa.list_(pa.int64()))
    if not is_list(clicks.type):
        raise TypeError(clicks.type)
    kind = clicks.type.value_type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)):
        raise TypeError(kind)
    return _lists(clicks, pc.list_flatten(clicks).cast(pa.int64()))  # fails unless all are whole


def _lists(lists: pa.Array, items: pa.Array) -> pa.Array:
    """A list array with the same offsets and validity but new values."""
    found = lists_of(lengths(lists), items)
    return pc.if_else(lists.is_valid(), found, None) if lists.null_count else found


def _rows(numbered: NumberedBatch, fields: LogFields, numbers: Sequence[int]) -> Iterator[Numbered]:
    """Rows as records under the project's names, given their numbers."""
    first, batch = numbered
    chosen = batch.take(pa.array([number - first for number in numbers], pa.int64()))
    for number, row in zip(numbers, rows_of(chosen), strict=True):
        yield number, row if isinstance(row, str) else rename(row, fields)


def result_rows(batches: Iterable[NumberedBatch], fields: LogFields) -> Iterator[pa.Table]:
    """Batches of the long form with the columns of `long_form.ROWS`."""
    for first, batch in batches:
        numbers = np.arange(first, first + len(batch), dtype=np.uint64)
        columns = {
            own: _as_text(column_of(batch, name))
            for own in ROWS.names[1:]
            if leads_to(batch.schema, name := getattr(fields, own))
        }
        absent = {own: pa.nulls(len(batch), pa.string()) for own in ROWS.names[1:]}
        yield pa.table({"record": numbers, **absent, **columns}, schema=ROWS)


def _as_text(column: pa.Array) -> pa.Array:
    """A column as text: timestamps in ISO 8601, whole floats without a fraction, NaN as null."""
    if is_text(column.type) or pa.types.is_null(column.type) or pa.types.is_integer(column.type):
        return column.cast(pa.string())
    return pa.array(
        [None if value is None else _written(value) for value in column.to_pylist()], pa.string()
    )


def _written(value: Any) -> str | None:
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
