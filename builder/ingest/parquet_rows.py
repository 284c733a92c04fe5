"""Rows of Parquet files, in batches or one by one, with a bound on what a file unpacks to."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from builder.errors import FormatError
from builder.ingest.parquet_bounds import BOMB, BombError, bounded_batches
from builder.io.sources import Source

ROWS_PER_BATCH = 98_304
"""Maximum rows of a batch; result lists reach `parquet_bounds.BATCH_BYTES` before."""
ROWS_UNPACKED = 256
"""Rows unpacked together, since a dictionary may repeat one long text."""

NumberedBatch = tuple[int, pa.RecordBatch]
"""Consecutive rows of a file, and the 1-based number of the first of them."""

Row = dict[str, Any]


def batches(
    file: pq.ParquetFile,
    size: int,
    columns: Sequence[str],
    rows: int = ROWS_PER_BATCH,
    unpacked: int = ROWS_UNPACKED,
) -> Iterator[NumberedBatch]:
    """Batches of a file; timestamps in microseconds at most.

    Args:
        file: The file.
        size: Its bytes on disk.
        columns: Names that lead to the columns that are read (see `nested`).
        rows: Most rows of a batch.
        unpacked: Rows unpacked together.

    Raises:
        BombError: it unpacks to more than is believed.
    """
    number = 1
    for batch in bounded_batches(file, size, rows, unpacked, columns):
        yield number, _in_microseconds(batch)
        number += batch.num_rows


def _in_microseconds(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch without nanoseconds, which Python's datetime lacks."""
    columns = [
        column.cast(pa.timestamp("us", column.type.tz), safe=False)
        if pa.types.is_timestamp(column.type) and column.type.unit == "ns"
        else column
        for column in batch.columns
    ]
    return pa.record_batch(columns, names=batch.schema.names)


def offered_rows(
    file: pq.ParquetFile,
    size: int,
    columns: Sequence[str],
    rows: int = ROWS_PER_BATCH,
    unpacked: int = ROWS_UNPACKED,
) -> Iterator[tuple[int, Row | str]]:
    """Every row of a file by its number, or the reason why it cannot be read; see `batches`."""
    number = 0
    try:
        for first, batch in batches(file, size, columns, rows, unpacked):
            number = first + batch.num_rows - 1
            yield from enumerate(rows_of(batch), first)
    except BombError:
        yield number + 1, BOMB


def rows_of(batch: pa.RecordBatch) -> list[Row | str]:
    """The rows of a batch without null values, or the reason why one cannot be read."""
    try:
        rows = batch.to_pylist()
    except (ValueError, OverflowError, pa.ArrowException):
        if batch.num_rows == 1:
            return ["unreadable_row"]
        return [row for index in range(len(batch)) for row in rows_of(batch.slice(index, 1))]
    return [{name: v for name, v in row.items() if v is not None} for row in rows]


@contextmanager
def readable(source: Source) -> Iterator[None]:
    """Raise errors of the Parquet reader as a FormatError that names the file."""
    try:
        yield
    except (OSError, ValueError, pa.ArrowException) as error:
        raise FormatError(f"not a readable Parquet file: {error}", source.name) from None
