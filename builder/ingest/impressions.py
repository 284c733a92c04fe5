"""A log file -> numbered impressions and rejects, whatever its format.

JSON lines (see `impression`), Parquet and CSV or TSV with one row an impression or one row a
result, and the actions of Yandex's challenge. Where the format is not given it is told by the
first bytes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from builder.errors import FormatError
from builder.ingest import yandex
from builder.ingest.fields import rename
from builder.ingest.impression import Impression, RejectError, make_impression, parse_object
from builder.ingest.lines import read_blocks
from builder.ingest.long_form import is_long, join_rows
from builder.ingest.tabular import DELIMITERS, Offered, read_header, read_rows
from builder.parameters import LogParameters
from builder.sources import Interval, Source

PARQUET = b"PAR1"
JSON_START = re.compile(rb"\s*[\[{\"]")
RECORDS = 4096
"""Records that are looked at together."""

Numbered = tuple[int, Impression]


@dataclass
class Records:
    """Some records of a file, by their 1-based number.

    Args:
        impressions: Those that are impressions.
        rejects: Those that are none, with the reason.
    """

    impressions: list[Numbered] = field(default_factory=list)
    rejects: list[tuple[int, str]] = field(default_factory=list)


def read_impressions(
    source: Source, interval: Interval, params: LogParameters
) -> Iterator[Records]:
    """Every record of a log file, in pieces.

    Raises:
        FormatError: the file cannot be opened, or lacks columns that are needed.
    """
    kind = params.format if params.format != "auto" else detect_format(source)
    if kind == "parquet":
        offered = _parquet_rows(source, params)
    elif kind == "yandex":
        offered = yandex.read_actions(source, interval, params)
    elif kind in DELIMITERS:
        offered = _table_rows(source, kind, params)
    else:
        offered = _lines(source, params)
    while piece := list(islice(offered, RECORDS)):
        yield _checked(piece, interval, params)


def detect_format(source: Source) -> str:
    """The format that the first bytes of a file show.

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
    if JSON_START.match(first):
        return "jsonl"
    if yandex.LINE.match(first):
        return "yandex"
    for kind, delimiter in (("tsv", b"\t"), ("csv", b",")):
        if delimiter in first:
            return kind
    return "jsonl"


def _checked(piece: list[Offered], interval: Interval, params: LogParameters) -> Records:
    records = Records()
    for number, record in piece:
        try:
            if isinstance(record, str):
                raise RejectError(record)
            impression = make_impression(record, interval, params)
            records.impressions.append((number, impression))
        except RejectError as reject:
            records.rejects.append((number, str(reject)))
    return records


def _lines(source: Source, params: LogParameters) -> Iterator[Offered]:
    for block in read_blocks(source, params.max_line_bytes):
        for number, line in enumerate(block.lines, block.first):
            yield number, _object(line, params)
        if block.fault is not None:
            yield block.first + len(block.lines), block.fault


def _object(line: bytes | None, params: LogParameters) -> dict[str, Any] | str:
    if line is None:
        return "line_too_long"
    if not line.strip():
        return "blank_line"
    try:
        return rename(parse_object(line), params.fields)
    except RejectError as reject:
        return str(reject)


def _table_rows(source: Source, kind: str, params: LogParameters) -> Iterator[Offered]:
    header = read_header(source, kind, params)
    rows = read_rows(source, kind, header, params)
    if is_long(header, params.fields):
        rows = join_rows(rows, params.fields)
    for number, row in rows:
        yield number, row if isinstance(row, str) else rename(row, params.fields)


def _parquet_rows(source: Source, params: LogParameters) -> Iterator[Offered]:
    try:
        with pq.ParquetFile(source.path) as file:
            names = file.schema_arrow.names
            _check_columns(names, source, params)
            rows = _rows(file)
            if is_long(names, params.fields):
                rows = join_rows(rows, params.fields)
            for number, row in rows:
                yield number, row if isinstance(row, str) else rename(row, params.fields)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise FormatError(f"not a readable Parquet file: {error}", source.name) from None


def _rows(file: pq.ParquetFile) -> Iterator[Offered]:
    number = 0
    for batch in file.iter_batches(RECORDS):
        for row in batch.to_pylist():
            number += 1
            yield number, {name: value for name, value in row.items() if value is not None}


def _check_columns(names: list[str], source: Source, params: LogParameters) -> None:
    fields = params.fields
    lists = [fields.results] if not is_long(names, fields) else [fields.url]
    tops = {name.partition(".")[0] for name in (fields.time, fields.query, *lists)}
    wanted = {fields.time, fields.query, *lists}
    missing = sorted(n for n in wanted if n not in names and n.partition(".")[0] not in names)
    if missing and tops:
        raise FormatError(
            f"expected the columns {fields.time}, {fields.query}, {fields.results} (or "
            f"{fields.url}), {fields.user}, {fields.clicks}; {', '.join(missing)} is missing, "
            f"found {', '.join(names)}",
            source.name,
        )
