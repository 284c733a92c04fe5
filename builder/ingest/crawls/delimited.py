"""Crawls as CSV or TSV -> raw pages, row by row. The first line names the columns."""

from collections.abc import Iterator
from functools import partial

from builder.errors import FormatError
from builder.ingest.crawls.fetches import Found
from builder.ingest.crawls.page import names_of, page_of
from builder.ingest.delimited import DELIMITERS, TableLayout, layouts, read_rows
from builder.ingest.lines import read_blocks
from builder.ingest.rejects import made_or_reason
from builder.io.sources import Source
from builder.parameters import CrawlParameters

MAX_SPANNED_LINES = 10_000
"""Maximum lines that the text of a page may have."""


def read_delimited_pages(source: Source, kind: str, params: CrawlParameters) -> Iterator[Found]:
    """Every row of a file.

    Args:
        source: The file.
        kind: `csv` or `tsv`.
        params: `[crawl]`.

    Raises:
        FormatError: the first line does not name the columns.
    """
    names = names_of(params.fields)
    found = find_header(source, kind, params)
    if isinstance(found, list):
        raise FormatError(
            f"expected a header with {names.url}, {' or '.join(names.times)} and "
            f"{' or '.join(names.texts)}, found {', '.join(found)[:200] or 'none'}; name the "
            "columns in [crawl.fields]",
            source.name,
            1,
        )
    for number, row in read_rows(source, found, params.max_record_bytes, MAX_SPANNED_LINES):
        if isinstance(row, str):
            yield number, row
        else:
            cells = {n: cell for n, cell in row.items() if cell or n not in names.times}
            yield number, made_or_reason(partial(page_of, cells, names, params))


def detect_delimited(source: Source, params: CrawlParameters) -> str | None:
    """The format whose header names the columns of a crawl; None where none does."""
    kinds = (
        kind for kind in DELIMITERS if isinstance(find_header(source, kind, params), TableLayout)
    )
    return next(kinds, None)


def find_header(source: Source, kind: str, params: CrawlParameters) -> TableLayout | list[str]:
    """The header of a file, or the most columns that its first line may name."""
    names, most = names_of(params.fields), list[str]()
    blocks = (block.lines for block in read_blocks(source, params.max_record_bytes))
    line = next((lines[0] for lines in blocks if lines), None)
    for header in layouts(line, kind):
        columns = set(header.names)
        is_dated = bool(columns & set(names.times)) or params.undated == "start"
        if names.url in columns and columns & set(names.texts) and is_dated:
            return header
        most = max(most, header.names, key=len)
    return most
