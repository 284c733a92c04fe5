"""Where an archive goes on after damage: the next place at which a record begins.

Archives are written record by record, so that what crawlers leave half written, disks lose or
people join is one record of many. Plain archives are searched for the line that begins a header,
packed ones for a member that unpacks to such a line. What lies within a damaged record cannot be
told from records; nothing else is searched.
"""

import mmap
import re
import zlib
from collections.abc import Iterator
from functools import partial
from typing import IO, NamedTuple

import zstandard

from builder.ingest.unpacking import GZIP, ZSTD

HEADER = b"WARC/"
PLAIN = re.compile(rb"\r?\n\r?\n(?=WARC/\d\.\d{1,2}\r?\n)")
BLANK = len(b"\r\n\r\n")
WITHIN = re.compile(rb"\r?\n\r?\nWARC/\d\.\d{1,2}\r?\nWARC-")
"""What a body has in it where its record is said to be longer than it is."""
ENDS = re.compile(rb"\r?\n\r?\n|\Z")
"""What comes after a record."""
PACKED = {GZIP: GZIP + b"\x08", ZSTD: ZSTD}
"""How files and their members begin."""
PEEKED = 512
"""Bytes of a member that are enough to see how it begins."""
PIECE = 2**16
MOST_IN_VAIN = 1000
"""Places that are tried one after the other without a record."""


def restart(file: IO[bytes], after: int) -> int | None:
    """The first place at or after one at which a record seems to begin; None where there is none.

    Args:
        file: An archive that is not empty.
        after: A place in it.
    """
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        start = _magic(data)
        if start is None:
            return _plain_place(data, after)
        return next((place for place in _places(data, start, after) if _begins(data, place)), None)


def after_record(file: IO[bytes], place: int, length: int) -> int:
    """A place after the beginning of a record, within it or at its end, near to that.

    Args:
        file: An archive that is not empty.
        place: Where the record begins.
        length: Bytes of its body, unpacked.
    """
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        start = _magic(data)
        if start is None:
            return place + max(1, length)
        member = _member(data, place) if start == PACKED[GZIP] else None
        return place + 1 if member is None else member.end


def shows_record(body: bytes) -> bool:
    """Whether a body has the beginning of a record in it, as one of a page about archives may."""
    return HEADER in body and WITHIN.search(body) is not None


def is_too_long(file: IO[bytes], place: int, length: int, body: bytes | None) -> bool:
    """Whether a record goes on over the one that follows it, as its header says wrongly.

    Args:
        file: An archive that is not empty.
        place: Where the record begins.
        length: Bytes that it says it has, with its headers, unpacked.
        body: The end of it, which shows a record; None where it was not read.
    """
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        start = _magic(data)
        if start is None:
            if place + length > len(data):
                return True
            return body is not None and not ENDS.match(data, data.find(body, place) + len(body))
        size = _size(data, place, start)
        return size is not None and size < length


def unread(file: IO[bytes], place: int) -> int | None:
    """Where an archive of gzip members that seems to end does not; None where it does.

    A member whose own header is damaged may claim all that follows, and looks like the end then.

    Args:
        file: An archive that is not empty.
        place: Where a member of it begins.

    Returns:
        The first member from there on that is damaged or does not end.
    """
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if _magic(data) != PACKED[GZIP]:
            return None
        while data[place : place + PIECE].strip():
            member = _member(data, place)
            if member is None:
                return place
            place = member.end
        return None


def _magic(data: mmap.mmap) -> bytes | None:
    return next((start for magic, start in PACKED.items() if data[: len(magic)] == magic), None)


def _plain_place(data: mmap.mmap, after: int) -> int | None:
    for found in PLAIN.finditer(data, max(0, after - BLANK)):
        if found.end() >= after:
            return found.end()
    return None


def _places(data: mmap.mmap, start: bytes, after: int) -> Iterator[int]:
    place = data.find(start, after)
    while place >= 0:
        yield place
        place = data.find(start, place + 1)


def _begins(data: mmap.mmap, place: int) -> bool:
    """Whether the member at a place unpacks to the beginning of a record."""
    head = data[place : place + PEEKED]
    try:
        if head.startswith(GZIP):
            first = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head, len(HEADER))
        else:
            first = zstandard.ZstdDecompressor().decompressobj().decompress(head)
    except (zlib.error, zstandard.ZstdError):
        return False
    return first.startswith(HEADER) or (head.startswith(ZSTD) and not first)


def _size(data: mmap.mmap, place: int, start: bytes) -> int | None:
    """Bytes of the member at a place, unpacked; None where it is damaged."""
    if start == PACKED[GZIP]:
        member = _member(data, place)
        return None if member is None else member.size
    frame = zstandard.ZstdDecompressor()
    try:
        with memoryview(data) as whole, whole[place:] as rest, frame.stream_reader(rest) as reader:
            return sum(map(len, iter(partial(reader.read, PIECE), b"")))
    except zstandard.ZstdError:
        return None


class _Member(NamedTuple):
    """A gzip member: where it ends, and its bytes unpacked."""

    end: int
    size: int


def _member(data: mmap.mmap, place: int) -> _Member | None:
    """The gzip member at a place; None where it is damaged or does not end."""
    member = zlib.decompressobj(zlib.MAX_WBITS | 16)
    at, size = place, 0
    try:
        while not member.eof:
            piece = member.unconsumed_tail or data[at : at + PIECE]
            if not piece:
                return None
            at += 0 if member.unconsumed_tail else len(piece)
            size += len(member.decompress(piece, PIECE))
    except zlib.error:
        return None
    return _Member(at - len(member.unused_data), size)
