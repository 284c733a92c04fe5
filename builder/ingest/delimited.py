"""Reads the rows of CSV and TSV files as dictionaries of cells, or rejects rows with a reason.

A quoted cell may span only a limited number of lines, so that one stray quote cannot swallow the
rest of the file.
"""

import csv
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from builder.ingest.escapes import are_escaped, decode_escapes
from builder.ingest.lines import read_line_blocks
from builder.ingest.rejects import FILE_TRUNCATED, LINE_TOO_LONG
from builder.io.cells import raise_csv_field_size_limit
from builder.io.sources import Source

DELIMITERS = {"csv": (",", ";", "|"), "tsv": ("\t",)}
"""Delimiters to try for each format; the first that gives the expected columns is used."""

SAMPLE_ROWS = 1000
"""Number of leading rows from which the quoting and escapes of a TSV file are detected."""

NULL = "\\N"
"""Cell text that stands for a missing value in every column."""
NULLS = frozenset({"NULL", "null", NULL, "None", "NaN", "nan", "NA"})
"""Cell texts that stand for a missing value in some columns; each reader decides in which."""

Cells = list[str]
Row = tuple[int, dict[str, str] | str]
"""1-based number of the first line of a row; and the cells of the row by column name, without
missing values, or the reject reason (str) if the row is invalid."""


class TableLayout(NamedTuple):
    """Layout of a CSV or TSV file: columns, delimiter, quoting and escapes.

    Args:
        names: Column names.
        delimiter: Character between cells.
        is_quoted: Whether cells may be quoted.
        first_row_line: 1-based line number of the first row after the header.
        is_escaped: Whether cells contain backslash escapes (see `escapes`).
    """

    names: list[str]
    delimiter: str
    is_quoted: bool
    first_row_line: int = 2
    is_escaped: bool = False


class _Line(NamedTuple):
    """Line of a CSV or TSV file.

    Args:
        number: 1-based line number.
        data: Bytes of the line; None if it is too long; the reject reason (str) if reading failed.
        is_unterminated: Whether the file ends within the line, without a newline.
    """

    number: int
    data: bytes | str | None
    is_unterminated: bool = False


def candidate_layouts(header_line: bytes | None, file_format: str) -> Iterator[TableLayout]:
    """Yield a layout for each CSV dialect (delimiter and quoting) in which the header is valid.

    Args:
        header_line: First line of the file; None if the file is empty or this line is too long.
        file_format: `csv` or `tsv`.
    """
    for delimiter in DELIMITERS[file_format]:
        for is_quoted in (True,) if file_format == "csv" else (False, True):
            cells = split_into_cells(header_line, delimiter, is_quoted)
            if not isinstance(cells, str):
                yield TableLayout([cell.strip() for cell in cells], delimiter, is_quoted)


def detect_quoting(
    source: Source,
    layout: TableLayout,
    max_line_bytes: int,
    max_spanned_lines: int,
    encoding: str = "utf-8",
) -> TableLayout:
    """Detect from the first rows of a TSV file whether cells are quoted or escaped.

    If parsing without quoting finds a row with the wrong number of cells or a cell with doubled
    quotes, the cells may be quoted, as pandas and Polars write them. They are considered quoted if
    every cell that contains a quote also starts with one, and if parsing with quoting finds the
    right number of cells in every row. Only unquoted cells may be escaped.

    Args:
        source: The file.
        layout: Layout detected from the header; returned unchanged if it is quoted.
        max_line_bytes: Maximum length of a line in bytes.
        max_spanned_lines: Maximum number of lines that a quoted cell may span.
        encoding: Text encoding of the file.

    Returns:
        The layout with `is_quoted` and `is_escaped` as detected.
    """
    if layout.is_quoted:
        return layout

    def read_first_rows(tried_layout: TableLayout) -> list[Row]:
        rows = read_rows(source, tried_layout, max_line_bytes, max_spanned_lines, encoding)
        return list(islice(rows, SAMPLE_ROWS))

    rows = [row for _, row in read_first_rows(layout)]
    lacks_cells = "wrong_number_of_cells" in rows
    cells = [cell for row in rows if isinstance(row, dict) for cell in row.values()]
    layout = layout._replace(is_escaped=are_escaped(cells))
    marked = [cell for cell in cells if '"' in cell]
    is_doubled = any('""' in cell for cell in marked)
    if not (lacks_cells or is_doubled) or not all(cell.startswith('"') for cell in marked):
        return layout
    quoted = layout._replace(is_quoted=True, is_escaped=False)
    faults = {row for _, row in read_first_rows(quoted) if isinstance(row, str)}
    return layout if faults & {"bad_quotes", "wrong_number_of_cells"} else quoted


def read_rows(
    source: Source,
    layout: TableLayout,
    max_line_bytes: int,
    max_spanned_lines: int,
    encoding: str = "utf-8",
) -> Iterator[Row]:
    """Yield each row as its line number and either its cells by column name or its reject reason.

    Args:
        source: The file.
        layout: Columns, delimiter, quoting and escapes.
        max_line_bytes: Maximum length in bytes of a line and, approximately, of a row.
        max_spanned_lines: Maximum number of lines that a quoted cell may span.
        encoding: Text encoding of the file.
    """
    lines = _read_lines(source, max_line_bytes, encoding)
    pending: deque[_Line] = deque()
    while (line := pending.popleft() if pending else next(lines, None)) is not None:
        if isinstance(line.data, str):
            yield line.number, line.data
            continue
        if line.number < layout.first_row_line:
            continue
        cells = split_into_cells(line.data, layout.delimiter, layout.is_quoted)
        if cells == "bad_quotes" and line.data is not None:
            cells = _read_multiline_row(
                line, layout, lines, pending, max_line_bytes, max_spanned_lines
            )
        if not isinstance(cells, str) and len(cells) != len(layout.names):
            cells = FILE_TRUNCATED if line.is_unterminated else "wrong_number_of_cells"
        yield line.number, cells if isinstance(cells, str) else _map_columns_to_cells(cells, layout)


def _map_columns_to_cells(cells: Cells, layout: TableLayout) -> dict[str, str]:
    """Return the cells of a row by column name; decode escapes, and omit missing values."""
    row = {name: cell for name, cell in zip(layout.names, cells, strict=True) if cell != NULL}
    if layout.is_escaped:
        return {name: decode_escapes(cell) for name, cell in row.items()}
    return row


def _read_lines(source: Source, max_line_bytes: int, encoding: str) -> Iterator[_Line]:
    """Yield the lines of a file; if reading fails, the last line contains the reject reason."""
    for block in read_line_blocks(source, max_line_bytes, encoding):
        for number, line in enumerate(block.lines, block.first_line_number):
            yield _Line(number, line, block.is_unterminated)
        if block.fault is not None:
            yield _Line(block.first_line_number + len(block.lines), block.fault)


def _read_multiline_row(
    first_line: _Line,
    layout: TableLayout,
    lines: Iterator[_Line],
    pending_lines: deque[_Line],
    max_line_bytes: int,
    max_spanned_lines: int,
) -> Cells | str:
    """Return the cells of a row in which a quoted cell spans several lines, or a reject reason.

    The row ends at the first line after which the number of quotes is even. If the row is invalid,
    all lines after the first are put back into `pending_lines`. However, if the file ends within
    the cell and none of these lines is a complete row, the row is rejected as `file_truncated`, and
    these lines are skipped.

    Args:
        first_line: First line of the row.
        layout: Columns, delimiter and quoting.
        lines: Lines that have not been read yet.
        pending_lines: Lines to read before `lines`; modified.
        max_line_bytes: Maximum length of the row in bytes; a longer row is rejected.
        max_spanned_lines: Maximum number of lines that a quoted cell may span.
    """
    row_lines = [first_line]
    size, quotes = 0, 0
    while isinstance(row_lines[-1].data, bytes):
        size, quotes = size + len(row_lines[-1].data), quotes + row_lines[-1].data.count(b'"')
        if quotes % 2 == 0:
            cells = _split_joined_lines(row_lines, layout)
            if not isinstance(cells, str) and len(cells) == len(layout.names):
                return cells
            break
        next_line = pending_lines.popleft() if pending_lines else next(lines, None)
        if next_line is None:
            if not any(_is_complete_row(other, layout) for other in row_lines[1:]):
                return FILE_TRUNCATED
            break
        row_lines.append(next_line)
        if len(row_lines) > max_spanned_lines + 1 or size > max_line_bytes:
            break
    pending_lines.extendleft(reversed(row_lines[1:]))
    return FILE_TRUNCATED if first_line.is_unterminated else "bad_quotes"


def _split_joined_lines(lines: list[_Line], layout: TableLayout) -> Cells | str:
    """Join several lines, and split them into the cells of one row, or return a reject reason."""
    data = b"\n".join(line.data for line in lines if isinstance(line.data, bytes))
    return split_into_cells(data, layout.delimiter, layout.is_quoted)


def _is_complete_row(line: _Line, layout: TableLayout) -> bool:
    """Whether a single line is a complete row with the expected number of cells."""
    if isinstance(line.data, str):
        return False
    cells = _split_joined_lines([line], layout)
    return not isinstance(cells, str) and len(cells) == len(layout.names)


def split_into_cells(line: bytes | None, delimiter: str, is_quoted: bool) -> Cells | str:
    """Split a line into cells; return the reject reason if the line is invalid.

    Args:
        line: Bytes of the line in UTF-8; None if it is too long.
        delimiter: Character between cells.
        is_quoted: Whether cells may be quoted.
    """
    if line is None:
        return LINE_TOO_LONG
    if not line.strip():
        return "blank_line"
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        return "not_utf8"
    if not is_quoted:
        return text.split(delimiter)
    raise_csv_field_size_limit()
    try:
        rows = list(csv.reader([text], strict=True, delimiter=delimiter))
    except csv.Error:
        return "bad_quotes"
    return rows[0] if rows else []
