"""CSV and TSV -> rows: cells by the names of their columns, or the reason for rejecting a row.

A quoted cell may span lines, up to a number of them, so that one stray quote cannot swallow a file.
"""

import csv
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from builder.ingest.lines import read_blocks
from builder.io.sources import Source

DELIMITERS = {"csv": (",", ";", "|"), "tsv": ("\t",)}
"""Delimiters of a format; the first one that gives the header its columns is used."""

MAX_CELL_BYTES = 2**31 - 1
"""Lines are bounded by their readers; the limit of `csv` is process-wide and set once."""
csv.field_size_limit(MAX_CELL_BYTES)

TRUNCATED = "file_truncated"
Cells = list[str]
Row = tuple[int, dict[str, str] | str]
"""First line of a row, and its cells by column or the reason for rejecting it."""


class TableLayout(NamedTuple):
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


class _Line(NamedTuple):
    """A line of a file.

    Args:
        number: From 1 on.
        data: Its bytes; None: it is too long; a text: why reading stopped there.
        is_open: Whether the file ends without the end of this line.
    """

    number: int
    data: bytes | str | None
    is_open: bool = False


def layouts(line: bytes | None, kind: str) -> Iterator[TableLayout]:
    """Candidate headers of a file: its first line split by each delimiter of its format."""
    for delimiter in DELIMITERS[kind]:
        for is_quoted in (True,) if kind == "csv" else (False, True):
            cells = cells_of(line, delimiter, is_quoted)
            if not isinstance(cells, str):
                yield TableLayout([cell.strip() for cell in cells], delimiter, is_quoted)


def read_rows(
    source: Source, header: TableLayout, longest: int, spanned: int, encoding: str = "utf-8"
) -> Iterator[Row]:
    """Every row of a file.

    Args:
        source: The file.
        header: How it is read.
        longest: Maximum bytes of a line, and about those of a row.
        spanned: Maximum lines that a quoted cell may span.
        encoding: Text encoding of the file.
    """
    lines = _lines(source, longest, encoding)
    pending: deque[_Line] = deque()
    while (line := pending.popleft() if pending else next(lines, None)) is not None:
        if isinstance(line.data, str):
            yield line.number, line.data
            continue
        if line.number < header.first:
            continue
        cells = cells_of(line.data, header.delimiter, header.is_quoted)
        if cells == "bad_quotes" and line.data is not None:
            cells = _spanning(line, header, lines, pending, longest, spanned)
        if not isinstance(cells, str) and len(cells) != len(header.names):
            cells = TRUNCATED if line.is_open else "wrong_number_of_cells"
        row = cells if isinstance(cells, str) else dict(zip(header.names, cells, strict=True))
        yield line.number, row


def _lines(source: Source, longest: int, encoding: str) -> Iterator[_Line]:
    """The lines of a file; if reading fails, the last one has the reason."""
    for block in read_blocks(source, longest, encoding):
        for number, line in enumerate(block.lines, block.first):
            yield _Line(number, line, block.is_open)
        if block.fault is not None:
            yield _Line(block.first + len(block.lines), block.fault)


def _spanning(
    line: _Line,
    header: TableLayout,
    lines: Iterator[_Line],
    pending: deque[_Line],
    longest: int,
    spanned: int,
) -> Cells | str:
    """The cells of a row whose quoted cell goes on over the next lines.

    The row ends with the first line after which quotes are in pairs. Lines that do not complete it
    are put back into `pending`, unless the file ends within them and none is a row by itself.
    """
    taken = [line]
    size, quotes = 0, 0
    while isinstance(taken[-1].data, bytes):
        size, quotes = size + len(taken[-1].data), quotes + taken[-1].data.count(b'"')
        if quotes % 2 == 0:
            cells = _joined(taken, header)
            if not isinstance(cells, str) and len(cells) == len(header.names):
                return cells
            break
        following = pending.popleft() if pending else next(lines, None)
        if following is None:
            if not any(_is_row(other, header) for other in taken[1:]):
                return TRUNCATED
            break
        taken.append(following)
        if len(taken) > spanned + 1 or size > longest:
            break
    pending.extendleft(reversed(taken[1:]))
    return TRUNCATED if line.is_open else "bad_quotes"


def _joined(lines: list[_Line], header: TableLayout) -> Cells | str:
    data = b"\n".join(line.data for line in lines if isinstance(line.data, bytes))
    return cells_of(data, header.delimiter, header.is_quoted)


def _is_row(line: _Line, header: TableLayout) -> bool:
    return not isinstance(line.data, str) and len(_joined([line], header)) == len(header.names)


def cells_of(line: bytes | None, delimiter: str, is_quoted: bool) -> Cells | str:
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
