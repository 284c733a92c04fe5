"""WARC -> raw pages: responses with HTML, their main text, title, language and dates.

In: a WARC file, plain or compressed by record. Out: numbered raw pages and rejects. Responses,
revisits, resources and conversions are records here; requests, metadata and the like are not
offered to anything. A revisit has no body: the fetch that it refers to stands for it. A resource is
a page without an HTTP header, a conversion the text that somebody took from a page (WET files).
A record that the archive calls truncated is a page that is flagged so.

Records are read here one after the other; what their bodies say is found elsewhere, see `fetches`.
"""

import re
import zlib
from collections.abc import Iterator
from datetime import datetime
from email.message import Message
from functools import partial
from typing import IO

from fastwarc.warc import ArchiveIterator, WarcRecord, WarcRecordType

from builder.ingest.crawls.fetches import Body, Fetch, Offered
from builder.ingest.crawls.restarts import (
    MOST_IN_VAIN,
    Stop,
    after_record,
    holds_several,
    is_too_long,
    restart,
    shows_record,
    stop_of,
)
from builder.ingest.rejects import RejectError, made_or_reason
from builder.ingest.unpacking import UnpackedStream, first_bytes
from builder.io.sources import Source
from builder.parameters import CrawlParameters

HTML, TEXT = ("text/html", "application/xhtml+xml"), "text/plain"
OTHERS = (
    WarcRecordType.warcinfo
    | WarcRecordType.request
    | WarcRecordType.metadata
    | WarcRecordType.continuation
)
"""Kinds of records that are no fetches."""
TOO_LARGE, TRUNCATED, DAMAGED = "record_too_large", "file_truncated", "file_damaged"
FIRST_LINE = 16
DAY_OF_YEAR = re.compile(r"(\d{4})-(\d\d)-(\d{1,3}T\d\d:\d\d:\d\d(?:Z|[+-]\d{4}))", re.ASCII)
DAMAGES = (OSError, EOFError, RuntimeError, ValueError, zlib.error)
"""What is raised where an archive cannot be read."""


def read_archive(source: Source, params: CrawlParameters) -> Iterator[Offered]:
    """Every fetch of a WARC file, and a reject for each stretch of it that cannot be read."""
    if not source.path.stat().st_size:
        return
    with source.path.open("rb") as file:
        is_stream = holds_several(file)
    yield from (_streamed if is_stream else _by_record)(source, params)


def _streamed(source: Source, params: CrawlParameters) -> Iterator[Offered]:
    """The records of an archive that was packed as a whole."""
    number, is_quirky = 0, _has_bare_ends(source)
    with UnpackedStream(source) as stream:
        try:
            for record in ArchiveIterator(stream, parse_http=False, quirks_mode=is_quirky):
                offered = None if _is_of_other_kind(record) else _offered(record, params)
                if not _is_whole(record) and stream.fault is not None:
                    break
                if offered is not None:
                    number += 1
                    yield number, offered
        except DAMAGES:
            stream.fault = stream.fault or DAMAGED
        if stream.fault is not None:
            yield number + 1, stream.fault


def _by_record(source: Source, params: CrawlParameters) -> Iterator[Offered]:
    """The records of an archive that is plain, or packed record by record."""
    number, in_vain = 0, 0
    begins: int | None = 0
    is_quirky = _has_bare_ends(source)
    with source.path.open("rb") as file:
        while begins is not None and in_vain <= MOST_IN_VAIN:
            run = _Run(file, begins, params, is_quirky=is_quirky)
            for number, offered in enumerate(run.records(), number + 1):  # noqa: B020
                yield number, offered
            in_vain = 0 if run.has_records else in_vain + 1
            begins = run.resumes


class _Run:
    """Consecutive records of an archive, up to its end or to what cannot be read.

    Attributes:
        has_records: Whether there is a fetch among them.
        resumes: Where the next run begins; None where there is none.
    """

    def __init__(
        self, file: IO[bytes], start: int, params: CrawlParameters, *, is_quirky: bool
    ) -> None:
        self._file, self._start, self._params, self._is_quirky = file, start, params, is_quirky
        self._place, self._length = start, 0
        self.has_records = False
        self.resumes: int | None = None

    def records(self) -> Iterator[Fetch | str]:
        """The fetches, or the reason why each is left out; at last the reason why reading stops."""
        self._file.seek(self._start)
        try:
            for record in ArchiveIterator(
                self._file, parse_http=False, quirks_mode=self._is_quirky
            ):
                self._place, self._length = record.stream_pos, record.content_length
                offered = None if _is_of_other_kind(record) else _offered(record, self._params)
                fault = self._fault_of(record, offered)
                self.has_records |= offered is not None
                if fault is not None:
                    yield fault
                    return
                if offered is not None:
                    yield offered
        except DAMAGES:
            yield from self._damage()
        else:
            yield from self._end()

    def _fault_of(self, record: WarcRecord, offered: Fetch | str | None) -> str | None:
        """Why nothing is read after a record, whose own reason it is; None where something is."""
        too_far = offered is not None and _goes_too_far(self._file, record, self._length, offered)
        if too_far:
            self.resumes = restart(self._file, self._place + 1)
        if self.resumes is None and not _is_whole(record):
            stop = stop_of(self._file, self._place, self._length)
            if stop == Stop(self._place, is_cut=True):
                return TRUNCATED
        return "bad_length" if too_far else None

    def _end(self) -> Iterator[str]:
        """What is wrong with the end of the file."""
        stop = stop_of(self._file, self._place, self._length)
        if stop is not None and (stop.is_cut or not self.has_records or stop.place > self._place):
            yield TRUNCATED if stop.is_cut else DAMAGED
            self.resumes = restart(self._file, stop.place + 1)

    def _damage(self) -> Iterator[str]:
        """What is wrong where the archive cannot be read on."""
        stop = stop_of(self._file, self._place, self._length)
        if stop is not None and stop.is_cut:
            yield TRUNCATED
            return
        if self.has_records or not self._start:
            yield DAMAGED
        after = self._start + 1
        if self.has_records:
            after = max(after, after_record(self._file, self._place, self._length))
        self.resumes = restart(self._file, after)


def _is_whole(record: WarcRecord) -> bool:
    """Whether the body of a record is as long as its header says; what is left of it is read."""
    record.reader.consume()
    given = record.headers.get("Content-Length") is not None
    return given and record.reader.tell() >= record.content_length


def _offered(record: WarcRecord, params: CrawlParameters) -> Fetch | str:
    return made_or_reason(partial(_fetch, record, params), DAMAGES)


def _goes_too_far(file: IO[bytes], record: WarcRecord, length: int, offered: Fetch | str) -> bool:
    """Whether a record of a length takes those that follow for its body.

    Of records whose bodies are not read only those are asked that are too large.
    """
    body = None if isinstance(offered, str) else offered.body
    is_asked = offered == TOO_LARGE if body is None else shows_record(body)
    if not is_asked:
        return False
    head = sum(len(name) + len(value) + 4 for name, value in record.headers.items())
    return is_too_long(file, record.stream_pos, head + length, body)


def _has_bare_ends(source: Source) -> bool:
    """Whether lines of headers end with LF alone, as those of archives made by hand."""
    line, end, _ = first_bytes(source, FIRST_LINE).partition(b"\n")
    return bool(end) and not line.endswith(b"\r")


def _is_of_other_kind(record: WarcRecord) -> bool:
    """Whether a record is none of a fetch; one of an unknown kind is, if its header is damaged."""
    if record.record_type == WarcRecordType.unknown:
        return record.headers.get("Content-Length") is not None
    return bool(record.record_type & OTHERS)


def _fetch(record: WarcRecord, params: CrawlParameters) -> Fetch:
    if record.record_type in (WarcRecordType.unknown, WarcRecordType.no_type):
        raise RejectError("bad_header")
    if record.record_type == WarcRecordType.revisit:
        raise RejectError("revisit")
    if record.record_type == WarcRecordType.response:
        return _response(record, params)
    kind, charset = _media_type(record)
    fetched_at = _fetched_at(record, params)
    if record.record_type == WarcRecordType.resource and kind in HTML:
        body = Body.HTML
    elif record.record_type == WarcRecordType.conversion and kind == TEXT:
        body = Body.TEXT
    else:
        raise RejectError("not_html")
    data = record.reader.read()
    return Fetch(_url(record), fetched_at, body, data, charset, is_part=_is_part(record, data))


def _response(record: WarcRecord, params: CrawlParameters) -> Fetch:
    if record.is_http:
        record.parse_http(quirks_mode=True)  # servers that end lines with LF alone
    if record.http_headers is None:
        raise RejectError("not_http")
    status = record.http_headers.status_code
    if status != 200:
        raise RejectError(f"http_{status}" if status else "http_without_status")
    kind = (record.http_content_type or "").lower()
    if kind and kind not in HTML:
        raise RejectError("not_html")
    fetched_at = _fetched_at(record, params)
    modified = record.http_last_modified
    headers = {name.lower(): value for name, value in record.http_headers.items()}
    data = record.reader.read()
    return Fetch(
        _url(record),
        fetched_at,
        Body.HTML if kind else Body.UNKNOWN,
        data,
        record.http_charset,
        transfer=headers.get("transfer-encoding", ""),
        content=headers.get("content-encoding", ""),
        modified_at=None if modified is None else min(int(modified.timestamp()), fetched_at),
        is_part=_is_part(record, data),
    )


def _is_part(record: WarcRecord, data: bytes) -> bool:
    """Whether the archive kept the beginning of a body, as `WARC-Truncated` says or as it ends."""
    return bool(record.headers.get("WARC-Truncated")) or len(data) < record.content_length


def _url(record: WarcRecord) -> str:
    url = str(record.headers.get("WARC-Target-URI") or "").strip("<>")
    return url.encode("utf-8", "replace").decode()


def _fetched_at(record: WarcRecord, params: CrawlParameters) -> int:
    """Unix seconds of a record that is small enough to be read.

    Raises:
        RejectError: it is too large, or has no time.
    """
    if record.content_length > params.max_record_bytes:
        raise RejectError(TOO_LARGE)
    fetched_at = record.record_date or _on_day_of_year(str(record.headers.get("WARC-Date")))
    if fetched_at is None:
        raise RejectError("bad_time")
    return int(fetched_at.timestamp())


def _on_day_of_year(text: str) -> datetime | None:
    """A time as ClueWeb09 has it: `2009-03-65T08:43:19-0800` is the 65th day, in March."""
    match = DAY_OF_YEAR.fullmatch(text)
    if match is None:
        return None
    try:
        found = datetime.strptime(f"{match[1]} {match[3]}", "%Y %jT%H:%M:%S%z")
    except ValueError:
        return None
    return found if found.month == int(match[2]) else None


def _media_type(record: WarcRecord) -> tuple[str, str | None]:
    """Media type and charset that the record itself gives."""
    header = Message()
    header["Content-Type"] = str(record.headers.get("Content-Type") or "")
    return header.get_content_type(), header.get_content_charset()
