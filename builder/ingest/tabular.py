"""Logs as CSV or TSV -> records, one row an impression or one row a result.

The first line names the columns, or `log.columns` does. A line is a row: quoted line ends are not
supported, so that one stray quote cannot swallow a file. In the wide form lists stand in one cell
(see `cell_lists`); the long form, which has a column for the URL and none for results, is put
together in `long_form.py`.
"""

import csv
from collections.abc import Iterator
from typing import Any, NamedTuple

from builder.errors import FormatError
from builder.ingest.cell_lists import split_list
from builder.ingest.lines import read_blocks
from builder.ingest.rejects import RejectError
from builder.parameters import LogParameters
from builder.sources import Source

DELIMITERS = {"csv": (",", ";", "|"), "tsv": ("\t",)}
"""What may stand between cells; the first that the header shows."""

NO_USER = ("", "NULL", "\\N")
"""Cells that name nobody; users without a name are not one user."""

Offered = tuple[int, dict[str, Any] | str]
"""A record by its line, or the reason why there is none."""


class Header(NamedTuple):
    """How the rows of a table are read.

    Args:
        names: Those of the columns.
        delimiter: What stands between cells.
        is_quoted: Whether cells may stand in quotes.
        first: 1-based number of the first row.
    """

    names: list[str]
    delimiter: str
    is_quoted: bool
    first: int = 2


def read_header(source: Source, kind: str, params: LogParameters, *, timed: bool = True) -> Header:
    """How a file is read: by its first line, or by `log.columns` where it has no header.

    Args:
        source: The file.
        kind: `csv`, with quotes, or `tsv`, without, unless its header has them.
        params: `[log]`.
        timed: Whether a column of times is needed.

    Raises:
        FormatError: a column that is needed has no name.
    """
    blocks = (block.lines for block in read_blocks(source, params.max_line_bytes))
    line = next((lines[0] for lines in blocks if lines), None)
    fields = params.fields
    needed = [*([fields.time] if timed else []), fields.query]
    headers = _without_header(line, kind, params) if params.columns else _headers(line, kind)
    found: list[str] = []
    for header in headers:
        if set(needed) <= set(header.names) and {fields.results, fields.url} & set(header.names):
            return header
        found = max(found, header.names, key=len)
    place = "log.columns" if params.columns else "a header"
    advice = "name the columns in [log.fields]"
    advice += "" if params.columns else ", or in log.columns where there is no header"
    raise FormatError(
        f"expected {place} with {', '.join(needed)} and {fields.results} or {fields.url}, "
        f"found {', '.join(found)[:200] or 'none'}; {advice}",
        source.name,
        1,
    )


def _headers(line: bytes | None, kind: str) -> Iterator[Header]:
    """What a first line may say, with each delimiter."""
    for delimiter in DELIMITERS[kind]:
        for is_quoted in (True,) if kind == "csv" else (False, True):
            cells = _cells(line, delimiter, is_quoted)
            if not isinstance(cells, str):
                yield Header([cell.strip() for cell in cells], delimiter, is_quoted)


def _without_header(line: bytes | None, kind: str, params: LogParameters) -> Iterator[Header]:
    """How a file is read whose columns are named; a first line that names them is none of it."""
    names, is_quoted = list(params.columns), kind == "csv"
    for delimiter in DELIMITERS[kind]:
        cells = _cells(line, delimiter, is_quoted)
        if not isinstance(cells, str) and len(cells) == len(names):
            yield Header(names, delimiter, is_quoted, 1 + (cells == names))
    yield Header(names, DELIMITERS[kind][0], is_quoted, 1)


def read_rows(source: Source, header: Header, params: LogParameters) -> Iterator[Offered]:
    """Every row of a file under the names of its header; see `read_header`."""
    csv.field_size_limit(params.max_line_bytes)
    for block in read_blocks(source, params.max_line_bytes):
        for number, line in enumerate(block.lines, block.first):
            if number < header.first:
                continue
            cells = _cells(line, header.delimiter, header.is_quoted)
            if isinstance(cells, str):
                yield number, cells
            elif len(cells) != len(header.names):
                yield number, "wrong_number_of_cells"
            else:
                yield number, _record(dict(zip(header.names, cells, strict=True)), params)
        if block.fault is not None:
            yield block.first + len(block.lines), block.fault


def _cells(line: bytes | None, delimiter: str, is_quoted: bool) -> list[str] | str:
    """The cells of a line, or why it has none."""
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
        return next(csv.reader([text], strict=True, delimiter=delimiter), [])
    except csv.Error:
        return "bad_quotes"


def _record(row: dict[str, str], params: LogParameters) -> dict[str, Any] | str:
    """A row with its lists taken apart; an empty user is none."""
    fields = params.fields
    record: dict[str, Any] = dict(row)
    if record.get(fields.user) in NO_USER:
        record.pop(fields.user, None)
    try:
        if fields.results in record:
            record[fields.results] = split_list(row[fields.results], params.list_separator)
        if fields.clicks in record:
            clicks = split_list(row[fields.clicks], params.list_separator)
            record[fields.clicks] = [_integer(click) for click in clicks]
    except RejectError as reject:
        return str(reject)
    return record


def _integer(click: object) -> object:
    text = click.strip() if isinstance(click, str) else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 8 else click
