"""Reads CSV and TSV logs with one row per impression (wide format) or per result (long format).

Column names are taken from the header line or from `log.columns`. A quoted cell may contain at most
`MAX_SPANNED_LINES` line breaks, so that a stray quote cannot swallow the rest of a file. In wide
format, `cell_lists` parses the cells that contain lists. Long format has a URL column instead of a
results column; `long_format` groups its rows into impressions.
"""

from collections.abc import Iterator

from builder.errors import FormatError
from builder.ingest.columns import check_configured_columns, check_unique_columns
from builder.ingest.delimited import (
    DELIMITERS,
    NULLS,
    Row,
    TableLayout,
    candidate_layouts,
    detect_quoting,
    read_rows,
    split_into_cells,
)
from builder.ingest.integer_ids import restore_integer_ids
from builder.ingest.lines import read_line_blocks
from builder.ingest.logs.cell_lists import parse_lists_stored_as_text
from builder.ingest.logs.long_format import optional_fields
from builder.ingest.logs.records import NumberedRecord
from builder.io.sources import Source
from builder.parameters import LogParameters

MISSING_USERS = NULLS | {"", "-"}
"""Cell values that stand for a missing user (`-` in access logs). Impressions with such a value
become anonymous, since they must not be attributed to a single user."""

MAX_SPANNED_LINES = 32
"""Maximum number of line breaks in a quoted cell."""


def detect_layout(
    source: Source,
    file_format: str,
    params: LogParameters,
    encoding: str,
    *,
    needs_time: bool = True,
) -> TableLayout:
    """Detect the layout of a CSV or TSV log from its header line or, if set, from `log.columns`.

    Args:
        source: The log file.
        file_format: `csv` (quoted) or `tsv` (see `detect_quoting`).
        params: Section `[log]` of the definition.
        encoding: Text encoding of the file.
        needs_time: Whether a time column is required.

    Raises:
        FormatError: a column that is required or named in the definition is missing, or its name
            is not unique.
    """
    blocks = (block.lines for block in read_line_blocks(source, params.max_line_bytes, encoding))
    line = next((lines[0] for lines in blocks if lines), None)
    fields = params.fields
    needed = [*([fields.time] if needs_time else []), fields.query]
    candidates = (
        _headerless_layouts(line, file_format, params)
        if params.columns
        else candidate_layouts(line, file_format)
    )
    found: list[str] = []
    for layout in candidates:
        if set(needed) <= set(layout.names) and {fields.results, fields.url} & set(layout.names):
            check_unique_columns(layout.names, dict.fromkeys(fields.model_dump().values()), source)
            optional = optional_fields(layout.names, fields)
            check_configured_columns("log.fields", fields, optional, layout.names, source)
            limits = (params.max_line_bytes, MAX_SPANNED_LINES)
            return detect_quoting(source, layout, *limits, encoding)
        found = max(found, layout.names, key=len)
    expected = "log.columns" if params.columns else "a header"
    advice = "name the columns in [log.fields]"
    advice += "" if params.columns else ", or in log.columns if the file has no header"
    raise FormatError(
        f"expected {expected} with {', '.join(needed)} and either {fields.results} or "
        f"{fields.url}, found {', '.join(found)[:200] or 'none'}; {advice}",
        source.name,
        1,
    )


def _headerless_layouts(
    line: bytes | None, file_format: str, params: LogParameters
) -> Iterator[TableLayout]:
    """Yield the possible layouts of a file whose columns are named in `log.columns`."""
    names, is_quoted = list(params.columns), file_format == "csv"
    for delimiter in DELIMITERS[file_format]:
        cells = split_into_cells(line, delimiter, is_quoted)
        if not isinstance(cells, str) and len(cells) == len(names):
            yield TableLayout(names, delimiter, is_quoted, 1 + (cells == names))
    yield TableLayout(names, DELIMITERS[file_format][0], is_quoted, 1)


def read_log_rows(
    source: Source, layout: TableLayout, params: LogParameters, encoding: str
) -> Iterator[Row]:
    """Yield each row of a log as its line number and its cells or reject reason.

    The user cell is removed if its value is in `MISSING_USERS`. Ids that were written as floats,
    such as `12.0`, become integers (see `integer_ids`).
    """
    fields, user = params.fields, params.fields.user
    rows = read_rows(source, layout, params.max_line_bytes, MAX_SPANNED_LINES, encoding)
    ids = dict.fromkeys((user, fields.url, fields.results, fields.clicks))
    for number, row in restore_integer_ids(rows, ids):
        if not isinstance(row, str) and row.get(user, "").strip() in MISSING_USERS:
            row.pop(user, None)
        yield number, row


def parse_wide_rows(
    rows: Iterator[tuple[int, dict[str, str] | str]], params: LogParameters
) -> Iterator[NumberedRecord]:
    """Convert rows of the wide format (one impression each) to numbered records.

    The keys of the records are the column names of the file.
    """
    for number, row in rows:
        yield number, row if isinstance(row, str) else parse_lists_stored_as_text(row, params)
