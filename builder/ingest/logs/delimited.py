"""Logs as CSV or TSV to raw records: one row per impression, or one row per result.

The first line names the columns, or `log.columns` does. A quoted cell may span lines, up to
`MAX_SPANNED_LINES`, so that one stray quote cannot swallow a file. In the wide form lists stand in
one cell (see `cell_lists`); the long form, with a column for the URL instead of the results, is
grouped in `long_form`.
"""

import csv
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from builder.errors import FormatError
from builder.ingest.lines import read_blocks
from builder.ingest.logs.cell_lists import split_list
from builder.ingest.logs.records import Numbered, Record
from builder.ingest.logs.spellings import parse_integer
from builder.ingest.rejects import RejectError
from builder.io.sources import Source
from builder.parameters import LogParameters

DELIMITERS = {"csv": (",", ";", "|"), "tsv": ("\t",)}
"""Delimiters of a format; the first one that gives the header its columns is used."""

NO_USER = ("", "NULL", "\\N")
"""Cell values that mean "no user"; anonymous impressions must not be attributed to one user."""

MAX_SPANNED_LINES = 32
"""Maximum lines that a quoted cell may span."""

MAX_CELL_BYTES = 2**31 - 1
"""Lines are bounded by `log.max_line_bytes`; the limit of `csv` is process-wide and set once."""
csv.field_size_limit(MAX_CELL_BYTES)

Line = tuple[int, bytes | None]
Cells = list[str]


class Header(NamedTuple):
    """How the rows of a file are read.

    Args:
        names: Column names.
        delimiter: Between cells.
        is_quoted: Whether cells may be quoted.
        first: 1-based line number of the first row.
    """

    names: list[str]
    delimiter: str
    is_quoted: bool
    first: int = 2


def read_header(
    source: Source, kind: str, params: LogParameters, encoding: str, *, timed: bool = True
) -> Header:
    """How a file is read: by its first line, or by `log.columns` where it has no header.

    Args:
        source: The file.
        kind: `csv`, with quotes, or `tsv`, without, unless its header has them.
        params: `[log]`.
        encoding: Text encoding of the file.
        timed: Whether a time column is needed.

    Raises:
        FormatError: a needed column is missing.
    """
    blocks = (block.lines for block in read_blocks(source, params.max_line_bytes, encoding))
    line = next((lines[0] for lines in blocks if lines), None)
    fields = params.fields
    needed = [*([fields.time] if timed else []), fields.query]
    headers = (
        _headerless_layouts(line, kind, params) if params.columns else _header_layouts(line, kind)
    )
    found: list[str] = []
    for header in headers:
        if set(needed) <= set(header.names) and {fields.results, fields.url} & set(header.names):
            return header
        found = max(found, header.names, key=len)
    expected = "log.columns" if params.columns else "a header"
    advice = "name the columns in [log.fields]"
    advice += "" if params.columns else ", or in log.columns if the file has no header"
    raise FormatError(
        f"expected {expected} with {', '.join(needed)} and {fields.results} or {fields.url}, "
        f"found {', '.join(found)[:200] or 'none'}; {advice}",
        source.name,
        1,
    )


def _header_layouts(line: bytes | None, kind: str) -> Iterator[Header]:
    """Candidate header layouts: the first line split by each delimiter."""
    for delimiter in DELIMITERS[kind]:
        for is_quoted in (True,) if kind == "csv" else (False, True):
            cells = _cells(line, delimiter, is_quoted)
            if not isinstance(cells, str):
                yield Header([cell.strip() for cell in cells], delimiter, is_quoted)


def _headerless_layouts(line: bytes | None, kind: str, params: LogParameters) -> Iterator[Header]:
    """Readings of a file under `log.columns`; a first line that repeats the names is skipped."""
    names, is_quoted = list(params.columns), kind == "csv"
    for delimiter in DELIMITERS[kind]:
        cells = _cells(line, delimiter, is_quoted)
        if not isinstance(cells, str) and len(cells) == len(names):
            yield Header(names, delimiter, is_quoted, 1 + (cells == names))
    yield Header(names, DELIMITERS[kind][0], is_quoted, 1)


def read_rows(
    source: Source, header: Header, params: LogParameters, encoding: str
) -> Iterator[tuple[int, dict[str, str] | str]]:
    """Yield (first line number, row) for every row: its cells by column, or the reject reason."""
    lines = _lines(source, params, encoding)
    pending: deque[tuple[int, bytes | str | None]] = deque()
    while (item := pending.popleft() if pending else next(lines, None)) is not None:
        number, line = item
        if isinstance(line, str):
            yield number, line
            continue
        if number < header.first:
            continue
        cells = _cells(line, header.delimiter, header.is_quoted)
        if cells == "bad_quotes" and line is not None:
            cells = _spanning(line, header, lines, pending, params.max_line_bytes)
        if not isinstance(cells, str) and len(cells) != len(header.names):
            cells = "wrong_number_of_cells"
        yield (
            number,
            cells if isinstance(cells, str) else dict(zip(header.names, cells, strict=True)),
        )


def _lines(
    source: Source, params: LogParameters, encoding: str
) -> Iterator[tuple[int, bytes | str | None]]:
    """Numbered lines of a file; if reading fails, the last item is the reason."""
    for block in read_blocks(source, params.max_line_bytes, encoding):
        yield from enumerate(block.lines, block.first)
        if block.fault is not None:
            yield block.first + len(block.lines), block.fault


def _spanning(
    line: bytes,
    header: Header,
    lines: Iterator[tuple[int, bytes | str | None]],
    pending: deque[tuple[int, bytes | str | None]],
    longest: int,
) -> Cells | str:
    """The cells of a row whose quoted cell goes on over the next lines.

    Lines that do not complete the row are put back into `pending`.
    """
    taken: list[tuple[int, bytes | str | None]] = []
    text = line
    while len(taken) < MAX_SPANNED_LINES and len(text) <= longest:
        item = pending.popleft() if pending else next(lines, None)
        if item is None:
            break
        taken.append(item)
        if not isinstance(item[1], bytes):
            break
        text += b"\n" + item[1]
        if text.count(b'"') % 2:
            continue
        cells = _cells(text, header.delimiter, header.is_quoted)
        if not isinstance(cells, str) and len(cells) == len(header.names):
            return cells
    pending.extendleft(reversed(taken))
    return "bad_quotes"


def _cells(line: bytes | None, delimiter: str, is_quoted: bool) -> Cells | str:
    """The cells of a line, or the reason for rejecting it."""
    if line is None:
        return "line_too_long"
    if not line.strip():
        return "blank_line"
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        return "not_utf8"
    if not is_quoted:
        return text.split(delimiter)
    try:
        rows = list(csv.reader([text], strict=True, delimiter=delimiter))
    except csv.Error:
        return "bad_quotes"
    return rows[0] if rows else []


def wide_records(
    rows: Iterator[tuple[int, dict[str, str] | str]], params: LogParameters
) -> Iterator[Numbered]:
    """Convert wide-form rows to records keyed by the file's column names."""
    for number, row in rows:
        yield number, row if isinstance(row, str) else _record(row, params)


def _record(row: dict[str, str], params: LogParameters) -> Record | str:
    """A row with its lists split; an empty user is no user."""
    fields = params.fields
    record: Record = dict(row)
    if record.get(fields.user) in NO_USER:
        record.pop(fields.user, None)
    try:
        if fields.results in record:
            record[fields.results] = split_list(row[fields.results], params.list_separator)
        if fields.clicks in record:
            clicks = split_list(row[fields.clicks], params.list_separator)
            record[fields.clicks] = [_number_or_text(click) for click in clicks]
    except RejectError as reject:
        return str(reject)
    return record


def _number_or_text(click: object) -> object:
    number = parse_integer(click) if isinstance(click, str) else None
    return click if number is None else number
