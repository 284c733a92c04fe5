"""Reads the fetches in plain or compressed WARC archives, and continues after damaged parts.

Input: a WARC file. Output: for each record, its number and its fetch or reject reason. Only
responses, revisits, resources, conversions and continuations are numbered; other record types are
skipped. `warc_headers` converts header names, `warc_record` converts a record to a fetch,
`warc_recovery` finds the next record after damage, and `fetches` parses the bodies.
"""

from collections.abc import Iterator
from typing import IO

from fastwarc.warc import ArchiveIterator, WarcRecord

from builder.ingest.crawls.fetches import FetchedDocument, NumberedFetch
from builder.ingest.crawls.warc_headers import StandardHeaderStream, has_standard_header_names
from builder.ingest.crawls.warc_record import (
    READ_ERRORS,
    has_complete_body,
    parse_record,
)
from builder.ingest.crawls.warc_recovery import (
    MAX_EMPTY_RESTARTS,
    UnreadablePart,
    contains_record_start,
    find_next_record,
    find_record_after_member,
    find_unreadable_part,
    includes_next_record,
    is_compressed_as_one_stream,
    next_search_offset,
)
from builder.ingest.decompression import DecompressedStream, read_head
from builder.ingest.rejects import FILE_DAMAGED, FILE_TRUNCATED, RECORD_TOO_LARGE
from builder.io.sources import Source
from builder.parameters import CrawlParameters

FIRST_LINE_BYTES = 16


def read_archive_fetches(source: Source, params: CrawlParameters) -> Iterator[NumberedFetch]:
    """For each record of a WARC archive, yield its number and its fetch or reject reason.

    Each unreadable part of the archive yields a reject reason.
    """
    if not source.path.stat().st_size:
        return
    with source.path.open("rb") as file:
        is_stream = is_compressed_as_one_stream(file)
    if not has_standard_header_names(source):
        yield from _read_single_stream(source, params, StandardHeaderStream(source))
    elif is_stream:
        yield from _read_single_stream(source, params, DecompressedStream(source))
    else:
        yield from _read_individual_records(source, params)


def _read_single_stream(
    source: Source, params: CrawlParameters, stream: DecompressedStream
) -> Iterator[NumberedFetch]:
    """For each record of an archive, yield its number and its fetch or reject reason.

    Args:
        source: The archive, compressed as one stream or with header names that must be converted.
        params: Section `[crawl]` of the definition.
        stream: Decompressed bytes of the archive; closed at the end.
    """
    number, has_lf_headers = 0, _has_lf_headers(source)
    with stream:
        try:
            for record in ArchiveIterator(stream, parse_http=False, quirks_mode=has_lf_headers):
                fetch = parse_record(record, params)
                if not has_complete_body(record) and stream.fault is not None:
                    break
                if fetch is not None:
                    number += 1
                    yield number, fetch
        except READ_ERRORS:
            stream.fault = stream.fault or FILE_DAMAGED
        if stream.fault is not None:
            yield number + 1, stream.fault


def _read_individual_records(source: Source, params: CrawlParameters) -> Iterator[NumberedFetch]:
    """For each record of an archive, yield its number and its fetch or reject reason.

    The records must have been compressed separately or not at all.
    """
    number, empty_restarts = 0, 0
    start: int | None = 0
    has_lf_headers = _has_lf_headers(source)
    with source.path.open("rb") as file:
        while start is not None and empty_restarts <= MAX_EMPTY_RESTARTS:
            reader = _RecordReader(file, start, params, has_lf_headers=has_lf_headers)
            for number, fetch in enumerate(reader.read_fetches(), number + 1):  # noqa: B020
                yield number, fetch
            empty_restarts = 0 if reader.has_fetches else empty_restarts + 1
            start = reader.next_start


class _RecordReader:
    """Reader of WARC records from an offset to the first unreadable part or the end of the file.

    Attributes:
        has_fetches: Whether any record was a fetch, accepted or rejected.
        next_start: Offset of the next record after an unreadable part; None if there is none.
    """

    def __init__(
        self, file: IO[bytes], start: int, params: CrawlParameters, *, has_lf_headers: bool
    ) -> None:
        self._file, self._start, self._params = file, start, params
        self._has_lf_headers = has_lf_headers
        self._offset, self._length = start, 0
        self.has_fetches = False
        self.next_start: int | None = None

    def read_fetches(self) -> Iterator[FetchedDocument | str]:
        """Yield the fetch or reject reason of each record, and a reject reason if reading fails."""
        self._file.seek(self._start)
        try:
            for record in ArchiveIterator(
                self._file, parse_http=False, quirks_mode=self._has_lf_headers
            ):
                self._offset, self._length = record.stream_pos, record.content_length
                fetch = parse_record(record, self._params)
                fault = self._check_record_length(record, fetch)
                self.has_fetches |= fetch is not None
                if fault is not None:
                    yield fault
                    return
                if fetch is not None:
                    yield fetch
        except READ_ERRORS:
            yield from self._recover_after_error()
        else:
            yield from self._check_archive_end()

    def _check_record_length(
        self, record: WarcRecord, fetch: FetchedDocument | str | None
    ) -> str | None:
        """Return a reject reason if a record is truncated or declares a wrong length; else None."""
        is_overrun = fetch is not None and _includes_next_record(
            self._file, record, self._length, fetch
        )
        if is_overrun:
            self.next_start = find_next_record(self._file, self._offset + 1)
        if self.next_start is None and not has_complete_body(record):
            unreadable = find_unreadable_part(self._file, self._offset, self._length)
            if unreadable == UnreadablePart(self._offset, is_truncated=True):
                return FILE_TRUNCATED
        return "bad_length" if is_overrun else None

    def _check_archive_end(self) -> Iterator[str]:
        """Yield a reject reason if the last record is truncated or followed by unreadable data.

        If a record follows, for example after an empty gzip member, set `next_start` to its offset.
        """
        unreadable = find_unreadable_part(self._file, self._offset, self._length)
        if unreadable is None:
            self.next_start = find_record_after_member(self._file, self._offset)
        if unreadable is not None and (
            unreadable.is_truncated or not self.has_fetches or unreadable.offset > self._offset
        ):
            yield FILE_TRUNCATED if unreadable.is_truncated else FILE_DAMAGED
            self.next_start = find_next_record(self._file, unreadable.offset + 1)

    def _recover_after_error(self) -> Iterator[str]:
        """After a read error, yield a reject reason, and set `next_start` to the next record.

        No reason is yielded if there was no fetch since the previous error. If the archive is
        truncated, `next_start` remains None.
        """
        unreadable = find_unreadable_part(self._file, self._offset, self._length)
        if unreadable is not None and unreadable.is_truncated:
            yield FILE_TRUNCATED
            return
        if self.has_fetches or not self._start:
            yield FILE_DAMAGED
        start = self._start + 1
        if self.has_fetches:
            start = max(start, next_search_offset(self._file, self._offset, self._length))
        self.next_start = find_next_record(self._file, start)


def _includes_next_record(
    file: IO[bytes], record: WarcRecord, body_length: int, fetch: FetchedDocument | str
) -> bool:
    """Return whether the declared length of a record is so large that it runs into the next record.

    The check is made only if the body contains the start of a record or was too large to read.
    """
    body = None if isinstance(fetch, str) else fetch.body
    is_suspicious = fetch == RECORD_TOO_LARGE if body is None else contains_record_start(body)
    if not is_suspicious:
        return False
    header_bytes = sum(len(name) + len(value) + 4 for name, value in record.headers.items())
    return includes_next_record(file, record.stream_pos, header_bytes + body_length, body)


def _has_lf_headers(source: Source) -> bool:
    """Whether the header lines of an archive end with LF instead of CRLF."""
    line, end, _ = read_head(source, FIRST_LINE_BYTES).partition(b"\n")
    return bool(end) and not line.endswith(b"\r")
