"""Where an archive goes on after damage: the next place at which a record begins.

Archives are written record by record, so that what crawlers leave half written, disks lose or
people join is one record of many. Plain archives are searched for the line that begins a header,
packed ones for a member that unpacks to such a line. What lies within a damaged record cannot be
told from records; nothing else is searched.
"""

import mmap
import re
import zlib
from collections.abc import Generator, Iterator
from functools import partial
from itertools import islice
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
PIECE, PIECE_OF_FRAME = 2**16, 2**10
"""Bytes that are unpacked together; a zstd frame may have 128 KiB in four of them."""
HEADER_PIECES = 16
HEADER_END, RECORD_END = re.compile(rb"\r?\n\r?\n"), re.compile(rb"\r?\n\r?\n")
LENGTH = re.compile(rb"^content-length\s*:\s*(\d{1,18})", re.IGNORECASE | re.MULTILINE)
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
        member = _member(data, place, start) if start == PACKED[GZIP] else None
        return member.end if member is not None and member.is_whole else place + 1


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


class Stop(NamedTuple):
    """Where an archive cannot be read on.

    Args:
        place: The first byte of the record, or of the member, that cannot be read.
        is_cut: Whether the file ends within it, and no record begins after it.
    """

    place: int
    is_cut: bool


def stop_of(file: IO[bytes], place: int, length: int = 0) -> Stop | None:
    """Where an archive that seems to end does not; None where it ends as it should.

    A gzip member whose own header is damaged may claim all that follows, and looks like the end.

    Args:
        file: An archive that is not empty.
        place: Where a record of it begins, or would.
        length: Bytes of the body of that record, as it says, where the archive is plain.
    """
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        start = _magic(data)
        if start is None:
            return Stop(place, is_cut=True) if _is_cut(data, place, length) else None
        while data[place : place + PIECE].strip():
            member = _member(data, place, start)
            if member is None or not member.is_whole:
                is_last = next(filter(partial(_begins, data), _places(data, start, place + 1)), -1)
                return Stop(place, is_cut=member is not None and is_last < 0)
            place = member.end
        return None


def _is_cut(data: mmap.mmap, place: int, length: int) -> bool:
    """Whether a plain archive ends before the blank line that ends a record, or within a header."""
    header = HEADER_END.search(data, place)
    if header is None:
        return _begins_header(data[place : place + PEEKED])
    rest = data[header.end() + length : header.end() + length + PEEKED]
    end = RECORD_END.match(rest)
    return _begins_header(rest[end.end() :].lstrip(b"\r\n")) if end else not rest.strip(b"\r\n")


def _begins_header(rest: bytes) -> bool:
    """Whether bytes are the beginning of a header, or of what headers and members begin with."""
    starts = (HEADER, *PACKED.values())
    return bool(rest) and (rest.startswith(HEADER) or any(s.startswith(rest) for s in starts))


def holds_several(file: IO[bytes]) -> bool:
    """Whether the first member of a packed archive has more in it than one record.

    Args:
        file: An archive that is not empty.
    """
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        start = _magic(data)
        if start is None:
            return False
        head = b"".join(islice(_pieces(data, 0, start), HEADER_PIECES))
        header, length = HEADER_END.search(head), LENGTH.search(head)
        if header is None or length is None or length.end() > header.end():
            return False
        size, one = 0, header.end() + int(length[1]) + 2 * BLANK
        for piece in _pieces(data, 0, start):
            size += len(piece)
            if size > one:
                return True
        return False


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
    """Bytes of the member at a place, unpacked; None where it is damaged or cut."""
    member = _member(data, place, start)
    return member.size if member is not None and member.is_whole else None


class _Member(NamedTuple):
    """A gzip member or a zstd frame: its end, its bytes unpacked, whether the file has its end."""

    end: int
    size: int
    is_whole: bool


def _member(data: mmap.mmap, place: int, start: bytes) -> _Member | None:
    """The member at a place; None where it is damaged."""
    size = 0
    pieces = _pieces(data, place, start)
    while True:
        try:
            size += len(next(pieces))
        except StopIteration as end:
            return None if end.value is None else _Member(abs(end.value), size, end.value > 0)


def _pieces(data: mmap.mmap, place: int, start: bytes) -> Generator[bytes, None, int | None]:
    """What the member at a place unpacks to, in pieces.

    Returns:
        Where the member ends; minus the end of the file if that is within it; None: it is damaged.
    """
    is_gzip = start == PACKED[GZIP]
    zipped, frame = zlib.decompressobj(zlib.MAX_WBITS | 16), zstandard.ZstdDecompressor()
    member = frame.decompressobj()
    at, rest = place, b""
    try:
        while not (zipped.eof if is_gzip else member.eof):
            piece = rest or data[at : at + (PIECE if is_gzip else PIECE_OF_FRAME)]
            if not piece:
                return -at
            at += 0 if rest else len(piece)
            yield zipped.decompress(piece, PIECE) if is_gzip else member.decompress(piece)
            rest = zipped.unconsumed_tail if is_gzip else b""
    except (zlib.error, zstandard.ZstdError):
        return None
    return at - len(zipped.unused_data if is_gzip else member.unused_data)
