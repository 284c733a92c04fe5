"""Reads untrusted Parquet files in batches, with a limit on the decoded size.

With dictionary encoding, a few bytes can repeat a long text a million times. Rows are therefore
decoded in small groups, which are combined into batches of a useful size. Reading stops if the
ratio of the decoded size to the file size exceeds the same maximum as for text files (see `lines`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from builder.ingest.lines import MAX_COMPRESSION_RATIO, MIN_BOMB_BYTES
from builder.ingest.nested import select_columns

BATCH_BYTES = 32 * 2**20

Decoder = Callable[[bytes], str | None]
Decoders = Mapping[str, Decoder]
NO_DECODERS: Decoders = {}


class DecompressionBombError(ValueError):
    """Error raised for a decompression bomb: a file whose compression ratio exceeds the maximum."""


def read_bounded_batches(
    file: pq.ParquetFile,
    file_bytes: int,
    max_rows: int,
    rows_decoded_at_once: int,
    columns: Sequence[str] | None = None,
    decoders: Decoders = NO_DECODERS,
) -> Iterator[pa.RecordBatch]:
    """Yield batches of a Parquet file, each with a limited number of rows and bytes.

    Args:
        file: The Parquet file.
        file_bytes: Size of the file in bytes.
        max_rows: Approximate maximum number of rows per batch.
        rows_decoded_at_once: Number of rows decoded at a time. Memory may hold this many copies
            of a long text if its column is dictionary-encoded.
        columns: Column names, possibly dotted (see `nested`); None for all columns.
        decoders: Fallback decoders for values in binary columns that are not UTF-8, by column
            name. In columns without a decoder, such values become null.

    Raises:
        DecompressionBombError: the decoded size exceeds `MAX_COMPRESSION_RATIO` times the file
            size. It is raised after the batches up to that point have been yielded.
    """
    max_total_bytes = max(MAX_COMPRESSION_RATIO * file_bytes, MIN_BOMB_BYTES)
    total_bytes = part_bytes = count = 0
    parts: list[pa.RecordBatch] = []
    names = None if columns is None else tuple(columns)
    for batch in file.iter_batches(rows_decoded_at_once, columns=columns, use_threads=False):
        part = (
            batch
            if _is_normalized_schema(batch.schema, names)
            else _normalize_batch(batch, columns, decoders)
        )
        total_bytes, part_bytes, count = (
            total_bytes + part.nbytes,
            part_bytes + part.nbytes,
            count + len(part),
        )
        parts.append(part)
        if count >= max_rows or part_bytes >= BATCH_BYTES or total_bytes > max_total_bytes:
            yield _concat_batches(parts)
            parts, part_bytes, count = [], 0, 0
        if total_bytes > max_total_bytes:
            raise DecompressionBombError
    if parts:
        yield _concat_batches(parts)


@lru_cache(maxsize=8)
def _is_normalized_schema(schema: pa.Schema, columns: tuple[str, ...] | None) -> bool:
    """Whether a schema has exactly these columns, and no dictionary, string view or binary type."""
    return (
        columns in (None, tuple(schema.names))
        and schema == _normalized_schema(schema)
        and not any(map(contains_binary, schema.types))
    )


def _normalize_batch(
    batch: pa.RecordBatch, columns: Sequence[str] | None, decoders: Decoders
) -> pa.RecordBatch:
    """Select columns by name; decode dictionaries, and convert string views and binary to text."""
    selected = batch if columns is None else select_columns(batch, columns)
    return _binary_columns_to_text(selected.cast(_normalized_schema(selected.schema)), decoders)


def _normalized_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema in which value types and strings replace dictionaries and string views."""
    return pa.schema([pa.field(field.name, _normalized_type(field.type)) for field in schema])


def _normalized_type(dtype: pa.DataType) -> pa.DataType:
    """Return the type that replaces a dictionary or string view type, or a list of such a type."""
    if pa.types.is_dictionary(dtype):
        return dtype.value_type
    if pa.types.is_string_view(dtype):
        return pa.string()
    if pa.types.is_list(dtype):
        return pa.list_(_normalized_type(dtype.value_type))
    if pa.types.is_large_list(dtype):
        return pa.large_list(_normalized_type(dtype.value_type))
    return dtype


def contains_binary(dtype: pa.DataType) -> bool:
    """Whether an Arrow type is binary or a list of binary; some programs store text as binary."""
    return _is_binary_type(dtype.value_type if is_list_type(dtype) else dtype)


def _is_binary_type(dtype: pa.DataType) -> bool:
    """Whether an Arrow type is binary, with 32-bit or 64-bit offsets."""
    return bool(pa.types.is_binary(dtype) or pa.types.is_large_binary(dtype))


def is_list_type(dtype: pa.DataType) -> bool:
    """Whether an Arrow type is a list, with 32-bit or 64-bit offsets."""
    return bool(pa.types.is_list(dtype) or pa.types.is_large_list(dtype))


def _binary_columns_to_text(batch: pa.RecordBatch, decoders: Decoders) -> pa.RecordBatch:
    """Convert the binary columns of a batch to strings."""
    if not any(contains_binary(dtype) for dtype in batch.schema.types):
        return batch
    columns = [
        _binary_column_to_text(column, decoders.get(name, _decode_to_none))
        if contains_binary(column.type)
        else column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.record_batch(columns, names=batch.schema.names)


def _decode_to_none(_: bytes) -> None:
    """Fallback decoder that replaces values that are not valid UTF-8 with None."""


def _binary_column_to_text(column: pa.Array, fallback_decoder: Decoder) -> pa.Array:
    """Convert a binary column to strings; values that are not UTF-8 go to the fallback decoder."""
    dtype = pa.list_(pa.string()) if is_list_type(column.type) else pa.string()
    try:
        return column.cast(dtype)
    except pa.ArrowInvalid:
        values = [_decode_value(value, fallback_decoder) for value in column.to_pylist()]
        return pa.array(values, dtype)


def _decode_value(value: Any, fallback_decoder: Decoder) -> Any:
    """Decode bytes, or each item of a list, as UTF-8 or with the fallback decoder; keep None."""
    if isinstance(value, list):
        return [_decode_value(item, fallback_decoder) for item in value]
    try:
        return value.decode() if isinstance(value, bytes) else None
    except UnicodeDecodeError:
        return fallback_decoder(value)


def _concat_batches(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Concatenate record batches into one batch."""
    return pa.concat_batches(batches) if len(batches) > 1 else batches[0]
