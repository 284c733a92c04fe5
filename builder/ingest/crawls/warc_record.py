"""Converts a WARC record to a fetch, or rejects the record with a reason.

Input: a WARC record whose body has not been read. Output: a `FetchedDocument` with the undecoded
body. Records that become fetches are HTTP responses, resources (pages without an HTTP header) and
conversions (extracted text, as in WET files). Revisits have no body and are rejected, and so are
the later segments of a segmented record.
"""

import re
import zlib
from collections.abc import Mapping
from datetime import datetime
from email.message import Message
from functools import partial
from urllib.parse import quote

from fastwarc.warc import WarcRecord, WarcRecordType

from builder.ingest.crawls.dates import parse_date
from builder.ingest.crawls.fetches import BodyType, FetchedDocument
from builder.ingest.rejects import RECORD_TOO_LARGE, RejectError, value_or_reject_reason
from builder.io.file_types import GZIP, ZSTD
from builder.parameters import CrawlParameters

HTML_TYPES, TEXT_TYPE = ("text/html", "application/xhtml+xml"), "text/plain"
UNKNOWN_TYPES = ("", "unknown/unknown", "application/unknown", "*/*")
"""Media types for which browsers sniff the type of a body (WHATWG MIME Sniffing, section 7)."""
NON_FETCH_TYPES = WarcRecordType.warcinfo | WarcRecordType.request | WarcRecordType.metadata
"""Record types that are skipped and become neither pages nor rejects."""
DAY_OF_YEAR = re.compile(r"(\d{4})-(\d\d)-(\d{1,3}T\d\d:\d\d:\d\d(?:Z|[+-]\d{4}))", re.ASCII)
HTTP_LENGTH = re.compile(r"\s*(\d{1,18})\s*", re.ASCII)
ASCII = bytes(range(128))
READ_ERRORS = (OSError, EOFError, RuntimeError, ValueError, zlib.error)
"""Exceptions raised when an archive cannot be read."""


def parse_record(record: WarcRecord, params: CrawlParameters) -> FetchedDocument | str | None:
    """Return the fetch in a WARC record or its reject reason; None if its type is skipped."""
    if _is_skippable(record):
        return None
    return value_or_reject_reason(partial(_read_fetch, record, params), READ_ERRORS)


def has_complete_body(record: WarcRecord) -> bool:
    """Read the body of a record; return whether it is as long as `Content-Length` declares."""
    record.reader.consume()
    has_length = record.headers.get("Content-Length") is not None
    return has_length and record.reader.tell() >= record.content_length


def _is_skippable(record: WarcRecord) -> bool:
    """Whether a record can be skipped because records of its type never contain a fetched page.

    A record of unknown type that has no `Content-Length` has a damaged header and is not skipped.
    """
    if record.record_type == WarcRecordType.unknown:
        return record.headers.get("Content-Length") is not None
    return bool(record.record_type & NON_FETCH_TYPES)


def _read_fetch(record: WarcRecord, params: CrawlParameters) -> FetchedDocument:
    """Convert a response, resource or conversion record to a fetch.

    Raises:
        RejectError: the record is not a fetch of an HTML page or text, is not the first segment of
            a page, is too large, or has no valid time.
    """
    if record.record_type in (WarcRecordType.unknown, WarcRecordType.no_type):
        raise RejectError("bad_header")
    if record.record_type == WarcRecordType.revisit:
        raise RejectError("revisit")
    if record.record_type == WarcRecordType.continuation or _segment_number(record) not in (
        "",
        "1",
    ):
        raise RejectError("segmented_record")
    if record.record_type == WarcRecordType.response:
        return _read_response(record, params)
    media_type, charset = _content_type(record)
    _check_record_size(record, params)
    fetched_at = _read_fetch_time(record)
    if record.record_type == WarcRecordType.resource and media_type in HTML_TYPES:
        kind = BodyType.HTML
    elif record.record_type == WarcRecordType.conversion and media_type == TEXT_TYPE:
        kind = BodyType.TEXT
    else:
        raise RejectError("not_html")
    body = record.reader.read()
    url, is_truncated = _target_url(record), _is_truncated(record, body)
    return FetchedDocument(url, fetched_at, kind, body, charset, is_truncated=is_truncated)


def _read_response(record: WarcRecord, params: CrawlParameters) -> FetchedDocument:
    """Convert a response record with status 200 and an HTML body to a fetch.

    Raises:
        RejectError: the record is not such a response, is too large, or has no valid time.
    """
    if record.is_http:
        record.parse_http(quirks_mode=True)  # servers that end lines with LF alone
    if record.http_headers is None:
        raise RejectError("not_http")
    status = record.http_headers.status_code
    if status != 200:
        raise RejectError(f"http_{status}" if status else "http_without_status")
    media_type = (record.http_content_type or "").lower()
    is_unknown = media_type in UNKNOWN_TYPES
    if not is_unknown and media_type not in HTML_TYPES:
        raise RejectError("not_html")
    _check_record_size(record, params)
    fetched_at = _read_fetch_time(record)
    headers = {name.lower(): value for name, value in record.http_headers.items()}
    modified = parse_date(headers.get("last-modified", ""), fetched_at)
    body = record.reader.read()
    return FetchedDocument(
        _target_url(record),
        fetched_at,
        BodyType.UNKNOWN if is_unknown else BodyType.HTML,
        body,
        record.http_charset,
        transfer_encoding=headers.get("transfer-encoding", ""),
        content_encoding=headers.get("content-encoding", ""),
        modified_at=None if modified is None else min(modified, fetched_at),
        is_truncated=_is_truncated(record, body) or _is_shorter_than_content_length(body, headers),
    )


def _is_truncated(record: WarcRecord, body: bytes) -> bool:
    """Whether a record is marked as truncated or segmented, or has a body that is too short."""
    is_marked = bool(record.headers.get("WARC-Truncated") or _segment_number(record))
    return is_marked or len(body) < record.content_length


def _segment_number(record: WarcRecord) -> str:
    """Return the `WARC-Segment-Number` of a record; empty if the record is not segmented."""
    return (record.headers.get("WARC-Segment-Number") or "").strip()


def _is_shorter_than_content_length(body: bytes, headers: Mapping[str, str]) -> bool:
    """Whether a body is shorter than the `Content-Length` in its HTTP headers.

    `Content-Length` is the length of the encoded body. Therefore, a chunked body, or a body that
    the crawler has decoded, is considered complete without a check.
    """
    encoding = headers.get("content-encoding", "").strip().lower()
    is_as_sent = encoding in ("", "identity") or body.startswith((GZIP, ZSTD))
    length = HTTP_LENGTH.fullmatch(headers.get("content-length", ""))
    if length is None or not is_as_sent or "transfer-encoding" in headers:
        return False
    return len(body) < int(length[1])


def _target_url(record: WarcRecord) -> str:
    """Return the `WARC-Target-URI` of a record without angle brackets; empty if it is missing.

    If the URL is not valid UTF-8, bytes above 127 are percent-encoded.
    """
    url: bytes = (record.headers.get_bytes(b"WARC-Target-URI") or b"").strip(b"<>")
    try:
        return url.decode()
    except UnicodeDecodeError:
        return quote(url, safe=ASCII)


def _check_record_size(record: WarcRecord, params: CrawlParameters) -> None:
    """Raise a RejectError if a record is larger than `crawl.max_record_bytes`."""
    if record.content_length > params.max_record_bytes:
        raise RejectError(RECORD_TOO_LARGE)


def _read_fetch_time(record: WarcRecord) -> int:
    """Return the time at which a record was fetched, in Unix seconds.

    Raises:
        RejectError: the record has no valid time.
    """
    fetched_at = record.record_date or _parse_day_of_year_date(str(record.headers.get("WARC-Date")))
    if fetched_at is None:
        raise RejectError("bad_time")
    return int(fetched_at.timestamp())


def _parse_day_of_year_date(text: str) -> datetime | None:
    """Parse a ClueWeb09 date, which has the day of the year; return None for other dates.

    `2009-03-65T08:43:19-0800` is day 65 of 2009, which must be in the given month.
    """
    match = DAY_OF_YEAR.fullmatch(text)
    if match is None:
        return None
    try:
        parsed = datetime.strptime(f"{match[1]} {match[3]}", "%Y %jT%H:%M:%S%z")
    except ValueError:
        return None
    return parsed if parsed.month == int(match[2]) else None


def _content_type(record: WarcRecord) -> tuple[str, str | None]:
    """Return the media type and charset in the `Content-Type` header of a record."""
    header = Message()
    header["Content-Type"] = str(record.headers.get("Content-Type") or "")
    return header.get_content_type(), header.get_content_charset()
