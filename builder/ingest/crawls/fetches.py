"""Converts fetched documents to raw pages, in parallel if the crawl files are large.

Input: fetches with undecoded bodies. Output: one raw page or reject reason per fetch. Transfer and
content encodings are decoded; decoding stops, and the fetch is rejected, if the body exceeds a size
limit. The executor parses the bodies in batches.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from itertools import chain
from typing import NamedTuple

from builder.ingest.crawls.charsets import UTF8, decode
from builder.ingest.crawls.html import has_binary_signature, looks_like_html, parse_html
from builder.ingest.crawls.http_encodings import decode_body
from builder.ingest.crawls.page import RawPage
from builder.ingest.rejects import RejectError, value_or_reject_reason
from builder.io.sources import Source
from builder.parameters import CrawlParameters
from builder.runtime.executors import map_partitions, process_pool
from builder.runtime.limits import ResourceLimits

MIN_POOL_BYTES = 32 * 2**20
"""Minimum total size of the files in bytes for which worker processes are started."""
WORKER_BYTES = 256 * 2**20
"""Memory that a worker process needs, in bytes."""
BATCH_BYTES = 4 * 2**20
BATCH_RECORDS = 512

NumberedPage = tuple[int, RawPage | str]
"""1-based number of a record in its file, and its raw page or reject reason."""


class BodyType(Enum):
    """Type of a fetched body: HTML, plain text, or unknown (rejected unless it looks like HTML)."""

    HTML = auto()
    TEXT = auto()
    UNKNOWN = auto()


class FetchedDocument(NamedTuple):
    """Fetched document with its undecoded body.

    Args:
        url: URL of the document.
        fetched_at: Fetch time in Unix seconds.
        body_type: Type of the body.
        body: Body as stored, with transfer and content encodings.
        charset: Charset label from a header; None if missing.
        transfer_encoding: HTTP header `Transfer-Encoding`, or an empty string.
        content_encoding: HTTP header `Content-Encoding`, or an empty string.
        modified_at: HTTP header `Last-Modified` in Unix seconds; None if missing.
        is_truncated: Whether the body is known to be incomplete.
        title: Title from the metadata of the crawl; empty if missing.
        is_undated: Whether the crawl does not say when the document was fetched.
    """

    url: str
    fetched_at: int
    body_type: BodyType
    body: bytes
    charset: str | None
    transfer_encoding: str = ""
    content_encoding: str = ""
    modified_at: int | None = None
    is_truncated: bool = False
    title: str = ""
    is_undated: bool = False


NumberedFetch = tuple[int, FetchedDocument | str]
"""1-based number of a record in its file, and its fetch or reject reason."""


@dataclass(frozen=True)
class FetchBatch:
    """Batch of consecutive records of a crawl file, each a numbered fetch or reject reason."""

    file: str
    records: tuple[NumberedFetch, ...]

    def __str__(self) -> str:
        return f"records {self.records[0][0]} to {self.records[-1][0]} of {self.file}"


def parse_fetches(
    fetches: Iterable[NumberedFetch],
    source: Source,
    params: CrawlParameters,
    limits: ResourceLimits,
) -> Iterator[NumberedPage]:
    """For each record of a crawl file, yield its number and its raw page or reject reason.

    Args:
        fetches: Numbered fetches and reject reasons of the file.
        source: The crawl file, for error messages.
        params: Section `[crawl]` of the definition.
        limits: Number of threads, memory limit and executor.
    """
    task, batches = partial(parse_batch, params=params), _group_into_batches(fetches, source)
    yield from chain.from_iterable(map_partitions(task, batches, limits))


def limits_with_parser_pool(
    files: Sequence[Source], limits: ResourceLimits
) -> AbstractContextManager[ResourceLimits]:
    """Context manager that adds a process pool to the given limits if the files are large.

    Since a process can parse only one HTML page at a time, large files are parsed by several
    processes. For small files, no process is started.
    """
    return process_pool(limits, sum(map(_file_size_or_zero, files)), MIN_POOL_BYTES, WORKER_BYTES)


def _file_size_or_zero(file: Source) -> int:
    """Return the size of a file in bytes; 0 if it is missing, which is reported later."""
    try:
        return file.path.stat().st_size
    except OSError:
        return 0


def _group_into_batches(fetches: Iterable[NumberedFetch], source: Source) -> Iterator[FetchBatch]:
    """Group the records of a crawl file into batches with a limited number of bytes and records."""
    batch: list[NumberedFetch] = []
    size = 0
    for number, fetch in fetches:
        batch.append((number, fetch))
        size += 0 if isinstance(fetch, str) else len(fetch.body)
        if size >= BATCH_BYTES or len(batch) == BATCH_RECORDS:
            yield FetchBatch(source.name, tuple(batch))
            batch, size = [], 0
    if batch:
        yield FetchBatch(source.name, tuple(batch))


def parse_batch(
    batch: FetchBatch, _: ResourceLimits, params: CrawlParameters
) -> list[NumberedPage]:
    """Parse a batch of fetches; return each record's number with its raw page or reject reason."""
    return [
        (
            number,
            fetch
            if isinstance(fetch, str)
            else value_or_reject_reason(partial(parse_fetch, fetch, params)),
        )
        for number, fetch in batch.records
    ]


def parse_fetch(fetch: FetchedDocument, params: CrawlParameters) -> RawPage:
    """Decode and parse the body of a fetch, and return the raw page.

    Raises:
        RejectError: the body cannot be decoded, is too large, or is neither HTML nor plain text.
    """
    body, ends_early = decode_body(
        fetch.body, fetch.transfer_encoding, fetch.content_encoding, params.max_record_bytes
    )
    is_truncated = fetch.is_truncated or ends_early
    if fetch.body_type is BodyType.TEXT:
        text = decode(body, fetch.charset or UTF8, is_html=False)
        return RawPage(fetch.url, fetch.fetched_at, "", text, is_truncated=is_truncated)
    if has_binary_signature(body) or (
        fetch.body_type is BodyType.UNKNOWN and not looks_like_html(body)
    ):
        raise RejectError("not_html")
    page = parse_html(body, fetch.charset, fetch.fetched_at)
    return RawPage(
        fetch.url,
        None if fetch.is_undated else fetch.fetched_at,
        fetch.title or page.title,
        page.text,
        page.language,
        page.published_at,
        fetch.modified_at if page.modified_at is None else page.modified_at,
        is_truncated,
    )
