"""Batches of a Parquet file that is not trusted: what it unpacks to is bounded.

A column may name one long text a million times in a few bytes. So rows are unpacked a few at a
time, joined to batches of a useful size, and a file that unpacks to far more than it has is given
up, as text files are (`lines.py`).
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from builder.ingest.lines import LARGEST_RATIO, RATIO_APPLIES_FROM

BATCH_BYTES = 32 * 2**20
BOMB = "decompression_bomb"
"""The reason of the one reject that stands for the rows that are not read."""


class BombError(ValueError):
    """A file unpacks to more than is believed."""


def bounded_batches(
    file: pq.ParquetFile,
    size: int,
    rows: int,
    at_once: int,
    columns: Sequence[str] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Batches of at most so many rows and about `BATCH_BYTES`.

    Args:
        file: The file.
        size: Its bytes on disk.
        rows: Most rows of a batch.
        at_once: Rows that are unpacked together: so often the longest text is held.
        columns: Those that are read; None: all.

    Raises:
        BombError: it unpacks to more than `LARGEST_RATIO` times its size; batches before are given.
    """
    most = max(LARGEST_RATIO * size, RATIO_APPLIES_FROM)
    seen = held = count = 0
    pieces: list[pa.RecordBatch] = []
    for batch in file.iter_batches(at_once, columns=columns, use_threads=False):
        piece = batch.cast(_plain_schema(batch.schema))
        seen, held, count = seen + piece.nbytes, held + piece.nbytes, count + len(piece)
        pieces.append(piece)
        if count >= rows or held >= BATCH_BYTES or seen > most:
            yield _joined(pieces)
            pieces, held, count = [], 0, 0
        if seen > most:
            raise BombError
    if pieces:
        yield _joined(pieces)


def _plain_schema(schema: pa.Schema) -> pa.Schema:
    """The schema with the values of dictionaries in the place of dictionaries."""
    return pa.schema([pa.field(field.name, _plain(field.type)) for field in schema])


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_list(kind):
        return pa.list_(_plain(kind.value_type))
    if pa.types.is_large_list(kind):
        return pa.large_list(_plain(kind.value_type))
    return kind


def _joined(pieces: list[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.concat_batches(pieces) if len(pieces) > 1 else pieces[0]
