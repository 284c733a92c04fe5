"""Reads CSV and TSV crawls as raw pages, row by row."""

from collections.abc import Iterator
from functools import partial

from builder.errors import FormatError
from builder.ingest.columns import check_configured_columns, check_unique_columns
from builder.ingest.crawls.fetches import NumberedPage
from builder.ingest.crawls.page import (
    OPTIONAL_FIELDS,
    FieldNames,
    page_from_record,
    resolve_field_names,
)
from builder.ingest.delimited import (
    DELIMITERS,
    NULLS,
    TableLayout,
    candidate_layouts,
    detect_quoting,
    read_rows,
)
from builder.ingest.integer_ids import restore_integer_ids
from builder.ingest.lines import read_line_blocks
from builder.ingest.rejects import value_or_reject_reason
from builder.io.sources import Source
from builder.parameters import CrawlParameters

MAX_SPANNED_LINES = 10_000
"""Maximum number of lines that a quoted cell, such as the text of a page, may span."""


def read_delimited_pages(
    source: Source, file_format: str, params: CrawlParameters
) -> Iterator[NumberedPage]:
    """For each row of a CSV or TSV crawl, yield its number and its raw page or reject reason.

    Ids that were written as floats, such as `12.0`, become integers (see `integer_ids`).

    Args:
        source: The crawl file.
        file_format: `csv` or `tsv`.
        params: Section `[crawl]` of the definition.

    Raises:
        FormatError: required columns are missing from the header, or a column name is not unique.
    """
    names, limits = resolve_field_names(params.fields), (params.max_record_bytes, MAX_SPANNED_LINES)
    layout = detect_quoting(source, read_layout(source, file_format, params), *limits)
    rows = restore_integer_ids(read_rows(source, layout, *limits), [names.url])
    for number, row in rows:
        if isinstance(row, str):
            yield number, row
        else:
            cells = {n: cell for n, cell in row.items() if not _is_missing_cell(n, cell, names)}
            yield number, value_or_reject_reason(partial(page_from_record, cells, names, params))


def _is_missing_cell(column: str, cell: str, field_names: FieldNames) -> bool:
    """Whether a cell of a CSV or TSV crawl, such as `NULL`, stands for a missing value.

    An empty cell stands for a missing value only in a time column. Cells of the URL column are
    never considered missing, since an id may be any text.
    """
    return column != field_names.url and (
        cell in NULLS or (not cell and column in field_names.times)
    )


def read_layout(source: Source, file_format: str, params: CrawlParameters) -> TableLayout:
    """Read the layout of a CSV or TSV crawl from its header.

    Raises:
        FormatError: required columns are missing from the header, or a column name is not unique.
    """
    names = resolve_field_names(params.fields)
    layout = detect_layout(source, file_format, params)
    if isinstance(layout, list):
        raise FormatError(
            f"expected a header with {names.url}, {' or '.join(names.times)} (time) and "
            f"{' or '.join(names.texts)} (text), found {', '.join(layout)[:200] or 'none'}; name "
            "the columns in [crawl.fields]",
            source.name,
            1,
        )
    check_unique_columns(layout.names, names.all_names, source)
    check_configured_columns("crawl.fields", params.fields, OPTIONAL_FIELDS, layout.names, source)
    return layout


def detect_delimited_format(source: Source, params: CrawlParameters) -> str | None:
    """Return `csv` or `tsv` if a file has a header with the columns of a crawl; otherwise None."""
    kinds = (
        file_format
        for file_format in DELIMITERS
        if isinstance(detect_layout(source, file_format, params), TableLayout)
    )
    return next(kinds, None)


def detect_layout(
    source: Source, file_format: str, params: CrawlParameters
) -> TableLayout | list[str]:
    """Return the layout of a CSV or TSV file if its header has the columns of a crawl.

    Otherwise, return the column names in the header.
    """
    names, longest = resolve_field_names(params.fields), list[str]()
    blocks = (block.lines for block in read_line_blocks(source, params.max_record_bytes))
    line = next((lines[0] for lines in blocks if lines), None)
    for layout in candidate_layouts(line, file_format):
        columns = set(layout.names)
        is_dated = bool(columns & set(names.times)) or params.undated == "start"
        if names.url in columns and columns & set(names.texts) and is_dated:
            return layout
        longest = max(longest, layout.names, key=len)
    return longest
