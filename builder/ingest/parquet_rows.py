"""Reads rows of Parquet files, in batches or one by one, with a limit on the decoded size."""

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
    bounded_batches,
)
from builder.ingest.rejects import DECOMPRESSION_BOMB
from builder.io.sources import Source

ROWS_PER_BATCH = 98_304
"""Maximum rows of a batch; result lists reach `parquet_bounds.BATCH_BYTES` earlier."""
DECODED_ROWS = 256
"""Rows decoded together; few, since dictionary encoding may repeat one long text."""

NumberedBatch = tuple[int, pa.RecordBatch]
"""1-based number of the first row of a batch, and the batch."""

Row = dict[str, Any]


def numbered_batches(
    file: pq.ParquetFile,
    size: int,
    columns: Sequence[str],
    rows: int = ROWS_PER_BATCH,
    decoded_rows: int = DECODED_ROWS,
    decoders: Decoders = NO_DECODERS,
) -> Iterator[NumberedBatch]:
    """Yield the batches of a file, each with the number of its first row.

    Args:
        file: The file.
        size: Size of the file in bytes.
        columns: Column names, possibly dotted (see `nested`).
        rows: Maximum rows of a batch.
        decoded_rows: Rows decoded together.
        decoders: Function by column name for binary values that are not UTF-8.

    Raises:
        DecompressionBombError: the file decodes to more than the maximum ratio.
    """
    number = 1
    utc = _utc_columns(file)
    for batch in bounded_batches(file, size, rows, decoded_rows, columns, decoders):
        yield number, _in_microseconds(batch, utc)
        number += batch.num_rows


def _utc_columns(file: pq.ParquetFile) -> set[str]:
    """Return the columns of physical type INT96: timestamps of Spark and Hive, always in UTC."""
    columns = (file.schema.column(index) for index in range(len(file.schema.names)))
    return {column.path for column in columns if column.physical_type == "INT96"}


def _in_microseconds(batch: pa.RecordBatch, utc: Collection[str]) -> pa.RecordBatch:
    """Cast timestamps in nanoseconds to microseconds, the resolution of Python's datetime."""
    columns = [
        column.cast(pa.timestamp("us", "UTC" if name in utc else column.type.tz), safe=False)
        if pa.types.is_timestamp(column.type) and column.type.unit == "ns"
        else column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.record_batch(columns, names=batch.schema.names)


def numbered_rows(
    file: pq.ParquetFile,
    size: int,
    columns: Sequence[str],
    rows: int = ROWS_PER_BATCH,
    decoded_rows: int = DECODED_ROWS,
    decoders: Decoders = NO_DECODERS,
) -> Iterator[tuple[int, Row | str]]:
    """Yield every row of a file with its number, or the reason to reject it."""
    number = 0
    try:
        for first, batch in numbered_batches(file, size, columns, rows, decoded_rows, decoders):
            number = first + batch.num_rows - 1
            yield from enumerate(batch_rows(batch), first)
    except DecompressionBombError:
        yield number + 1, DECOMPRESSION_BOMB


def batch_rows(batch: pa.RecordBatch) -> list[Row | str]:
    """Return the rows of a batch as dictionaries without nulls, or the reason for a failure."""
    try:
        rows = batch.to_pylist()
    except (ValueError, OverflowError, pa.ArrowException):
        if batch.num_rows == 1:
            return ["unreadable_row"]
        return [row for index in range(len(batch)) for row in batch_rows(batch.slice(index, 1))]
    return [{name: v for name, v in row.items() if v is not None} for row in rows]


@contextmanager
def explain_parquet_errors(source: Source) -> Iterator[None]:
    """Context manager that converts errors of the Parquet reader to a FormatError."""
    try:
        yield
    except (OSError, ValueError, pa.ArrowException) as error:
        raise FormatError(f"not a readable Parquet file: {error}", source.name) from None
