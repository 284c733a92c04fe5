"""A crawl file -> blocks of pages and rejects, whatever its format.

Without `crawl.format` the format is detected from the first bytes: Parquet, WARC, a header of CSV
or TSV, else JSON lines; see `page` for the fields. Lines of JSON are parsed a chunk at a time
(`json_lines`), other records one by one; texts that are HTML are read as those of archives
(`fetches`). All are checked by the block (`checks`).
"""

from collections.abc import Iterator
from functools import partial

from builder.ingest.crawls.charsets import UTF8
from builder.ingest.crawls.checks import PageBlock, page_block
from builder.ingest.crawls.delimited import detect_delimited, read_delimited_pages
from builder.ingest.crawls.fetches import Body, Fetch, Found, Offered, read_fetches
from builder.ingest.crawls.json_lines import raw_frame, read_page_lines
from builder.ingest.crawls.page import RawPage
from builder.ingest.crawls.parquet import MAGIC, read_parquet_pages
from builder.ingest.crawls.warc import read_archive
from builder.ingest.delimited import DELIMITERS
from builder.ingest.lines import Chunk, read_chunks
from builder.ingest.unpacking import check_lines, first_bytes
from builder.io.sources import Interval, Source
from builder.parameters import CrawlParameters
from builder.runtime.executors import ordered_map
from builder.runtime.limits import Limits

WARC, WARC_NAMES = b"WARC/", (".warc", ".wet")
"""How an archive begins, and what it is called where its first record is damaged."""
CHUNK = 16 * 2**20
"""Bytes of lines that are parsed together, at most: a fifth quicker than 4 MB."""
SHARE = 64
"""Which part of the memory they may take."""
BLOCK_ROWS = 8192
BLOCK_CHARS = 8 * 2**20


def read_pages(
    source: Source, interval: Interval, params: CrawlParameters, limits: Limits
) -> Iterator[PageBlock]:
    """Every record of a crawl file, block by block; pages of HTML are read by the executor.

    Raises:
        FormatError: the file cannot be opened, or has no columns of pages.
    """
    kind = params.format if params.format != "auto" else detect_format(source, params)
    if kind == "jsonl":
        check_lines(source)
        if params.text_format == "plain":
            work = partial(_lines, interval=interval, params=params)
            chunks = read_chunks(
                source, params.max_record_bytes, min(CHUNK, limits.memory // SHARE)
            )
            yield from ordered_map(work, chunks, limits.threads)
            return
    records = _records(source, kind, params)
    if kind == "warc":
        pages = read_fetches(read_archive(source, params), source, params, limits)
    elif params.text_format == "html":
        pages = read_fetches(_with_bodies(records, interval), source, params, limits)
    else:
        pages = records
    yield from _blocks(pages, interval, params)


def detect_format(source: Source, params: CrawlParameters) -> str:
    """The format of a file by its first bytes; JSON lines where they are those of no other.

    Raises:
        FormatError: the file cannot be opened.
    """
    head = first_bytes(source, len(WARC))
    if head.startswith(MAGIC):
        return "parquet"
    is_short = len(head) < len(WARC)
    if head == WARC or (is_short and any(name in source.path.name for name in WARC_NAMES)):
        return "warc"
    is_json = head.lstrip()[:1] in (b"{", b"[", b"")
    return "jsonl" if is_json else detect_delimited(source, params) or "jsonl"


def _records(source: Source, kind: str, params: CrawlParameters) -> Iterator[Found]:
    """Every record of a file that is no archive, one by one."""
    if kind == "parquet":
        return read_parquet_pages(source, params)
    if kind in DELIMITERS:
        return read_delimited_pages(source, kind, params)
    return _read_lines(source, params)


def _lines(chunk: Chunk, interval: Interval, params: CrawlParameters) -> PageBlock:
    raw, rejects = read_page_lines(chunk, params)
    return page_block(raw, rejects, interval, params)


def _read_lines(source: Source, params: CrawlParameters) -> Iterator[Found]:
    """Every line, one by one."""
    for chunk in read_chunks(source, params.max_record_bytes):
        raw, rejects = read_page_lines(chunk, params)
        yield from rejects
        for line, *fields in raw.iter_rows():
            yield line, RawPage(*fields)


def _with_bodies(records: Iterator[Found], interval: Interval) -> Iterator[Offered]:
    """Records whose texts are HTML as fetches of it."""
    for number, page in records:
        if isinstance(page, str):
            yield number, page
        else:
            fetched_at = interval.start if page.fetched_at is None else page.fetched_at
            body = page.text.encode()
            yield number, Fetch(page.url, fetched_at, Body.HTML, body, UTF8, title=page.title)


def _blocks(
    records: Iterator[Found], interval: Interval, params: CrawlParameters
) -> Iterator[PageBlock]:
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
            yield page_block(raw_frame(rows), rejects, interval, params)
            rows, rejects, chars = [], [], 0
    yield page_block(raw_frame(rows), rejects, interval, params)
