"""Reads crawl files of every supported format as blocks of pages and rejects.

Unless `crawl.format` is set, the format is detected from the first bytes: Parquet, WARC, a CSV or
TSV header, else JSON Lines (see `page` for the fields). JSON Lines are parsed in chunks
(`json_lines`), other records one by one. Texts that are HTML are parsed like the bodies in WARC
archives (`fetches`). All pages are validated in blocks (`checks`).
"""

import re
from collections.abc import Iterator
from functools import partial

from builder.ingest.crawls.charsets import UTF8
from builder.ingest.crawls.checks import PageBlock, build_page_block
from builder.ingest.crawls.delimited import (
    detect_delimited_format,
    read_delimited_pages,
    read_layout,
)
from builder.ingest.crawls.fetches import (
    BodyType,
    FetchedDocument,
    NumberedFetch,
    NumberedPage,
    parse_fetches,
)
from builder.ingest.crawls.json_lines import build_raw_page_frame, parse_page_chunk
from builder.ingest.crawls.page import RawPage
from builder.ingest.crawls.parquet import existing_parquet_columns, read_parquet_pages
from builder.ingest.crawls.warc import read_archive_fetches
from builder.ingest.decompression import check_not_json_array, read_head
from builder.ingest.delimited import DELIMITERS
from builder.ingest.lines import LineChunk, read_line_chunks
from builder.io.parquet import MAGIC
from builder.io.sources import Interval, Source
from builder.parameters import CrawlParameters
from builder.runtime.executors import ordered_map
from builder.runtime.limits import ResourceLimits

WARC, WARC_NAME = b"WARC/", re.compile(r"\.(?:warc|wet)(?:\.(?:gz|zst|open))*$", re.IGNORECASE)
"""Signature of a WARC file, and pattern of file names by which a file is recognized as WARC if its
first record is damaged."""
CHUNK = 16 * 2**20
"""Maximum size of a chunk of lines in bytes; with chunks of 4 MB, parsing takes 20 % longer."""
MEMORY_DIVISOR = 64
"""The memory limit divided by this number is a second limit on the size of a chunk."""
BLOCK_ROWS = 8192
BLOCK_CHARS = 8 * 2**20


def read_pages(
    source: Source, interval: Interval, params: CrawlParameters, limits: ResourceLimits
) -> Iterator[PageBlock]:
    """Yield the valid pages and the rejects of a crawl file in blocks.

    Raises:
        FormatError: the file cannot be opened, or required columns are missing.
    """
    kind = params.format if params.format != "auto" else detect_format(source, params)
    if kind == "jsonl":
        check_not_json_array(source)
        if params.text_format == "plain":
            work = partial(_parse_chunk, interval=interval, params=params)
            chunks = read_line_chunks(
                source, params.max_record_bytes, min(CHUNK, limits.memory // MEMORY_DIVISOR)
            )
            yield from ordered_map(work, chunks, limits.threads)
            return
    records = _read_raw_pages(source, kind, params)
    if kind == "warc":
        pages = parse_fetches(read_archive_fetches(source, params), source, params, limits)
    elif params.text_format == "html":
        pages = parse_fetches(_to_html_fetches(records, interval.start), source, params, limits)
    else:
        pages = records
    yield from _group_into_page_blocks(pages, interval, params)


def detect_format(source: Source, params: CrawlParameters) -> str:
    """Detect the format of a crawl file from its first bytes; JSON Lines if nothing else matches.

    Raises:
        FormatError: the file cannot be opened.
    """
    head = read_head(source, len(WARC))
    if head.startswith(MAGIC):
        return "parquet"
    is_json = head.lstrip()[:1] in (b"{", b"[", b"")
    may_be_damaged = len(head) < len(WARC) or not is_json
    if head == WARC or (may_be_damaged and WARC_NAME.search(source.path.name)):
        return "warc"
    return "jsonl" if is_json else detect_delimited_format(source, params) or "jsonl"


def optional_column_presence(source: Source, params: CrawlParameters) -> dict[str, bool]:
    """Check whether a CSV, TSV or Parquet crawl has the optional title column.

    Returns:
        A dict with one item: the name of the title column, and whether it is present. The dict is
        empty for other formats and for truncated Parquet files.

    Raises:
        FormatError: the file cannot be opened, or required columns are missing.
    """
    kind = params.format if params.format != "auto" else detect_format(source, params)
    if kind == "parquet":
        names = existing_parquet_columns(source, params)
    elif kind in DELIMITERS:
        names = read_layout(source, kind, params).names
    else:
        return {}
    return {params.fields.title: params.fields.title in names} if names else {}


def _read_raw_pages(
    source: Source, file_format: str, params: CrawlParameters
) -> Iterator[NumberedPage]:
    """For each record of a non-WARC crawl, yield its number and its raw page or reject reason."""
    if file_format == "parquet":
        return read_parquet_pages(source, params)
    if file_format in DELIMITERS:
        return read_delimited_pages(source, file_format, params)
    return _read_json_pages(source, params)


def _parse_chunk(chunk: LineChunk, interval: Interval, params: CrawlParameters) -> PageBlock:
    """Parse a chunk of JSON Lines, and validate the pages."""
    raw, rejects = parse_page_chunk(chunk, params)
    return build_page_block(raw, rejects, interval, params)


def _read_json_pages(source: Source, params: CrawlParameters) -> Iterator[NumberedPage]:
    """For each line of a JSON Lines crawl, yield its number and its raw page or reject reason."""
    for chunk in read_line_chunks(source, params.max_record_bytes):
        raw, rejects = parse_page_chunk(chunk, params)
        yield from rejects
        for line, *fields in raw.iter_rows():
            yield line, RawPage(*fields)


def _to_html_fetches(records: Iterator[NumberedPage], default_time: int) -> Iterator[NumberedFetch]:
    """Convert raw pages whose text is HTML to fetches with the HTML as their body.

    Args:
        records: Raw pages and reject reasons.
        default_time: Fetch time in Unix seconds of pages without a time.
    """
    for number, page in records:
        if isinstance(page, str):
            yield number, page
        else:
            is_undated = page.fetched_at is None
            yield (
                number,
                FetchedDocument(
                    page.url,
                    default_time if page.fetched_at is None else page.fetched_at,
                    BodyType.HTML,
                    page.text.encode(),
                    UTF8,
                    title=page.title,
                    is_undated=is_undated,
                ),
            )


def _group_into_page_blocks(
    records: Iterator[NumberedPage], interval: Interval, params: CrawlParameters
) -> Iterator[PageBlock]:
    """Group raw pages and rejects into blocks of limited size, and validate the pages."""
    rows: list[tuple[object, ...]] = []
    rejects: list[tuple[int, str]] = []
    chars = 0
    for number, page in records:
        if isinstance(page, str):
            rejects.append((number, page))
        else:
            rows.append((number, *page))
            chars += len(page.text)
        if len(rows) + len(rejects) >= BLOCK_ROWS or chars >= BLOCK_CHARS:
            yield build_page_block(build_raw_page_frame(rows), rejects, interval, params)
            rows, rejects, chars = [], [], 0
    yield build_page_block(build_raw_page_frame(rows), rejects, interval, params)
