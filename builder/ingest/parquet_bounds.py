"""Batches of a Parquet file that is not trusted: what it unpacks to is bounded.

A column may name one long text a million times in a few bytes. So rows are unpacked a few at a
time, joined to batches of a useful size, and a file that unpacks to far more than it has is given
up, as text files are (`lines.py`).
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from builder.ingest.lines import LARGEST_RATIO, RATIO_APPLIES_FROM
from builder.ingest.nested import selected

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
        columns: Names that lead to those that are read (`nested`); None: all.

    Raises:
        BombError: it unpacks to more than `LARGEST_RATIO` times its size; batches before are given.
    """
    most = max(LARGEST_RATIO * size, RATIO_APPLIES_FROM)
    seen = held = count = 0
    pieces: list[pa.RecordBatch] = []
    for batch in file.iter_batches(at_once, columns=columns, use_threads=False):
        chosen = batch if columns is None else selected(batch, columns)
        piece = _with_texts(chosen.cast(_plain_schema(chosen.schema)))
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
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(_plain(kind.value_type))
    if pa.types.is_large_list(kind):
        return pa.large_list(_plain(kind.value_type))
    return kind


def holds_bytes(kind: pa.DataType) -> bool:
    """Whether a column is of bytes or of lists of them: texts that their writer did not call so."""
    return _is_bytes(kind.value_type if is_list(kind) else kind)


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def is_list(kind: pa.DataType) -> bool:
    """Whether a column is of lists, with offsets of either size."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _with_texts(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with bytes as texts; null where they are no UTF-8."""
    if not any(holds_bytes(kind) for kind in batch.schema.types):
        return batch
    columns = [_as_text(c) if holds_bytes(c.type) else c for c in batch.columns]
    return pa.record_batch(columns, names=batch.schema.names)


def _as_text(column: pa.Array) -> pa.Array:
    kind = pa.list_(pa.string()) if is_list(column.type) else pa.string()
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        return pa.array([_decoded(value) for value in column.to_pylist()], kind)


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    try:
        return value.decode() if isinstance(value, bytes) else None
    except UnicodeDecodeError:
        return None


def _joined(pieces: list[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.concat_batches(pieces) if len(pieces) > 1 else pieces[0]
