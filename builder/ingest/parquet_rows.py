"""Parquet logs -> impressions and rejects, by columns; rows in doubt one by one.

One row is an impression, or a result in the long form (see `long_form`).
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from builder.errors import FormatError
from builder.ingest.columns import Records, as_batch, examine
from builder.ingest.fields import OWN, rename
from builder.ingest.impression import Impression, make_impression
from builder.ingest.long_form import is_long
from builder.ingest.nested import named
from builder.ingest.parquet_bounds import BOMB, BombError, bounded_batches
from builder.ingest.parquet_codes import coded_batches
from builder.ingest.parquet_columns import own_columns
from builder.ingest.rejects import RejectError
from builder.ingest.tabular import Offered
from builder.parameters import LogParameters
from builder.sources import Interval, Source

ROWS = 32_768
"""Most rows of a batch: some 20 MB of result lists."""
AT_ONCE = 256
"""NumberedRows that are unpacked together."""


NumberedRows = tuple[int, pa.RecordBatch]
"""Consecutive rows of a file, and the number of the first of them."""


def known_columns(
    schema: pa.Schema, source: Source, params: LogParameters, *, timed: bool = True
) -> list[str]:
    """The names of `[log.fields]` that lead to columns of a file; `timed`: one of times is needed.

    Raises:
        FormatError: one that is needed is missing.
    """
    fields, names = params.fields, schema.names
    found = named(schema, fields.model_dump().values())
    shown = fields.url if is_long(found, fields) else fields.results
    told = [*([fields.time] if timed else []), fields.query]
    missing = sorted({*told, shown} - set(found))
    if missing:
        raise FormatError(
            f"expected the columns {', '.join(told)}, {fields.results} (or "
            f"{fields.url}), {fields.user}, {fields.clicks}; {', '.join(missing)} is missing, "
            f"found {', '.join(names)}",
            source.name,
        )
    return found


def coded_pieces(path: Path, params: LogParameters) -> Iterator[NumberedRows]:
    """NumberedRows of a file with the number of the first; texts as dictionaries.

    Raises:
        BombError: it unpacks to more than is believed.
    """
    with pq.ParquetFile(path) as file:
        names = file.schema_arrow.names
        size = path.stat().st_size
        wanted = {part for own in OWN for part in _roots(getattr(params.fields, own))}
        number = 1
        try:
            for batch in coded_batches(path, [n for n in names if n in wanted], 2 * ROWS):
                yield number, _coarser(batch)
                number += batch.num_rows
        except pa.ArrowNotImplementedError:
            for first, batch in batches(file, size):
                if first + len(batch) > number:
                    rest = batch.slice(max(0, number - first))
                    yield max(first, number), rest


def _roots(name: str) -> tuple[str, str]:
    """The columns in which a name can be found."""
    return name, name.partition(".")[0]


def batches(
    file: pq.ParquetFile,
    size: int,
    columns: Sequence[str] | None = None,
    rows: int = ROWS,
    at_once: int = AT_ONCE,
) -> Iterator[NumberedRows]:
    """NumberedRows of a file with the number of the first; moments in microseconds at most.

    Args:
        file: The file.
        size: Its bytes on disk.
        columns: Names that lead to those that are read; None: all.
        rows: Most rows of a batch.
        at_once: NumberedRows that are unpacked together.

    Raises:
        BombError: it unpacks to more than is believed.
    """
    number = 1
    for batch in bounded_batches(file, size, rows, at_once, columns):
        yield number, _coarser(batch)
        number += batch.num_rows


def _coarser(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Nanoseconds, which Python's moments lack, are cut."""
    columns = [
        column.cast(pa.timestamp("us", column.type.tz), safe=False)
        if pa.types.is_timestamp(column.type) and column.type.unit == "ns"
        else column
        for column in batch.columns
    ]
    return pa.record_batch(columns, names=batch.schema.names)


def read_batch(piece: NumberedRows, interval: Interval | None, params: LogParameters) -> Records:
    """Every row of a batch as an impression or a reject."""
    first, batch = piece
    numbers = np.arange(first, first + batch.num_rows, dtype=np.uint64)
    columns = own_columns(batch, params)
    if columns is None:
        records, doubtful = Records(), np.arange(batch.num_rows)
    else:
        records, doubtful = examine(columns, numbers, interval, params)
    if len(doubtful):
        _add_singly(records, batch.take(pa.array(doubtful)), numbers[doubtful], interval, params)
    return records


def _add_singly(
    records: Records,
    batch: pa.RecordBatch,
    numbers: NDArray[np.uint64],
    interval: Interval | None,
    params: LogParameters,
) -> None:
    impressions: list[tuple[int, Impression]] = []
    for number, row in zip(numbers.tolist(), rows_of(batch), strict=True):
        try:
            if isinstance(row, str):
                raise RejectError(row)
            found = make_impression(rename(row, params.fields), interval, params)
            impressions.append((number, found))
        except RejectError as reject:
            records.rejects.append((number, str(reject)))
    if impressions:
        records.impressions.append(as_batch(impressions))


def offered_rows(
    file: pq.ParquetFile,
    size: int,
    columns: Sequence[str],
    rows: int = ROWS,
    at_once: int = AT_ONCE,
) -> Iterator[Offered]:
    """Every row of a file by its number, without its null values; see `batches`."""
    number = 0
    try:
        for first, batch in batches(file, size, columns, rows, at_once):
            number = first + batch.num_rows - 1
            yield from enumerate(rows_of(batch), first)
    except BombError:
        yield number + 1, BOMB


def rows_of(batch: pa.RecordBatch) -> list[dict[str, Any] | str]:
    """The rows of a batch without their null values, or why one cannot be read."""
    try:
        rows = batch.to_pylist()
    except (ValueError, OverflowError, pa.ArrowException):
        if batch.num_rows == 1:
            return ["unreadable_row"]
        return [row for place in range(len(batch)) for row in rows_of(batch.slice(place, 1))]
    return [{name: v for name, v in row.items() if v is not None} for row in rows]
