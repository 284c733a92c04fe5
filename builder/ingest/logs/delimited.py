"""Logs as CSV or TSV to raw records: one row per impression, or one row per result.

The first line names the columns, or `log.columns` does. In the wide form lists stand in one cell
(see `cell_lists`); the long form, with a column for the URL instead of the results, is grouped in
`long_form`.
"""

from collections.abc import Iterator

from builder.errors import FormatError
from builder.ingest.delimited import DELIMITERS, Header, Row, cells_of, layouts, read_rows
from builder.ingest.lines import read_blocks
from builder.ingest.logs.cell_lists import split_list
from builder.ingest.logs.records import Numbered, Record
from builder.ingest.logs.spellings import parse_integer
from builder.ingest.rejects import RejectError
from builder.io.sources import Source
from builder.parameters import LogParameters

NO_USER = ("", "NULL", "\\N")
"""Cell values that mean "no user"; anonymous impressions must not be attributed to one user."""

MAX_SPANNED_LINES = 32
"""Maximum lines that a quoted cell may span."""


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
    headers = _headerless_layouts(line, kind, params) if params.columns else layouts(line, kind)
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


def _headerless_layouts(line: bytes | None, kind: str, params: LogParameters) -> Iterator[Header]:
    """Readings of a file under `log.columns`; a first line that repeats the names is skipped."""
    names, is_quoted = list(params.columns), kind == "csv"
    for delimiter in DELIMITERS[kind]:
        cells = cells_of(line, delimiter, is_quoted)
        if not isinstance(cells, str) and len(cells) == len(names):
            yield Header(names, delimiter, is_quoted, 1 + (cells == names))
    yield Header(names, DELIMITERS[kind][0], is_quoted, 1)


def read_log_rows(
    source: Source, header: Header, params: LogParameters, encoding: str
) -> Iterator[Row]:
    """See `delimited.read_rows`."""
    return read_rows(source, header, params.max_line_bytes, MAX_SPANNED_LINES, encoding)


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
