"""Finds the next intact record in a damaged WARC archive.

Uncompressed archives are searched for the version line of a record header, compressed archives for
a member (gzip member or zstd frame) that decompresses to such a line. A copy of a record header in
the body of a damaged record cannot be distinguished from a real record.
"""

import mmap
import re
from functools import partial
from itertools import islice
from typing import IO, NamedTuple

from builder.ingest.crawls.warc_members import (
    GZIP_CHUNK,
    MEMBER_MAGIC,
    PEEK_BYTES,
    WARC_MAGIC,
    decompress_member,
    decompressed_member_size,
    find_occurrences,
    may_be_record_start,
    member_magic,
    read_member,
)
from builder.ingest.zstd_dictionary import DICTIONARY_FRAME
from builder.io.file_types import GZIP, ZSTD_START

RECORD_BOUNDARY = re.compile(rb"\r?\n\r?\n(?=WARC/\d\.\d{1,2}\r?\n)")
BLANK = len(b"\r\n\r\n")
EMBEDDED_RECORD = re.compile(rb"\r?\n\r?\nWARC/\d\.\d{1,2}\r?\nWARC-")
"""Matches the start of a record within a body, which suggests that the declared length of the body
is too large."""
BLANK_LINE_OR_END = re.compile(rb"\r?\n\r?\n|\Z")
"""Matches what must follow a complete WARC record."""
HEADER_CHUNKS = 16
HEADER_END, RECORD_END = re.compile(rb"\r?\n\r?\n"), re.compile(rb"\r?\n\r?\n")
CONTENT_LENGTH = re.compile(rb"^content-length\s*:\s*(\d{1,18})", re.IGNORECASE | re.MULTILINE)
MAX_EMPTY_RESTARTS = 1000
"""Maximum number of consecutive restarts that yield no fetch, after which reading stops."""


def find_next_record(file: IO[bytes], start: int) -> int | None:
    """Return the offset of the first record that starts at or after `start`; None if there is none.

    Args:
        file: A non-empty archive.
        start: Offset at which the search starts.
    """
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        magic = member_magic(data)
        if magic is None:
            return _find_uncompressed_record(data, start)
        return next(
            (
                offset
                for offset in find_occurrences(data, magic, start)
                if may_be_record_start(data, offset)
            ),
            None,
        )


def find_record_after_member(file: IO[bytes], member_offset: int) -> int | None:
    """Return the offset of the first record after a compressed member; None if there is none.

    FastWARC stops reading at an empty member, although records may follow it. If the archive is not
    compressed, return None.

    Args:
        file: A non-empty archive.
        member_offset: Offset of an intact member.
    """
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        magic = member_magic(data)
        member = None if magic is None else read_member(data, member_offset, magic)
    return None if member is None else find_next_record(file, member.end)


def next_search_offset(file: IO[bytes], record_offset: int, body_length: int) -> int:
    """Return the offset from which to search for the record that follows a given record.

    The offset is after the start of the given record, but not after its end.

    Args:
        file: A non-empty archive.
        record_offset: Offset of the record.
        body_length: Size of the record's decompressed body in bytes.
    """
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        magic = member_magic(data)
        if magic is None:
            return record_offset + max(1, body_length)
        member = read_member(data, record_offset, magic) if magic == MEMBER_MAGIC[GZIP] else None
        return member.end if member is not None and member.is_complete else record_offset + 1


def contains_record_start(body: bytes) -> bool:
    """Whether a body contains the start of a WARC record."""
    return WARC_MAGIC in body and EMBEDDED_RECORD.search(body) is not None


def includes_next_record(
    file: IO[bytes], record_offset: int, record_length: int, body: bytes | None
) -> bool:
    """Return whether the declared length of a record is so large that it runs into the next record.

    Args:
        file: A non-empty archive.
        record_offset: Offset of the record.
        record_length: Declared size of the decompressed headers and body in bytes.
        body: Body in which a record signature was found (see `contains_record_start`); None if the
            body was not read.
    """
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        magic = member_magic(data)
        if magic is None:
            if record_offset + record_length > len(data):
                return True
            return body is not None and not BLANK_LINE_OR_END.match(
                data, data.find(body, record_offset) + len(body)
            )
        size = decompressed_member_size(data, record_offset, magic)
        return size is not None and size < record_length


class UnreadablePart(NamedTuple):
    """Part of an archive that cannot be read.

    Args:
        offset: Offset of the unreadable record or compressed member.
        is_truncated: Whether the file ends within this record or member, and no other record
            starts after `offset`.
    """

    offset: int
    is_truncated: bool


def find_unreadable_part(
    file: IO[bytes], offset: int, body_length: int = 0
) -> UnreadablePart | None:
    """Find the first unreadable part at or after an offset; None if everything can be read.

    A gzip member with a damaged header may seem to extend to the end of the file; therefore, a part
    is considered truncated only if no record starts after it.

    Args:
        file: A non-empty archive.
        offset: Offset at which a record starts or should start.
        body_length: Declared length of the record's body in bytes; used for uncompressed archives.
    """
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        magic = member_magic(data)
        if magic is None:
            return (
                UnreadablePart(offset, is_truncated=True)
                if _is_truncated(data, offset, body_length)
                else None
            )
        while data[offset : offset + GZIP_CHUNK].strip():
            member = read_member(data, offset, magic)
            if member is None or not member.is_complete:
                is_last = next(
                    filter(
                        partial(may_be_record_start, data),
                        find_occurrences(data, magic, offset + 1),
                    ),
                    -1,
                )
                return UnreadablePart(offset, is_truncated=member is not None and is_last < 0)
            offset = member.end
        return None


def _is_truncated(data: mmap.mmap, record_offset: int, body_length: int) -> bool:
    """Whether an uncompressed archive ends within a record, or within the header of the next one.

    Args:
        data: The archive.
        record_offset: Offset of the record.
        body_length: Declared length of the record's body in bytes.
    """
    header = HEADER_END.search(data, record_offset)
    if header is None:
        return _starts_with_record_signature(data[record_offset : record_offset + PEEK_BYTES])
    rest = data[header.end() + body_length : header.end() + body_length + PEEK_BYTES]
    end = RECORD_END.match(rest)
    return (
        _starts_with_record_signature(rest[end.end() :].lstrip(b"\r\n"))
        if end
        else not rest.strip(b"\r\n")
    )


def _starts_with_record_signature(data: bytes) -> bool:
    """Whether bytes start with the signature of a WARC record, or are a prefix of a signature."""
    starts = (WARC_MAGIC, *MEMBER_MAGIC.values(), DICTIONARY_FRAME)
    return bool(data) and (data.startswith(WARC_MAGIC) or any(s.startswith(data) for s in starts))


def is_compressed_as_one_stream(file: IO[bytes]) -> bool:
    """Whether an archive was compressed as one stream instead of record by record.

    An archive that starts with a skippable frame is treated as one stream, because its records may
    need the dictionary in this frame.

    Args:
        file: A non-empty archive.
    """
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        magic = member_magic(data)
        if magic is None:
            return ZSTD_START.match(data) is not None
        head = b"".join(islice(decompress_member(data, 0, magic), HEADER_CHUNKS))
        header, length = HEADER_END.search(head), CONTENT_LENGTH.search(head)
        if header is None or length is None or length.end() > header.end():
            return False
        size, max_record_bytes = 0, header.end() + int(length[1]) + 2 * BLANK
        for chunk in decompress_member(data, 0, magic):
            size += len(chunk)
            if size > max_record_bytes:
                return True
        return False


def _find_uncompressed_record(data: mmap.mmap, start: int) -> int | None:
    """Return the offset of the first record header at or after `start`; None if there is none.

    The archive must be uncompressed.
    """
    for boundary in RECORD_BOUNDARY.finditer(data, max(0, start - BLANK)):
        if boundary.end() >= start:
            return boundary.end()
    return None
