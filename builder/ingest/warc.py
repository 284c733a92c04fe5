"""WARC -> pages: responses with HTML, their main text, title and date.

In: a WARC file, plain or compressed by record. Out: numbered pages and rejects. Only responses and
revisits are records here; requests, metadata and the like are not offered to anything. The charset
is told by a byte order mark, then the HTTP header, then the page itself (meta, statistics).
"""

import codecs
from collections.abc import Iterator

from fastwarc.warc import ArchiveIterator, WarcRecord, WarcRecordType
from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import bytes_to_str, detect_encoding
from resiliparse.parse.html import HTMLTree

from builder.ingest.impression import RejectError
from builder.ingest.page import Page, make_page
from builder.parameters import CrawlParameters
from builder.sources import Interval, Source

MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
HTML = ("text/html", "application/xhtml+xml")
Found = tuple[int, Page | str]
"""Number of a record, and its page or the reason why it is none."""


def read_warc(source: Source, interval: Interval, params: CrawlParameters) -> Iterator[Found]:
    """The pages of a WARC file; a damaged end is one more reject."""
    number = 0
    wanted = WarcRecordType.response | WarcRecordType.revisit
    with source.path.open("rb") as file:
        try:
            for number, record in enumerate(ArchiveIterator(file, record_types=wanted), 1):
                try:
                    yield number, _page(record, interval, params)
                except RejectError as reject:
                    yield number, str(reject)
        except (OSError, RuntimeError, ValueError):
            yield number + 1, "file_damaged"


def _page(record: WarcRecord, interval: Interval, params: CrawlParameters) -> Page:
    if record.record_type == WarcRecordType.revisit:
        raise RejectError("revisit")
    if record.http_headers is None:
        raise RejectError("not_http")
    status = record.http_headers.status_code
    if status != 200:
        raise RejectError(f"http_{status}" if status else "http_without_status")
    if (record.http_content_type or "").lower() not in HTML:
        raise RejectError("not_html")
    if record.content_length > params.max_record_bytes:
        raise RejectError("record_too_large")
    url = str(record.headers.get("WARC-Target-URI") or "").strip("<>")
    time = int(record.record_date.timestamp()) if record.record_date else None
    title, text = read_html(record.reader.read(), record.http_charset)
    return make_page(url, time, title, text, interval, params)


def read_html(body: bytes, charset: str | None) -> tuple[str, str]:
    """Title and main text of an HTML page.

    Args:
        body: The page's bytes.
        charset: What the HTTP header says, if anything.

    Raises:
        RejectError: the page cannot be parsed.
    """
    mark, encoding = next(((m, e) for m, e in MARKS if body.startswith(m)), (b"", None))
    encoding = encoding or _known(charset) or detect_encoding(body) or "utf-8"
    markup = bytes_to_str(body[len(mark) :], encoding)
    try:
        tree = HTMLTree.parse(markup)
        return tree.title or "", extract_plain_text(tree, main_content=True, alt_texts=False)
    except (RuntimeError, ValueError):
        raise RejectError("not_html") from None


def _known(charset: str | None) -> str | None:
    """A charset that Python knows, or None."""
    try:
        return codecs.lookup(charset).name if charset else None
    except LookupError:
        return None
