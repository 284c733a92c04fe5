"""Fetches with bodies -> raw pages: what the bodies say, found wherever the executor works.

In: what a crawl holds of some fetches. Out: a raw page for each, or the reason why it is none.
Transfer and content encodings are undone; what unpacks to more than the limit is a reject and is
never held. Bodies are read by the executor, some at a time.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from itertools import chain
from typing import NamedTuple

from builder.ingest.crawls.charsets import UTF8, decode
from builder.ingest.crawls.encodings import decode_body
from builder.ingest.crawls.html import looks_like_html, read_html
from builder.ingest.crawls.page import RawPage
from builder.ingest.rejects import RejectError, made_or_reason
from builder.io.sources import Source
from builder.parameters import CrawlParameters
from builder.runtime.executors import map_partitions, process_pool
from builder.runtime.limits import Limits

LARGE = 32 * 2**20
"""Bytes of files from which it pays to start processes that read its pages."""
WORKER_BYTES = 256 * 2**20
"""Memory that such a process takes."""
BATCH_BYTES = 4 * 2**20
BATCH_RECORDS = 512

Found = tuple[int, RawPage | str]
"""Number of a record, and its page or the reason why it is none."""


class Body(Enum):
    """What a body is: HTML, plain text, or HTML only where it looks like it."""

    HTML = auto()
    TEXT = auto()
    UNKNOWN = auto()


class Fetch(NamedTuple):
    """A record that may be a page, its body as it stands in the crawl; times in unix seconds.

    `transfer` and `content` are the encodings of the body, `modified_at` what the server said,
    `title` what the crawl says beside the body.
    """

    url: str
    fetched_at: int
    kind: Body
    body: bytes
    charset: str | None
    transfer: str = ""
    content: str = ""
    modified_at: int | None = None
    is_part: bool = False
    title: str = ""


Offered = tuple[int, Fetch | str]
"""Number of a record, and what it holds or the reason why it is no page."""


@dataclass(frozen=True)
class Batch:
    """Consecutive records of a crawl file."""

    file: str
    records: tuple[Offered, ...]

    def __str__(self) -> str:
        return f"records {self.records[0][0]} to {self.records[-1][0]} of {self.file}"


def read_fetches(
    offered: Iterable[Offered], source: Source, params: CrawlParameters, limits: Limits
) -> Iterator[Found]:
    """The pages of a crawl file, in the order of its records.

    Args:
        offered: Its records.
        source: The file.
        params: `[crawl]`.
        limits: Threads, memory and executor.
    """
    task, batches = partial(read_batch, params=params), _batches(offered, source)
    yield from chain.from_iterable(map_partitions(task, batches, limits))


def parsing(files: Sequence[Source], limits: Limits) -> AbstractContextManager[Limits]:
    """Limits under which the pages of some files are read.

    One thread of a process alone parses HTML at a time. Where the files are large, processes are
    started with the first of them that has any, and kept until the last is read.
    """
    return process_pool(limits, sum(map(_size, files)), LARGE, WORKER_BYTES)


def _size(file: Source) -> int:
    """Bytes of a file; 0 where there is none to be read, which is told when it is."""
    try:
        return file.path.stat().st_size
    except OSError:
        return 0


def _batches(offered: Iterable[Offered], source: Source) -> Iterator[Batch]:
    """The records of a file, some at a time."""
    batch: list[Offered] = []
    held = 0
    for number, fetch in offered:
        batch.append((number, fetch))
        held += 0 if isinstance(fetch, str) else len(fetch.body)
        if held >= BATCH_BYTES or len(batch) == BATCH_RECORDS:
            yield Batch(source.name, tuple(batch))
            batch, held = [], 0
    if batch:
        yield Batch(source.name, tuple(batch))


def read_batch(batch: Batch, _: Limits, params: CrawlParameters) -> list[Found]:
    """The pages of some records, in their order."""
    return [
        (
            number,
            fetch if isinstance(fetch, str) else made_or_reason(partial(read_page, fetch, params)),
        )
        for number, fetch in batch.records
    ]


def read_page(fetch: Fetch, params: CrawlParameters) -> RawPage:
    """The page that a record holds.

    Raises:
        RejectError: its body cannot be decoded, is too large, or is no page.
    """
    body = decode_body(fetch.body, fetch.transfer, fetch.content, params.max_record_bytes)
    if fetch.kind is Body.TEXT:
        text = decode(body, fetch.charset or UTF8, is_html=False)
        return RawPage(fetch.url, fetch.fetched_at, "", text, is_part=fetch.is_part)
    if fetch.kind is Body.UNKNOWN and not looks_like_html(body):
        raise RejectError("not_html")
    page = read_html(body, fetch.charset, fetch.fetched_at)
    return RawPage(
        fetch.url,
        fetch.fetched_at,
        fetch.title or page.title,
        page.text,
        page.language,
        page.published_at,
        fetch.modified_at if page.modified_at is None else page.modified_at,
        fetch.is_part,
    )
