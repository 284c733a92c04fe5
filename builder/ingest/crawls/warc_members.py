"""Reads the compressed members of a WARC archive: gzip members or zstd frames.

Usually, each record is compressed as a member of its own, so that an archive can be read from the
start of any member.
"""

import mmap
import zlib
from collections.abc import Generator, Iterator
from typing import NamedTuple

import zstandard

from builder.ingest.decompression import ZSTD_INPUT
from builder.io.file_types import GZIP, ZSTD

WARC_MAGIC = b"WARC/"
MEMBER_MAGIC = {GZIP: GZIP + b"\x08", ZSTD: ZSTD}
"""Maps the first bytes of a compressed file to the first bytes of its members."""
PEEK_BYTES = 512
"""Number of leading bytes of a compressed member that suffice to recognize a record header."""
GZIP_CHUNK = 2**16
"""Number of compressed bytes of gzip read per step."""


def member_magic(data: mmap.mmap) -> bytes | None:
    """Return the magic number of the members of an archive; None if it is uncompressed."""
    return next((long for short, long in MEMBER_MAGIC.items() if data[: len(short)] == short), None)


def find_occurrences(data: mmap.mmap, pattern: bytes, start: int) -> Iterator[int]:
    """Yield the offset of every occurrence of a byte string at or after `start`."""
    offset = data.find(pattern, start)
    while offset >= 0:
        yield offset
        offset = data.find(pattern, offset + 1)


def may_be_record_start(data: mmap.mmap, offset: int) -> bool:
    """Whether the bytes at an offset decompress, or may decompress, to the start of a record."""
    head = data[offset : offset + PEEK_BYTES]
    try:
        if head.startswith(GZIP):
            first = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head, len(WARC_MAGIC))
        else:
            first = zstandard.ZstdDecompressor().decompressobj().decompress(head)
    except (zlib.error, zstandard.ZstdError):
        return False
    return first.startswith(WARC_MAGIC) or (head.startswith(ZSTD) and not first)


def decompressed_member_size(data: mmap.mmap, offset: int, magic: bytes) -> int | None:
    """Return the decompressed size of the member at an offset; None if damaged or truncated."""
    member = read_member(data, offset, magic)
    return member.size if member is not None and member.is_complete else None


class CompressedMember(NamedTuple):
    """End offset, decompressed size in bytes, and completeness of a compressed member."""

    end: int
    size: int
    is_complete: bool


def read_member(data: mmap.mmap, offset: int, magic: bytes) -> CompressedMember | None:
    """Decompress the member at an offset to find its end and its size; None if it is damaged."""
    size = 0
    chunks = decompress_member(data, offset, magic)
    while True:
        try:
            size += len(next(chunks))
        except StopIteration as end:
            return (
                None if end.value is None else CompressedMember(abs(end.value), size, end.value > 0)
            )


def decompress_member(
    data: mmap.mmap, offset: int, magic: bytes
) -> Generator[bytes, None, int | None]:
    """Yield the decompressed bytes of the member at an offset, in chunks.

    Returns:
        The end offset of the member; the negative file size if the file ends within the member;
        None if the member is damaged.
    """
    is_gzip = magic == MEMBER_MAGIC[GZIP]
    zipped, frame = zlib.decompressobj(zlib.MAX_WBITS | 16), zstandard.ZstdDecompressor()
    member = frame.decompressobj()
    at, rest = offset, b""
    try:
        while not (zipped.eof if is_gzip else member.eof):
            chunk = rest or data[at : at + (GZIP_CHUNK if is_gzip else ZSTD_INPUT)]
            if not chunk:
                return -at
            at += 0 if rest else len(chunk)
            yield zipped.decompress(chunk, GZIP_CHUNK) if is_gzip else member.decompress(chunk)
            rest = zipped.unconsumed_tail if is_gzip else b""
    except (zlib.error, zstandard.ZstdError):
        return None
    return at - len(zipped.unused_data if is_gzip else member.unused_data)
