"""Logs as CSV or TSV -> records, one row an impression or one row a result.

The first line names the columns. A line is a row: quoted line ends are not supported, so that one
stray quote cannot swallow a file. In the wide form lists stand in one cell (see `cell_lists`); the
long form, which has a column for the URL and none for results, is put together in
`long_form.py`.
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

Offered = tuple[int, dict[str, Any] | str]
"""A record by its line, or the reason why there is none."""


class Header(NamedTuple):
    """The names of the columns, and what stands between cells."""

    names: list[str]
    delimiter: str


def read_header(source: Source, kind: str, params: LogParameters, *, timed: bool = True) -> Header:
    """The first line of a file.

    Args:
        source: The file.
        kind: `csv`, with quotes, or `tsv`, without.
        params: `[log]`.
        timed: Whether a column of times is needed.

    Raises:
        FormatError: the header lacks a column that is needed.
    """
    for block in read_blocks(source, params.max_line_bytes):
        if block.lines:
            return _header(block.lines[0], kind, source, params, timed)
    return _header(None, kind, source, params, timed)


def read_rows(source: Source, header: Header, params: LogParameters) -> Iterator[Offered]:
    """Every row of a file under the names of its header; see `read_header`."""
    csv.field_size_limit(params.max_line_bytes)
    for block in read_blocks(source, params.max_line_bytes):
        for number, line in enumerate(block.lines, block.first):
            if number == 1:
                continue
            cells = _cells(line, header.delimiter)
            if isinstance(cells, str):
                yield number, cells
            elif len(cells) != len(header.names):
                yield number, "wrong_number_of_cells"
            else:
                yield number, _record(dict(zip(header.names, cells, strict=True)), params)
        if block.fault is not None:
            yield block.first + len(block.lines), block.fault


def _cells(line: bytes | None, delimiter: str) -> list[str] | str:
    """The cells of a line, or why it has none."""
    if line is None:
        return "line_too_long"
    if not line.strip():
        return "blank_line"
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        return "not_utf8"
    if delimiter == "\t":
        return text.split(delimiter)
    try:
        return next(csv.reader([text], strict=True, delimiter=delimiter), [])
    except csv.Error:
        return "bad_quotes"


def _header(
    line: bytes | None, kind: str, source: Source, params: LogParameters, timed: bool
) -> Header:
    fields = params.fields
    needed = [*([fields.time] if timed else []), fields.query]
    found: list[str] = []
    for delimiter in DELIMITERS[kind]:
        cells = _cells(line, delimiter)
        names = [] if isinstance(cells, str) else [cell.strip() for cell in cells]
        if set(needed) <= set(names) and {fields.results, fields.url} & set(names):
            return Header(names, delimiter)
        found = max(found, names, key=len)
    raise FormatError(
        f"expected a header with {', '.join(needed)} and {fields.results} or "
        f"{fields.url}, found {', '.join(found)[:200] or 'none'}; name the columns "
        "in [log.fields]",
        source.name,
        1,
    )


def _record(row: dict[str, str], params: LogParameters) -> dict[str, Any] | str:
    """A row with its lists taken apart; an empty user is none."""
    fields = params.fields
    record: dict[str, Any] = dict(row)
    if not record.get(fields.user):
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
