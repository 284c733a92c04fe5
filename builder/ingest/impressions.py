"""A log file -> numbered impressions and rejects, whatever its format.

JSON lines (see `impression`), Parquet and CSV or TSV with one record an impression or one a
result, and the actions of Yandex's challenge. Where the format is not given it is told by the
first bytes.
"""

import re
from collections.abc import Callable, Iterator
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
from builder.ingest.lines import read_blocks, read_chunks
from builder.ingest.long_form import has_long_objects, is_long, join_rows, objects
from builder.ingest.moments import LATEST
from builder.ingest.parquet_bounds import BOMB, BombError
from builder.ingest.parquet_rows import (
    Piece,
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

ALL_TIME = Interval(0, LATEST)
"""What a reader is told where times are not looked at."""

ANY = LogParameters()
PARQUET = b"PAR1"
JSON_START = re.compile(rb"\s*[\[{]")
CHUNK = 16 * 2**20
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
        threads: Pieces that are read beside each other.

    Raises:
        FormatError: the file cannot be opened, or lacks columns that are needed.
    """
    kind = params.format if params.format != "auto" else detect_format(source, params)
    if kind == "jsonl":
        yield from _json(source, interval, params, threads)
    elif kind == "parquet":
        yield from _parquet(source, interval, params, threads)
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


def _one_by_one(
    offered: Iterator[Offered], interval: Interval | None, params: LogParameters
) -> Iterator[Records]:
    while piece := list(islice(offered, RECORDS)):
        yield _checked(piece, interval, params)


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
    source: Source, interval: Interval | None, params: LogParameters, threads: int
) -> Iterator[Records]:
    check_lines(source)
    if has_long_objects(source, params):
        yield from _long(objects(source, params), interval, params)
    else:
        work = partial(read_lines, interval=interval, params=params)
        chunks = read_chunks(source, params.max_line_bytes, CHUNK)
        yield from in_order(work, chunks, threads)


def _table(
    source: Source, kind: str, interval: Interval | None, params: LogParameters
) -> Iterator[Records]:
    header = read_header(source, kind, params, timed=interval is not None)
    rows = read_rows(source, header, params)
    if is_long(header.names, params.fields):
        yield from _long(rows, interval, params)
    else:
        yield from _one_by_one(_renamed(rows, params), interval, params)


def _long(
    rows: Iterator[Offered], interval: Interval | None, params: LogParameters
) -> Iterator[Records]:
    """Rows of the long form; the clicks that are made of theirs are ranks."""
    joined = _renamed(join_rows(rows, params.fields), params)
    in_ranks = params.model_copy(update={"click_form": "ranks"})
    yield from _one_by_one(joined, interval, in_ranks)


def _renamed(rows: Iterator[Offered], params: LogParameters) -> Iterator[Offered]:
    for number, row in rows:
        yield number, row if isinstance(row, str) else rename(row, params.fields)


def _parquet(
    source: Source, interval: Interval | None, params: LogParameters, threads: int
) -> Iterator[Records]:
    try:
        size = source.path.stat().st_size
        with pq.ParquetFile(source.path) as file:
            names = known_columns(file.schema_arrow, source, params, timed=interval is not None)
            if is_long(names, params.fields):
                yield from _long(offered_rows(file, size, names), interval, params)
            else:
                work = partial(read_batch, interval=interval, params=params)
                seen, faults = 0, list[str]()
                pieces = _believed(coded_pieces(source.path, params), faults)
                for records in in_order(work, pieces, threads):
                    seen += len(records)
                    yield records
                if faults:
                    yield Records([], [(seen + 1, fault) for fault in faults])
    except (OSError, ValueError, pa.ArrowException) as error:
        raise FormatError(f"not a readable Parquet file: {error}", source.name) from None


def _believed(pieces: Iterator[Piece], faults: list[str]) -> Iterator[Piece]:
    """Pieces up to that which is not believed; why it is not is put into `faults`."""
    try:
        yield from pieces
    except BombError:
        faults.append(BOMB)
