"""Reads batches of an untrusted Parquet file with a limit on the decoded size.

Dictionary encoding can repeat one long text a million times in a few bytes. Rows are therefore
decoded in small groups and combined into batches of a useful size; reading stops if a file decodes
to far more than its size, as it does for text files (`lines`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
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
    """Raised for a file whose compression ratio exceeds the maximum (a decompression bomb)."""


def bounded_batches(
    file: pq.ParquetFile,
    file_bytes: int,
    max_rows: int,
    decoded_rows: int,
    columns: Sequence[str] | None = None,
    decoders: Decoders = NO_DECODERS,
) -> Iterator[pa.RecordBatch]:
    """Yield batches of a Parquet file with a limited number of rows and bytes.

    Args:
        file: The Parquet file.
        file_bytes: Size of the file in bytes.
        max_rows: Maximum number of rows per batch.
        decoded_rows: Number of rows decoded at a time. Decoding a dictionary-encoded column can
            repeat one long text up to this many times in memory.
        columns: Column names, possibly dotted (see `nested`); None: all columns.
        decoders: Function by column name for values of binary columns that are not UTF-8; values
            of other columns become null.

    Raises:
        DecompressionBombError: the file decodes to more than `MAX_COMPRESSION_RATIO` times its
            size; the earlier batches are still yielded.
    """
    max_total_bytes = max(MAX_COMPRESSION_RATIO * file_bytes, MIN_BOMB_BYTES)
    total_bytes = part_bytes = count = 0
    parts: list[pa.RecordBatch] = []
    for batch in file.iter_batches(decoded_rows, columns=columns, use_threads=False):
        selected = batch if columns is None else select_columns(batch, columns)
        part = _binary_to_text(selected.cast(_decoded_schema(selected.schema)), decoders)
        total_bytes, part_bytes, count = (
            total_bytes + part.nbytes,
            part_bytes + part.nbytes,
            count + len(part),
        )
        parts.append(part)
        if count >= max_rows or part_bytes >= BATCH_BYTES or total_bytes > max_total_bytes:
            yield _concat(parts)
            parts, part_bytes, count = [], 0, 0
        if total_bytes > max_total_bytes:
            raise DecompressionBombError
    if parts:
        yield _concat(parts)


def _decoded_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema with plain types instead of dictionary and string view types."""
    return pa.schema([pa.field(field.name, _decoded_type(field.type)) for field in schema])


def _decoded_type(kind: pa.DataType) -> pa.DataType:
    """Return the plain Arrow type for a dictionary or string view type, also within lists."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(_decoded_type(kind.value_type))
    if pa.types.is_large_list(kind):
        return pa.large_list(_decoded_type(kind.value_type))
    return kind


def is_binary(kind: pa.DataType) -> bool:
    """Whether an Arrow type is binary or a list of binary, as written by some programs for text."""
    return _is_binary_type(kind.value_type if is_list(kind) else kind)


def _is_binary_type(kind: pa.DataType) -> bool:
    """Whether an Arrow type is binary, with 32-bit or 64-bit offsets."""
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def is_list(kind: pa.DataType) -> bool:
    """Whether an Arrow type is a list, with 32-bit or 64-bit offsets."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _binary_to_text(batch: pa.RecordBatch, decoders: Decoders) -> pa.RecordBatch:
    """Convert the binary columns of a batch to strings."""
    if not any(is_binary(kind) for kind in batch.schema.types):
        return batch
    columns = [
        _to_text(column, decoders.get(name, _to_null)) if is_binary(column.type) else column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.record_batch(columns, names=batch.schema.names)


def _to_null(_: bytes) -> None:
    """Return None for a value that is not UTF-8."""


def _to_text(column: pa.Array, decode: Decoder) -> pa.Array:
    """Convert a binary column to strings; values that are not UTF-8 are decoded by a function."""
    kind = pa.list_(pa.string()) if is_list(column.type) else pa.string()
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        return pa.array([_decode_value(value, decode) for value in column.to_pylist()], kind)


def _decode_value(value: Any, decode: Decoder) -> Any:
    """Decode bytes, or each item of a list of bytes; None remains None."""
    if isinstance(value, list):
        return [_decode_value(item, decode) for item in value]
    try:
        return value.decode() if isinstance(value, bytes) else None
    except UnicodeDecodeError:
        return decode(value)


def _concat(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Concatenate batches into one batch."""
    return pa.concat_batches(parts) if len(parts) > 1 else parts[0]
