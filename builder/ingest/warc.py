"""WARC -> raw pages: responses with HTML, their main text, title, language and dates.

In: a WARC file, plain or compressed by record. Out: numbered raw pages and rejects. Responses,
revisits, resources and conversions are records here; requests, metadata and the like are not
offered to anything. A revisit has no body: the fetch that it refers to stands for it. A resource is
a page without an HTTP header, a conversion the text that somebody took from a page (WET files).
Transfer and content encodings are undone; what unpacks to more than the limit is a reject and is
never held. A record that the archive calls truncated is a page that is flagged so.
"""

import zlib
from collections.abc import Iterator
from email.message import Message

from fastwarc.warc import ArchiveIterator, WarcRecord, WarcRecordType

from builder.ingest.encodings import decode_body
from builder.ingest.html import HtmlPage, decode, looks_like_html, read_html
from builder.ingest.page import RawPage
from builder.ingest.rejects import RejectError
from builder.parameters import CrawlParameters
from builder.sources import Source

HTML, TEXT = ("text/html", "application/xhtml+xml"), "text/plain"
KINDS = (
    WarcRecordType.response
    | WarcRecordType.revisit
    | WarcRecordType.resource
    | WarcRecordType.conversion
)
"""Kinds of records that are counted."""
Found = tuple[int, RawPage | str]
"""Number of a record, and its page or the reason why it is none."""


def read_warc(source: Source, params: CrawlParameters) -> Iterator[Found]:
    """The pages of a WARC file; a damaged end is one more reject."""
    number = 0
    with source.path.open("rb") as file:
        try:
            records = ArchiveIterator(file, record_types=KINDS)
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
    if record.record_type == WarcRecordType.response:
        return _response(record, params)
    kind, charset = _media_type(record)
    fetched_at = _fetched_at(record, params)
    if record.record_type == WarcRecordType.resource and kind in HTML:
        page = read_html(record.reader.read(), charset, fetched_at)
        return _raw(record, fetched_at, page)
    if record.record_type == WarcRecordType.conversion and kind == TEXT:
        text = decode(record.reader.read(), charset)
        return RawPage(_url(record), fetched_at, "", text, is_part=_is_part(record))
    raise RejectError("not_html")


def _response(record: WarcRecord, params: CrawlParameters) -> RawPage:
    if record.http_headers is None:
        raise RejectError("not_http")
    status = record.http_headers.status_code
    if status != 200:
        raise RejectError(f"http_{status}" if status else "http_without_status")
    kind = (record.http_content_type or "").lower()
    if kind and kind not in HTML:
        raise RejectError("not_html")
    fetched_at = _fetched_at(record, params)
    body = _body(record, params)
    if not kind and not looks_like_html(body):
        raise RejectError("not_html")
    page = read_html(body, record.http_charset, fetched_at)
    modified = page.modified_at
    if modified is None and record.http_last_modified is not None:
        modified = min(int(record.http_last_modified.timestamp()), fetched_at)
    return _raw(record, fetched_at, page._replace(modified_at=modified))


def _raw(record: WarcRecord, fetched_at: int, page: HtmlPage) -> RawPage:
    return RawPage(
        _url(record),
        fetched_at,
        page.title,
        page.text,
        page.language,
        page.published_at,
        page.modified_at,
        _is_part(record),
    )


def _is_part(record: WarcRecord) -> bool:
    """Whether the archive kept the beginning of what it fetched, as `WARC-Truncated` says."""
    return bool(record.headers.get("WARC-Truncated"))


def _url(record: WarcRecord) -> str:
    url = str(record.headers.get("WARC-Target-URI") or "").strip("<>")
    return url.encode("utf-8", "replace").decode()


def _fetched_at(record: WarcRecord, params: CrawlParameters) -> int:
    """Unix seconds of a record that is small enough to be read.

    Raises:
        RejectError: it is too large, or has no time.
    """
    if record.content_length > params.max_record_bytes:
        raise RejectError("record_too_large")
    if record.record_date is None:
        raise RejectError("bad_time")
    return int(record.record_date.timestamp())


def _media_type(record: WarcRecord) -> tuple[str, str | None]:
    """Media type and charset that the record itself gives."""
    header = Message()
    header["Content-Type"] = str(record.headers.get("Content-Type") or "")
    return header.get_content_type(), header.get_content_charset()


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
