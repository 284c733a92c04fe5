"""Reads the rows of Parquet files in batches or one by one, with a limit on the decoded size."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from builder.errors import FormatError
from builder.ingest.parquet_bounds import (
    NO_DECODERS,
    Decoders,
    DecompressionBombError,
    read_bounded_batches,
)
from builder.ingest.rejects import DECOMPRESSION_BOMB
from builder.io.sources import Source

ROWS_PER_BATCH = 98_304
"""Maximum number of rows per batch; batches of logs reach `parquet_bounds.BATCH_BYTES` first."""
DECODED_ROWS = 256
"""Number of rows decoded at a time; small, since each of the rows may contain a copy of a long text
that the dictionary of the column stores once."""

NumberedBatch = tuple[int, pa.RecordBatch]
"""1-based number of the first row of a record batch, and the batch."""

Row = dict[str, Any]


def read_numbered_batches(
    file: pq.ParquetFile,
    file_bytes: int,
    columns: Sequence[str],
    max_rows: int = ROWS_PER_BATCH,
    rows_decoded_at_once: int = DECODED_ROWS,
    decoders: Decoders = NO_DECODERS,
) -> Iterator[NumberedBatch]:
    """Yield batches of a Parquet file, each with the 1-based number of its first row.

    Args:
        file: The Parquet file.
        file_bytes: Size of the file in bytes.
        columns: Column names, possibly dotted (see `nested`).
        max_rows: Approximate maximum number of rows per batch.
        rows_decoded_at_once: Number of rows decoded at a time.
        decoders: Fallback decoders for values in binary columns that are not UTF-8, by column
            name. In columns without a decoder, such values become null.

    Raises:
        DecompressionBombError: the ratio of the decoded size to the file size exceeds the maximum.
    """
    number = 1
    utc = _int96_column_names(file)
    for batch in read_bounded_batches(
        file, file_bytes, max_rows, rows_decoded_at_once, columns, decoders
    ):
        yield number, _cast_to_microseconds(batch, utc)
        number += batch.num_rows


def _int96_column_names(file: pq.ParquetFile) -> set[str]:
    """Return the names of the INT96 columns, in which Spark and Hive store UTC timestamps."""
    columns = (file.schema.column(index) for index in range(len(file.schema.names)))
    return {column.path for column in columns if column.physical_type == "INT96"}


def _cast_to_microseconds(batch: pa.RecordBatch, utc_columns: Collection[str]) -> pa.RecordBatch:
    """Cast nanosecond timestamps to microseconds, the resolution of Python's datetime.

    Args:
        batch: The record batch.
        utc_columns: Names of the timestamp columns that are in UTC.
    """
    columns = [
        column.cast(
            pa.timestamp("us", "UTC" if name in utc_columns else column.type.tz), safe=False
        )
        if pa.types.is_timestamp(column.type) and column.type.unit == "ns"
        else column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.record_batch(columns, names=batch.schema.names)


def read_numbered_rows(
    file: pq.ParquetFile,
    file_bytes: int,
    columns: Sequence[str],
    max_rows: int = ROWS_PER_BATCH,
    rows_decoded_at_once: int = DECODED_ROWS,
    decoders: Decoders = NO_DECODERS,
) -> Iterator[tuple[int, Row | str]]:
    """Yield each row of a Parquet file as its 1-based number and its values or reject reason.

    See `read_numbered_batches` for the arguments.
    """
    number = 0
    try:
        for first, batch in read_numbered_batches(
            file, file_bytes, columns, max_rows, rows_decoded_at_once, decoders
        ):
            number = first + batch.num_rows - 1
            yield from enumerate(batch_to_rows(batch), first)
    except DecompressionBombError:
        yield number + 1, DECOMPRESSION_BOMB


def batch_to_rows(batch: pa.RecordBatch) -> list[Row | str]:
    """Return each row of a batch as a dictionary without nulls, or the reject reason of the row."""
    try:
        rows = batch.to_pylist()
    except (ValueError, OverflowError, pa.ArrowException):
        if batch.num_rows == 1:
            return ["unreadable_row"]
        return [row for index in range(len(batch)) for row in batch_to_rows(batch.slice(index, 1))]
    return [{name: v for name, v in row.items() if v is not None} for row in rows]


@contextmanager
def convert_parquet_errors(source: Source) -> Iterator[None]:
    """Context manager that converts errors raised by the Parquet reader to FormatError.

    Raises:
        FormatError: the file cannot be read as Parquet.
    """
    try:
        yield
    except (OSError, ValueError, pa.ArrowException) as error:
        raise FormatError(
            f"cannot be read as Parquet ({error}); write or download the file again", source.name
        ) from None
