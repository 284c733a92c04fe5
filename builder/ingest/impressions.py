"""A log file -> numbered impressions and rejects, whatever its format.

JSON lines (see `impression`), Parquet and CSV or TSV with one record an impression or one a
result, and the actions of Yandex's challenge. Where the format is not given it is told by the
first bytes.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from itertools import islice

import pyarrow as pa
import pyarrow.parquet as pq

from builder.errors import FormatError
from builder.executors import in_order
from builder.ingest import yandex
from builder.ingest.columns import Records, as_batch
from builder.ingest.fields import rename
from builder.ingest.impression import Impression, make_impression
from builder.ingest.json_lines import read_lines
from builder.ingest.known_pages import KnownPages
from builder.ingest.lines import read_blocks, read_chunks
from builder.ingest.long_form import has_long_objects, is_long, join_rows, objects
from builder.ingest.moments import LATEST
from builder.ingest.parquet_bounds import BOMB, BombError
from builder.ingest.parquet_rows import (
    NumberedRows,
    coded_pieces,
    known_columns,
    offered_rows,
    read_batch,
)
from builder.ingest.rejects import RejectError
from builder.ingest.tabular import DELIMITERS, Offered, read_header, read_rows
from builder.ingest.unpacking import check_lines
from builder.parameters import LOG_READERS, LogParameters
from builder.plugins import load
from builder.sources import Interval, Source

Reader = Callable[[Source, Interval, LogParameters], Iterator[Offered]]
"""What reads a format record by record: each with its number in the file, as a mapping with the
fields of `make_impression`, or as the reason for which it is rejected."""

Piece = Callable[[], Records]
"""Some records that follow each other, to be read out of what is at hand."""

ALL_TIME = Interval(0, LATEST)
"""What a reader is told where times are not looked at."""

ANY = LogParameters()
PARQUET = b"PAR1"
JSON_START = re.compile(rb"\s*[\[{]")
CHUNK = 24 * 2**20
"""Bytes of JSON lines that are looked at together."""
RECORDS = 4096
"""Records that are looked at together where they are looked at one by one."""


def read_impressions(
    source: Source, interval: Interval | None, params: LogParameters, threads: int = 1
) -> Iterator[Records]:
    """Every record of a log file, in pieces.

    Args:
        source: The file.
        interval: Where times must lie; None: they are not looked at, need not be there, and are 0.
        params: `[log]`.
        threads: Pieces that are looked at beside each other.

    Raises:
        FormatError: the file cannot be opened, or lacks columns that are needed.
    """
    yield from in_order(call, pieces_of(source, interval, params), threads)


def pieces_of(
    source: Source,
    interval: Interval | None,
    params: LogParameters,
    known: KnownPages | None = None,
) -> Iterator[Piece]:
    """The pieces of a log file in order, each to be called, by any thread, for its records.

    Args:
        source: The file.
        interval: Where times must lie; None: they are not looked at, need not be there, and are 0.
        params: `[log]`.
        known: Result pages that were seen before; with it some impressions may be `paged`.

    Raises:
        FormatError: the file cannot be opened, or lacks columns that are needed.
    """
    kind = params.format if params.format != "auto" else detect_format(source, params)
    if kind == "jsonl":
        yield from _json(source, interval, params, known)
    elif kind == "parquet":
        yield from _parquet(source, interval, params)
    elif kind in DELIMITERS:
        yield from _table(source, kind, interval, params)
    else:
        offered = reader_of(kind)(source, interval or ALL_TIME, params)
        yield from _one_by_one(offered, interval, params)


def reader_of(name: str) -> Reader:
    """The reader of a log format: one of `LOG_READERS`, or a plug-in of the group `log_readers`.

    Raises:
        UsageError: there is none.
    """
    if name not in LOG_READERS:
        found: Reader = load("log_readers", name)
        return found
    module, _, function = LOG_READERS[name].partition(":")
    reader: Reader = getattr(import_module(module), function)
    return reader


def detect_format(source: Source, params: LogParameters = ANY) -> str:
    """The format that the first bytes of a file show.

    Args:
        source: The file.
        params: `[log]`; where it names columns, what is no Parquet is a table without a header.

    Raises:
        FormatError: the file cannot be opened.
    """
    try:
        with source.path.open("rb") as file:
            if file.read(len(PARQUET)) == PARQUET:
                return "parquet"
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", source.name) from None
    first = b""
    for block in read_blocks(source, 2**20):
        first = next((line for line in block.lines if line and line.strip()), b"")
        if first or block.fault is not None:
            break
    if params.columns:
        return "tsv" if b"\t" in first else "csv"
    if JSON_START.match(first):
        return "jsonl"
    if yandex.LINE.match(first):
        return "yandex"
    for kind in ("tsv", "csv"):
        if any(delimiter.encode() in first for delimiter in DELIMITERS[kind]):
            return kind
    return "jsonl"


def call(piece: Piece) -> Records:
    """The records of a piece."""
    return piece()


def _one_by_one(
    offered: Iterator[Offered], interval: Interval | None, params: LogParameters
) -> Iterator[Piece]:
    while piece := list(islice(offered, RECORDS)):
        yield partial(_checked, piece, interval, params)


def _checked(piece: list[Offered], interval: Interval | None, params: LogParameters) -> Records:
    impressions: list[tuple[int, Impression]] = []
    rejects = []
    for number, record in piece:
        try:
            if isinstance(record, str):
                raise RejectError(record)
            impressions.append((number, make_impression(record, interval, params)))
        except RejectError as reject:
            rejects.append((number, str(reject)))
    return Records([as_batch(impressions)], rejects)


def _json(
    source: Source, interval: Interval | None, params: LogParameters, known: KnownPages | None
) -> Iterator[Piece]:
    check_lines(source)
    if has_long_objects(source, params):
        yield from _long(objects(source, params), interval, params)
    else:
        for chunk in read_chunks(source, params.max_line_bytes, CHUNK):
            yield partial(read_lines, chunk, interval, params, known)


def _table(
    source: Source, kind: str, interval: Interval | None, params: LogParameters
) -> Iterator[Piece]:
    header = read_header(source, kind, params, timed=interval is not None)
    rows = read_rows(source, header, params)
    if is_long(header.names, params.fields):
        yield from _long(rows, interval, params)
    else:
        yield from _one_by_one(_renamed(rows, params), interval, params)


def _long(
    rows: Iterator[Offered], interval: Interval | None, params: LogParameters
) -> Iterator[Piece]:
    """Rows of the long form; the clicks that are made of theirs are ranks."""
    joined = _renamed(join_rows(rows, params.fields), params)
    in_ranks = params.model_copy(update={"click_form": "ranks"})
    yield from _one_by_one(joined, interval, in_ranks)


def _renamed(rows: Iterator[Offered], params: LogParameters) -> Iterator[Offered]:
    for number, row in rows:
        yield number, row if isinstance(row, str) else rename(row, params.fields)


def _parquet(source: Source, interval: Interval | None, params: LogParameters) -> Iterator[Piece]:
    with _readable(source):
        size = source.path.stat().st_size
        with pq.ParquetFile(source.path) as file:
            names = known_columns(file.schema_arrow, source, params, timed=interval is not None)
            if is_long(names, params.fields):
                yield from _long(offered_rows(file, size, names), interval, params)
                return
        seen, faults = 0, list[str]()
        for number, batch in _believed(coded_pieces(source.path, params), faults):
            seen = number + len(batch) - 1
            yield partial(_batch, source, (number, batch), interval, params)
        if faults:
            yield partial(Records, [], [(seen + 1, fault) for fault in faults])


def _batch(
    source: Source, rows: NumberedRows, interval: Interval | None, params: LogParameters
) -> Records:
    with _readable(source):
        return read_batch(rows, interval, params)


@contextmanager
def _readable(source: Source) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, pa.ArrowException) as error:
        raise FormatError(f"not a readable Parquet file: {error}", source.name) from None


def _believed(pieces: Iterator[NumberedRows], faults: list[str]) -> Iterator[NumberedRows]:
    """Pieces up to that which is not believed; why it is not is put into `faults`."""
    try:
        yield from pieces
    except BombError:
        faults.append(BOMB)
