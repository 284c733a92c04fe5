"""Converts header names of WARC records to the case used in the standard, such as `WARC-Type`.

Input: an archive. Output: its decompressed bytes. The standard allows names in any case, and some
programs write lowercase names, but FastWARC recognizes only the case used in the standard. The
bodies of records are not changed.
"""

import re

from builder.ingest.crawls.warc_recovery import CONTENT_LENGTH, HEADER_END
from builder.ingest.decompression import CHUNK, DecompressedStream
from builder.io.sources import Source

NAMES = {
    name.lower(): name for name in (b"WARC-Type", b"WARC-Date", b"Content-Type", b"Content-Length")
}
"""Standard form of each header name that FastWARC interprets, by lowercase name."""
NAME = re.compile(rb"^(?:%s)(?=\s*:)" % b"|".join(NAMES), re.IGNORECASE | re.MULTILINE)
HEADER_BYTES = 2**16
"""Number of bytes to read at a time, and approximate maximum size of a header."""


def has_standard_header_names(source: Source) -> bool:
    """Whether the header names of the first record of an archive have the standard case.

    Raises:
        FormatError: the file cannot be opened, or its type is not supported.
    """
    with DecompressedStream(source) as stream:
        head = stream.read(HEADER_BYTES)
    end = HEADER_END.search(head)
    header = head[: end.start()] if end else head
    return header == _standardize_header_names(header)


class StandardHeaderStream(DecompressedStream):
    """Forward-only binary stream of a WARC archive, with header names in the standard case.

    Args:
        source: The archive.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._unread, self._converted = b"", b""
        self._body_bytes = 0

    def read(self, size: int = CHUNK) -> bytes:
        """Return up to `size` bytes; empty at the end of the file or after damage."""
        data = self._converted or self._read_body() or self._read_header()
        stop = len(data) if size < 0 else size
        self._converted = data[stop:]
        return data[:stop]

    def _read_body(self) -> bytes:
        """Return the next bytes of the body of a record; empty at the end of the body."""
        if not self._body_bytes:
            return b""
        data = self._unread[: self._body_bytes] or super().read(min(self._body_bytes, CHUNK))
        self._unread = self._unread[len(data) :]
        self._body_bytes -= len(data)
        return data

    def _read_header(self) -> bytes:
        """Return the header up to the next blank line, with header names in the standard case."""
        while (end := HEADER_END.search(self._unread)) is None and len(self._unread) < HEADER_BYTES:
            data = super().read(HEADER_BYTES)
            if not data:
                break
            self._unread += data
        stop = end.end() if end else len(self._unread)
        header, self._unread = self._unread[:stop], self._unread[stop:]
        length = CONTENT_LENGTH.search(header)
        self._body_bytes = int(length[1]) if length else 0
        return _standardize_header_names(header)


def _standardize_header_names(header: bytes) -> bytes:
    """Return a record header in which the names that FastWARC interprets have the standard case."""
    return NAME.sub(lambda match: NAMES[match[0].lower()], header)
