"""Batches of a Parquet log with its texts as the file has them: each once, and numbers for it.

Text that is named ten times on every page is neither copied nor hashed for each of them. What rows
would unpack to is bounded all the same, since it is what rows that are looked at singly become.
"""

from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from builder.ingest.lines import LARGEST_RATIO, RATIO_APPLIES_FROM
from builder.ingest.lists import is_text, lengths, text_lengths
from builder.ingest.parquet_bounds import BATCH_BYTES, BombError, holds_bytes, is_list

PART_BYTES = 2 * BATCH_BYTES
SAMPLE = 1024
"""Rows that tell how many values rows have."""
VALUES = 2**20
"""Values of a column of lists, about, that are read together."""


def coded_batches(path: Path, columns: Collection[str], rows: int) -> Iterator[pa.RecordBatch]:
    """Batches of at most so many rows, of about `PART_BYTES` if unpacked; texts are dictionaries.

    Args:
        path: The file.
        columns: Those that are read, of the columns that it has.
        rows: Most rows of a batch.

    Raises:
        BombError: it unpacks to more than `LARGEST_RATIO` times its size; batches before are given.
        pa.ArrowException: it cannot be read so, as where texts are bytes, or not at all.
    """
    size = path.stat().st_size
    most, seen = max(LARGEST_RATIO * size, RATIO_APPLIES_FROM), 0
    with pq.ParquetFile(path) as file:
        if any(holds_bytes(field.type) for field in file.schema_arrow if field.name in columns):
            raise pa.ArrowNotImplementedError
        texts = _text_paths(file, columns)
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        density = 0.0
        for group in range(file.num_row_groups):
            groups = {"row_groups": [group], "columns": list(columns), "use_threads": False}
            if not density:
                density = max(
                    map(_density, islice(file.iter_batches(SAMPLE, **groups), 1)), default=0
                )
            for batch in file.iter_batches(_rows_at_once(density, rows), **groups):
                density = max(density, _density(batch))
                for part in _parts(batch):
                    seen += unpacked_bytes(part)
                    if seen > most:
                        raise BombError
                    yield part


def _text_paths(file: pq.ParquetFile, columns: Collection[str]) -> list[str]:
    """The columns of texts, and of lists of texts, as the file names them."""
    schema = file.schema_arrow
    found = []
    for place in range(len(file.schema)):
        path = file.schema.column(place).path
        name, _, inside = path.partition(".")
        if name in columns:
            kind = schema.field(name).type
            value = kind.value_type if is_list(kind) else kind
            if (is_list(kind) or not inside) and is_text(value):
                found.append(path)
    return found


def _rows_at_once(density: float, rows: int) -> int:
    """Rows with about `VALUES` values in the column that has most, so far as is known."""
    return max(1, min(rows, int(VALUES / max(density, 1))))


def _density(batch: pa.RecordBatch) -> float:
    """Values a row in the column of lists that has most.

    What the file says of its columns is not asked: Arrow aborts where a damaged file contradicts
    itself there.
    """
    values = [int(lengths(column).sum()) for column in batch.columns if is_list(column.type)]
    return max(values, default=0) / max(len(batch), 1)


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A batch in parts that are not too large unpacked, or are single rows."""
    if len(batch) < 2 or unpacked_bytes(batch) <= PART_BYTES:
        yield batch
        return
    half = len(batch) // 2
    yield from _parts(batch.slice(0, half))
    yield from _parts(batch.slice(half))


def unpacked_bytes(batch: pa.RecordBatch) -> int:
    """The bytes of a batch with every text where it is named."""
    return sum(map(_unpacked, batch.columns))


def _unpacked(column: pa.Array) -> int:
    if pa.types.is_dictionary(column.type):
        _check_places(column)
        return int(column.indices.nbytes + text_lengths(column).sum())
    if is_list(column.type):
        return _unpacked(column.flatten()) + 4 * len(column)
    return int(column.nbytes)


def _check_places(column: pa.DictionaryArray) -> None:
    """Make sure that every text that is named is there: a damaged file may name others.

    Raises:
        pa.ArrowInvalid: one is not.
    """
    found = pc.min_max(column.indices)
    least, most = found["min"].as_py(), found["max"].as_py()
    if least is not None and (least < 0 or most >= len(column.dictionary)):
        raise pa.ArrowInvalid(f"a text is named that is not there: {most}")
