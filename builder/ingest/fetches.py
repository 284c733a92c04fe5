"""Records of an archive -> raw pages: what their bodies say, found wherever the executor works.

In: what an archive holds of some fetches. Out: a raw page for each, or the reason why it is none.
Transfer and content encodings are undone; what unpacks to more than the limit is a reject and is
never held.
"""

from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from builder.ingest.encodings import decode_body
from builder.ingest.html import decode, looks_like_html, read_html
from builder.ingest.page import RawPage
from builder.ingest.rejects import RejectError
from builder.parameters import CrawlParameters
from builder.resources import Limits

Found = tuple[int, RawPage | str]
"""Number of a record, and its page or the reason why it is none."""


class Body(Enum):
    """What a body is: HTML, plain text, or HTML only where it looks like it."""

    HTML = auto()
    TEXT = auto()
    UNKNOWN = auto()


class Fetch(NamedTuple):
    """A record that may be a page, its body as it stands in the archive; times in unix seconds.

    `transfer` and `content` are the encodings of the body, `modified_at` what the server said.
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


Offered = tuple[int, Fetch | str]
"""Number of a record, and what it holds or the reason why it is no page."""


@dataclass(frozen=True)
class Batch:
    """Consecutive records of an archive."""

    archive: str
    records: tuple[Offered, ...]

    def __str__(self) -> str:
        return f"records {self.records[0][0]} to {self.records[-1][0]} of {self.archive}"


def read_batch(batch: Batch, _: Limits, params: CrawlParameters) -> list[Found]:
    """The pages of some records, in their order."""
    return [
        (number, fetch if isinstance(fetch, str) else _page_or_reason(fetch, params))
        for number, fetch in batch.records
    ]


def _page_or_reason(fetch: Fetch, params: CrawlParameters) -> RawPage | str:
    try:
        return read_page(fetch, params)
    except RejectError as reject:
        return str(reject)


def read_page(fetch: Fetch, params: CrawlParameters) -> RawPage:
    """The page that a record holds.

    Raises:
        RejectError: its body cannot be decoded, is too large, or is no page.
    """
    body = decode_body(fetch.body, fetch.transfer, fetch.content, params.max_record_bytes)
    if fetch.kind is Body.TEXT:
        text = decode(body, fetch.charset or "utf-8")
        return RawPage(fetch.url, fetch.fetched_at, "", text, is_part=fetch.is_part)
    if fetch.kind is Body.UNKNOWN and not looks_like_html(body):
        raise RejectError("not_html")
    page = read_html(body, fetch.charset, fetch.fetched_at)
    return RawPage(
        fetch.url,
        fetch.fetched_at,
        page.title,
        page.text,
        page.language,
        page.published_at,
        fetch.modified_at if page.modified_at is None else page.modified_at,
        fetch.is_part,
    )
