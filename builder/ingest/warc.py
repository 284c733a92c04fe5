"""WARC -> raw pages: responses with HTML, their main text, title, language and dates.

In: a WARC file, plain or compressed by record. Out: numbered raw pages and rejects. Only responses
and revisits are records here; requests, metadata and the like are not offered to anything. A
revisit has no body: the fetch that it refers to stands for it. Transfer and content encodings are
undone; what unpacks to more than the limit is a reject and is never held.
"""

import zlib
from collections.abc import Iterator

from fastwarc.warc import ArchiveIterator, WarcRecord, WarcRecordType

from builder.ingest.encodings import decode_body
from builder.ingest.html import read_html
from builder.ingest.impression import RejectError
from builder.ingest.page import RawPage
from builder.parameters import CrawlParameters
from builder.sources import Source

HTML = ("text/html", "application/xhtml+xml")
Found = tuple[int, RawPage | str]
"""Number of a record, and its page or the reason why it is none."""


def read_warc(source: Source, params: CrawlParameters) -> Iterator[Found]:
    """The pages of a WARC file; a damaged end is one more reject."""
    number = 0
    wanted = WarcRecordType.response | WarcRecordType.revisit
    with source.path.open("rb") as file:
        try:
            records = ArchiveIterator(file, record_types=wanted)
            for number, record in enumerate(records, 1):
                try:
                    yield number, _page(record, params)
                except RejectError as reject:
                    yield number, str(reject)
        except (OSError, EOFError, RuntimeError, ValueError, zlib.error):
            yield number + 1, "file_damaged"


def _page(record: WarcRecord, params: CrawlParameters) -> RawPage:
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
    if record.record_date is None:
        raise RejectError("bad_time")
    url = str(record.headers.get("WARC-Target-URI") or "").strip("<>")
    fetched_at = int(record.record_date.timestamp())
    page = read_html(_body(record, params), record.http_charset, fetched_at)
    modified = page.modified_at
    if modified is None and record.http_last_modified is not None:
        modified = min(int(record.http_last_modified.timestamp()), fetched_at)
    return RawPage(
        url.encode("utf-8", "replace").decode(),
        fetched_at,
        page.title,
        page.text,
        page.language,
        page.published_at,
        modified,
    )


def _body(record: WarcRecord, params: CrawlParameters) -> bytes:
    """The decoded body of a response.

    Raises:
        RejectError: it cannot be decoded, or is too large.
    """
    headers = {name.lower(): value for name, value in record.http_headers.items()}
    return decode_body(
        record.reader.read(),
        headers.get("transfer-encoding", ""),
        headers.get("content-encoding", ""),
        params.max_record_bytes,
    )
