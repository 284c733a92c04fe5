"""Reader for CSV and TSV logs, with one row per impression (wide form) or per result (long form).

Column names are taken from the header line or from `log.columns`. A quoted cell may contain line
breaks, up to `MAX_SPANNED_LINES`, so that a stray quote cannot swallow the rest of a file. In the
wide form, `cell_lists` parses the cells that contain lists; `long_form` groups the rows of the long
form, which has a URL column instead of a results column.
"""

import csv
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from builder.errors import FormatError
from builder.ingest.lines import read_blocks
from builder.ingest.logs.cell_lists import split_list
from builder.ingest.logs.records import NumberedRecord, Record
from builder.ingest.logs.scalars import parse_integer
from builder.ingest.rejects import RejectError
from builder.io.sources import Source
from builder.parameters import LogParameters

DELIMITERS = {"csv": (",", ";", "|"), "tsv": ("\t",)}
"""Candidate delimiters by format; the first that yields the required columns is used."""

MISSING_USERS = ("", "NULL", "\\N")
"""Cell values for a missing user; such impressions must not be attributed to a single user."""

MAX_SPANNED_LINES = 32
"""Maximum number of lines that a quoted cell may span."""

MAX_CELL_BYTES = 2**31 - 1
"""Field size limit of `csv`, which is process-wide; lines are limited by `log.max_line_bytes`."""
csv.field_size_limit(MAX_CELL_BYTES)

Cells = list[str]


class TableLayout(NamedTuple):
    """Columns and dialect of a delimited file.

    Args:
        names: Column names.
        delimiter: Cell delimiter.
        is_quoted: Cells may be quoted.
        first_row: 1-based line number of the first data row.
    """

    names: list[str]
    delimiter: str
    is_quoted: bool
    first_row: int = 2


def detect_layout(
    source: Source, kind: str, params: LogParameters, encoding: str, *, needs_time: bool = True
) -> TableLayout:
    """Detect the layout from the header line, or from `log.columns` if the file has no header.

    Args:
        source: The file.
        kind: `csv` (quoted) or `tsv` (unquoted unless the header requires quotes).
        params: `[log]`.
        encoding: Text encoding of the file.
        needs_time: A time column is required.

    Raises:
        FormatError: a required column is missing.
    """
    blocks = (block.lines for block in read_blocks(source, params.max_line_bytes, encoding))
    line = next((lines[0] for lines in blocks if lines), None)
    fields = params.fields
    needed = [*([fields.time] if needs_time else []), fields.query]
    layouts = (
        _headerless_layouts(line, kind, params) if params.columns else _header_layouts(line, kind)
    )
    found: list[str] = []
    for layout in layouts:
        if set(needed) <= set(layout.names) and {fields.results, fields.url} & set(layout.names):
            return layout
        found = max(found, layout.names, key=len)
    expected = "log.columns" if params.columns else "a header"
    advice = "name the columns in [log.fields]"
    advice += "" if params.columns else ", or in log.columns if the file has no header"
    raise FormatError(
        f"expected {expected} with {', '.join(needed)} and {fields.results} or {fields.url}, "
        f"found {', '.join(found)[:200] or 'none'}; {advice}",
        source.name,
        1,
    )


def _header_layouts(line: bytes | None, kind: str) -> Iterator[TableLayout]:
    """Yield candidate layouts, with the first line as the header split by each delimiter."""
    for delimiter in DELIMITERS[kind]:
        for is_quoted in (True,) if kind == "csv" else (False, True):
            cells = _split_cells(line, delimiter, is_quoted)
            if not isinstance(cells, str):
                yield TableLayout([cell.strip() for cell in cells], delimiter, is_quoted)


def _headerless_layouts(
    line: bytes | None, kind: str, params: LogParameters
) -> Iterator[TableLayout]:
    """Yield candidate layouts for `log.columns`; a first line that repeats the names is skipped."""
    names, is_quoted = list(params.columns), kind == "csv"
    for delimiter in DELIMITERS[kind]:
        cells = _split_cells(line, delimiter, is_quoted)
        if not isinstance(cells, str) and len(cells) == len(names):
            yield TableLayout(names, delimiter, is_quoted, 1 + (cells == names))
    yield TableLayout(names, DELIMITERS[kind][0], is_quoted, 1)


def read_rows(
    source: Source, layout: TableLayout, params: LogParameters, encoding: str
) -> Iterator[tuple[int, dict[str, str] | str]]:
    """Yield (line number, row) for every row: its cells by column name, or the reject reason."""
    lines = _read_lines(source, params, encoding)
    pending: deque[tuple[int, bytes | str | None]] = deque()
    while (item := pending.popleft() if pending else next(lines, None)) is not None:
        number, line = item
        if isinstance(line, str):
            yield number, line
            continue
        if number < layout.first_row:
            continue
        cells = _split_cells(line, layout.delimiter, layout.is_quoted)
        if cells == "bad_quotes" and line is not None:
            cells = _read_spanning_row(line, layout, lines, pending, params.max_line_bytes)
        if not isinstance(cells, str) and len(cells) != len(layout.names):
            cells = "wrong_number_of_cells"
        yield (
            number,
            cells if isinstance(cells, str) else dict(zip(layout.names, cells, strict=True)),
        )


def _read_lines(
    source: Source, params: LogParameters, encoding: str
) -> Iterator[tuple[int, bytes | str | None]]:
    """Yield numbered lines; if reading fails, the last item is the reject reason."""
    for block in read_blocks(source, params.max_line_bytes, encoding):
        yield from enumerate(block.lines, block.first)
        if block.fault is not None:
            yield block.first + len(block.lines), block.fault


def _read_spanning_row(
    line: bytes,
    layout: TableLayout,
    lines: Iterator[tuple[int, bytes | str | None]],
    pending: deque[tuple[int, bytes | str | None]],
    max_bytes: int,
) -> Cells | str:
    """Parse a row whose quoted cell continues on the following lines.

    Lines that do not complete the row are pushed back to `pending`.

    Returns:
        The cells, or the reject reason.
    """
    taken: list[tuple[int, bytes | str | None]] = []
    text = line
    while len(taken) < MAX_SPANNED_LINES and len(text) <= max_bytes:
        item = pending.popleft() if pending else next(lines, None)
        if item is None:
            break
        taken.append(item)
        if not isinstance(item[1], bytes):
            break
        text += b"\n" + item[1]
        if text.count(b'"') % 2:
            continue
        cells = _split_cells(text, layout.delimiter, layout.is_quoted)
        if not isinstance(cells, str) and len(cells) == len(layout.names):
            return cells
    pending.extendleft(reversed(taken))
    return "bad_quotes"


def _split_cells(line: bytes | None, delimiter: str, is_quoted: bool) -> Cells | str:
    """Split a line into cells, or return the reject reason."""
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


def parse_wide_rows(
    rows: Iterator[tuple[int, dict[str, str] | str]], params: LogParameters
) -> Iterator[NumberedRecord]:
    """Convert wide-form rows to records keyed by the column names of the file."""
    for number, row in rows:
        yield number, row if isinstance(row, str) else _parse_lists(row, params)


def _parse_lists(row: dict[str, str], params: LogParameters) -> Record | str:
    """Parse the list cells of a row and drop a missing user; returns a reject reason on failure."""
    fields = params.fields
    record: Record = dict(row)
    if record.get(fields.user) in MISSING_USERS:
        record.pop(fields.user, None)
    try:
        if fields.results in record:
            record[fields.results] = split_list(row[fields.results], params.list_separator)
        if fields.clicks in record:
            clicks = split_list(row[fields.clicks], params.list_separator)
            record[fields.clicks] = [_integer_or_text(click) for click in clicks]
    except RejectError as reject:
        return str(reject)
    return record


def _integer_or_text(click: object) -> object:
    """Convert a click to an integer if possible."""
    number = parse_integer(click) if isinstance(click, str) else None
    return click if number is None else number
