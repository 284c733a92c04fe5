"""A crawl file -> blocks of pages and rejects, whatever its format.

The format is told by the first bytes: Parquet, WARC, else JSON lines; see `page` for the shapes.
Lines of JSON are read many at a time (`page_lines`), other records one by one, and texts that are
HTML as those of archives (`fetches`); texts, addresses and rules are dealt with by the block.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builder.errors import FormatError
from builder.ingest.crawls.charsets import UTF8
from builder.ingest.crawls.fetches import Body, Fetch, Found, Offered, read_fetches
from builder.ingest.crawls.json_lines import raw_frame, read_page_lines
from builder.ingest.crawls.page import Names, RawPage, names_of, page_of
from builder.ingest.crawls.warc import read_warc
from builder.ingest.ids import addresses_of
from builder.ingest.lines import Chunk, read_chunks
from builder.ingest.nested import named
from builder.ingest.parquet_rows import offered_rows
from builder.ingest.rejects import made_or_reason
from builder.ingest.texts import normalise_texts, one_line, url_keys, without_credentials
from builder.ingest.unpacking import check_lines, first_bytes
from builder.io.sources import Interval, Source
from builder.parameters import CrawlParameters
from builder.runtime.executors import in_order
from builder.runtime.limits import Limits

PARQUET = b"PAR1"
WARC, WARC_NAMES = b"WARC/", (".warc", ".wet")
"""How an archive begins, and what it is called where its first record is damaged."""
ROWS = 256
AT_ONCE = 16
"""Rows of Parquet that are unpacked together."""
CHUNK = 16 * 2**20
"""Bytes of lines that are parsed together, at most: a fifth quicker than 4 MB."""
SHARE = 64
"""Which part of the memory they may take."""
BLOCK_ROWS = 8192
BLOCK_CHARS = 8 * 2**20


class PageBlock(NamedTuple):
    """Consecutive records of a crawl file.

    Args:
        records: How many records they are.
        pages: The pages among them: `line`, `url`, `url_key`, `fetched_at`, `title`, `text`,
            `truncated`, `language_hint`, `published_at`, `modified_at`.
        rejects: 1-based number and reason of each other record.
    """

    records: int
    pages: pl.DataFrame
    rejects: list[tuple[int, str]]


def read_pages(
    source: Source, interval: Interval, params: CrawlParameters, limits: Limits
) -> Iterator[PageBlock]:
    """Every record of a crawl file, block by block; pages of HTML are read by the executor.

    Raises:
        FormatError: the file cannot be opened, or is a Parquet file without the columns.
    """
    head = first_bytes(source, len(WARC))
    is_parquet = head.startswith(PARQUET)
    is_archive = head == WARC or (
        len(head) < len(WARC) and any(name in source.path.name for name in WARC_NAMES)
    )
    if not (is_parquet or is_archive):
        check_lines(source)
    if is_archive:
        yield from _one_by_one(read_warc(source, params, limits), interval, params)
    elif params.text_format == "html":
        records = (_read_parquet if is_parquet else _read_lines)(source, params)
        fetches = _with_bodies(records, interval)
        pages = read_fetches(fetches, source, params, limits)
        yield from _one_by_one(pages, interval, params)
    elif is_parquet:
        yield from _one_by_one(_read_parquet(source, params), interval, params)
    else:
        work = partial(_lines, interval=interval, params=params)
        size = min(CHUNK, limits.memory // SHARE)
        chunks = read_chunks(source, params.max_record_bytes, size)
        yield from in_order(work, chunks, limits.threads)


def _lines(chunk: Chunk, interval: Interval, params: CrawlParameters) -> PageBlock:
    raw, rejects = read_page_lines(chunk, params)
    return _block(raw, rejects, interval, params)


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


def _one_by_one(
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
            yield _block(raw_frame(rows), rejects, interval, params)
            rows, rejects, chars = [], [], 0
    yield _block(raw_frame(rows), rejects, interval, params)


def _block(
    raw: pl.DataFrame,
    rejects: list[tuple[int, str]],
    interval: Interval,
    params: CrawlParameters,
) -> PageBlock:
    pages, refused = _checked(raw, interval, params)
    return PageBlock(raw.height + len(rejects), pages, rejects + refused)


def _checked(
    raw: pl.DataFrame, interval: Interval, params: CrawlParameters
) -> tuple[pl.DataFrame, list[tuple[int, str]]]:
    """`check_pages`; a page on which it fails is found by halves, and left out."""
    checked = made_or_reason(partial(check_pages, raw, interval, params))
    if not isinstance(checked, str):
        return checked
    if raw.height == 1:
        nothing, _ = check_pages(raw.clear(), interval, params)
        return nothing, [(raw["line"][0], checked)]
    halves = raw[: raw.height // 2], raw[raw.height // 2 :]
    pages, refused = zip(*(_checked(half, interval, params) for half in halves), strict=True)
    return pl.concat(pages), [*refused[0], *refused[1]]


def check_pages(
    raw: pl.DataFrame, interval: Interval, params: CrawlParameters
) -> tuple[pl.DataFrame, list[tuple[int, str]]]:
    """Normalise raw pages, and part those that are none with the first reason why.

    Args:
        raw: Columns of `page.RAW`.
        interval: Pages fetched outside it are rejected, unless the parameters say otherwise.
        params: `[crawl]`.

    Returns:
        The pages, and number and reason of each other record.
    """
    text = normalise_texts(raw["text"])
    address = addresses_of(raw["url"], params.address, params.scheme)
    long = text.str.len_chars() > params.max_text_chars
    if long.any():
        cut = text.str.slice(0, params.max_text_chars).str.strip_chars_end()
        text = pl.select(pl.when(long).then(cut).otherwise(text)).to_series()
    outside = ~pl.col("fetched_at").is_between(interval.start, interval.stop, closed="left")
    checked = raw.with_columns(
        pl.col("fetched_at").fill_null(interval.start),
        without_credentials(one_line(address)).alias("url"),
        url_keys(address).alias("url_key"),
        one_line(raw["title"]).alias("title"),
        text.alias("text"),
        (long | raw["is_part"].fill_null(value=False)).alias("truncated"),
    ).with_columns(
        pl.when(pl.col("url_key").is_null())
        .then(pl.lit("bad_url"))
        .when(outside & (params.interval == "enforce"))
        .then(pl.lit("outside_interval"))
        .when(pl.col("text") == "")
        .then(pl.lit("empty_text"))
        .alias("reason")
    )
    refused = checked.filter(pl.col("reason").is_not_null()).select("line", "reason").rows()
    return checked.filter(pl.col("reason").is_null()).drop("reason", "is_part"), refused


def _read_parquet(source: Source, params: CrawlParameters) -> Iterator[Found]:
    try:
        with pq.ParquetFile(source.path) as file:
            names, size = names_of(params.fields), source.path.stat().st_size
            columns = _columns(file.schema_arrow, source, names, params)
            for number, record in offered_rows(file, size, columns, ROWS, AT_ONCE):
                yield (
                    number,
                    record
                    if isinstance(record, str)
                    else made_or_reason(partial(page_of, record, names, params)),
                )
    except (OSError, ValueError, pa.ArrowException) as error:
        raise FormatError(f"not a readable Parquet file: {error}", source.name) from None


def _columns(schema: pa.Schema, source: Source, names: Names, params: CrawlParameters) -> list[str]:
    """The names that lead to columns: of the address, of times, of texts, and perhaps the title."""
    found = set(named(schema, names.all))
    dated = found & set(names.times) or params.undated == "start"
    if not (names.url in found and dated and found & set(names.texts)):
        raise FormatError(
            f"expected the columns {names.url}, {' or '.join(names.times)}, "
            f"{' or '.join(names.texts)} and perhaps {names.title}, found "
            f"{', '.join(schema.names)}; name them in [crawl.fields]",
            source.name,
        )
    return [name for name in names.all if name in found]
