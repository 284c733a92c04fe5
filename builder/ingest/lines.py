"""Reads the numbered lines of plain, gzip or zstd files, and tolerates damaged files.

Input: a source. Output: blocks of lines, each with the number of its first line. A line ends with
LF. A CR before the LF and a byte order mark at the start of the file are removed. If a file is
damaged, no error is raised: the lines before the damage are kept, and a reject reason (`fault`)
follows them. Overlong lines are skipped, and reading stops at a maximum compression ratio.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from io import BufferedIOBase
from typing import IO, cast

import numpy as np
from numpy.typing import NDArray

from builder.ingest.decompression import CHUNK, open_decompressed, read_into
from builder.ingest.rejects import DECOMPRESSION_BOMB
from builder.io.sources import Source
from builder.text.text_bytes import is_utf8

LF = 10
SCAN_BYTES = 2**21
"""Number of bytes scanned at a time; small enough to fit in the CPU cache."""
UTF8_OR_WINDOWS_1252 = "utf-8 or windows-1252"
"""Name for mixed encodings: lines are read as UTF-8 if valid, and otherwise as windows-1252."""
BOM = b"\xef\xbb\xbf"
MAX_COMPRESSION_RATIO = 200
"""Maximum ratio of decompressed to compressed size; real logs have ratios below 50."""
MIN_BOMB_BYTES = 64 * 2**20
"""Decompressed size in bytes up to which the compression ratio is not checked."""


@dataclass(frozen=True)
class LineBlock:
    """Block of consecutive lines of a file.

    Args:
        first_line_number: 1-based number of the first line.
        lines: Lines without line endings; None for each overlong line.
        fault: Reject reason if reading stopped after these lines, otherwise None.
        is_unterminated: Whether the file ends within the last line, without a newline.
    """

    first_line_number: int
    lines: list[bytes | None]
    fault: str | None = None
    is_unterminated: bool = False


@dataclass(frozen=True)
class LineChunk:
    """Chunk of consecutive lines of a file, not yet split into single lines.

    Args:
        first_line_number: 1-based number of the first line.
        data: Lines separated by LF; None if there is no line, not even an empty one.
        max_line_bytes: Maximum length of a line in bytes; longer lines are skipped.
        starts_mid_line: Whether the first line is the end of an overlong line.
        fault: Reject reason if reading stopped after these lines, otherwise None.
        is_unterminated: Whether the file ends within the last line, without a newline.
    """

    first_line_number: int
    data: bytes | memoryview | None
    max_line_bytes: int
    starts_mid_line: bool = False
    fault: str | None = None
    is_unterminated: bool = False

    @cached_property
    def line_ends(self) -> NDArray[np.int64]:
        """End offset of each line: the offset of its LF or, for the last line, the data size."""
        if self.data is None:
            return np.zeros(0, dtype=np.int64)
        data = np.frombuffer(self.data, np.uint8)
        starts = range(0, len(data), SCAN_BYTES)
        ends = [start + np.flatnonzero(data[start : start + SCAN_BYTES] == LF) for start in starts]
        return np.concatenate([*ends, [len(data)]])

    def __len__(self) -> int:
        return len(self.line_ends)

    def slice_lines(self, start: int, stop: int) -> bytes | memoryview:
        """Return the bytes of the lines `[start, stop)`."""
        first = int(self.line_ends[start - 1]) + 1 if start else 0
        return (self.data or b"")[first : int(self.line_ends[stop - 1])]

    def get_line(self, index: int) -> bytes | None:
        """Return the line at an index, without a trailing CR; None if the line is too long."""
        return self._strip_line_unless_overlong(bytes(self.slice_lines(index, index + 1)), index)

    def to_block(self) -> LineBlock:
        """Split the chunk into lines without line endings; a line that is too long is None."""
        lines = [] if self.data is None else bytes(self.data).split(b"\n")
        checked = [
            self._strip_line_unless_overlong(line, index) for index, line in enumerate(lines)
        ]
        return LineBlock(self.first_line_number, checked, self.fault, self.is_unterminated)

    def _strip_line_unless_overlong(self, line: bytes, index: int) -> bytes | None:
        """Return a line without a trailing CR; None if the line is too long."""
        if len(line) > self.max_line_bytes or (self.starts_mid_line and not index):
            return None
        return line.removesuffix(b"\r")


def read_line_blocks(
    source: Source, max_line_bytes: int, encoding: str = "utf-8"
) -> Iterator[LineBlock]:
    """Yield the lines of a file in blocks of a few megabytes.

    Args:
        source: The file.
        max_line_bytes: Maximum length of a line in bytes; longer lines are skipped.
        encoding: Text encoding of the file, which must encode LF as one byte like ASCII; or
            `UTF8_OR_WINDOWS_1252`. Lines are converted to UTF-8. Bytes that cannot be decoded are
            kept, so that their lines are not valid UTF-8.

    Raises:
        FormatError: the file cannot be opened.
    """
    for chunk in read_line_chunks(source, max_line_bytes, encoding=encoding):
        yield chunk.to_block()


def read_byte_chunks(source: Source) -> Iterator[tuple[bytes, str | None]]:
    """Yield chunks of the bytes of a file, each with a reject reason (None unless reading failed).

    Reading stops after the first chunk with a reject reason.

    Raises:
        FormatError: the file cannot be opened.
    """
    buffer = np.empty(CHUNK, np.uint8).data
    with open_decompressed(source) as file:
        reader = _BoundedReader(file, source)
        while (count := reader.fill(buffer)) or reader.fault is not None:
            yield bytes(buffer[:count]), reader.fault
            if reader.fault is not None:
                return


def read_line_chunks(
    source: Source, max_line_bytes: int, chunk_bytes: int = CHUNK, encoding: str = "utf-8"
) -> Iterator[LineChunk]:
    """Yield the lines of a file in chunks of about `chunk_bytes` bytes.

    Args:
        source: The file.
        max_line_bytes: Maximum length of a line in bytes; longer lines are skipped.
        chunk_bytes: Approximate size of a chunk in bytes.
        encoding: Text encoding of the file; see `read_line_blocks`.

    Raises:
        FormatError: the file cannot be opened.
    """
    for chunk in _read_undecoded_chunks(source, max_line_bytes, chunk_bytes):
        yield chunk if encoding == "utf-8" else _convert_chunk_to_utf8(chunk, encoding)


def _convert_chunk_to_utf8(chunk: LineChunk, encoding: str) -> LineChunk:
    """Convert the text of a chunk from another encoding to UTF-8."""
    if chunk.data is None:
        return chunk
    data = bytes(chunk.data)
    if encoding == UTF8_OR_WINDOWS_1252:
        lines = data.split(b"\n")
        utf8 = [
            line if is_utf8(line) else _transcode_to_utf8(line, "windows-1252") for line in lines
        ]
        return replace(chunk, data=b"\n".join(utf8))
    return replace(chunk, data=_transcode_to_utf8(data, encoding))


def _transcode_to_utf8(data: bytes, encoding: str) -> bytes:
    """Convert text from an encoding to UTF-8; keep bytes that are not valid in the encoding."""
    return data.decode(encoding, "surrogateescape").encode("utf-8", "surrogateescape")


def _read_undecoded_chunks(
    source: Source, max_line_bytes: int, chunk_bytes: int
) -> Iterator[LineChunk]:
    """Yield the lines of a file in chunks, in their original encoding."""
    first, rest, starts_mid_line = 1, b"", False
    with open_decompressed(source) as file:
        reader = _BoundedReader(file, source)
        while reader.fault is None:
            data = np.empty(len(rest) + chunk_bytes, np.uint8).data
            data[: len(rest)] = rest
            count = reader.fill(data[len(rest) :])
            if not count and reader.fault is None:
                break
            data, end = (
                data[: len(rest) + count],
                _find_last_newline(data, len(rest), len(rest) + count),
            )
            rest = bytes(data) if end is None else bytes(data[end + 1 :])
            chunk = LineChunk(
                first,
                None if end is None else data[:end],
                max_line_bytes,
                starts_mid_line,
                reader.fault,
            )
            if end is not None or reader.fault is not None:
                yield chunk
            first, starts_mid_line = first + len(chunk), starts_mid_line and end is None
            if len(rest) > max_line_bytes:
                rest, starts_mid_line = b"", True
        else:
            return
    if rest or starts_mid_line:
        yield LineChunk(
            first, memoryview(rest), max_line_bytes, starts_mid_line, is_unterminated=True
        )


def _find_last_newline(data: memoryview, start: int, stop: int) -> int | None:
    """Return the offset of the last LF in `data[start:stop]`; None if there is none."""
    for last in range(stop, start, -SCAN_BYTES):
        block = bytes(data[max(start, last - SCAN_BYTES) : last])
        if (index := block.rfind(b"\n")) >= 0:
            return last - len(block) + index
    return None


class _BoundedReader:
    """Reader of decompressed bytes, which stops at corrupt data or the maximum compression ratio.

    Attributes:
        fault: Reject reason if reading stopped before the end of the file, otherwise None.
    """

    def __init__(self, file: IO[bytes], source: Source) -> None:
        self._file = cast("BufferedIOBase", file)
        self._max_bytes = max(MAX_COMPRESSION_RATIO * source.path.stat().st_size, MIN_BOMB_BYTES)
        self._bytes_read = 0
        self.fault: str | None = None

    def fill(self, buffer: memoryview) -> int:
        """Fill a buffer, or part of it at the end of the file; return the number of bytes read."""
        filled = 0
        while filled < len(buffer) and self.fault is None:
            count, self.fault = read_into(self._file, buffer[filled:])
            if not count:
                break
            if not self._bytes_read and buffer[: len(BOM)] == BOM:
                buffer[: count - len(BOM)] = bytes(buffer[len(BOM) : count])
                filled -= len(BOM)
            self._bytes_read, filled = self._bytes_read + count, filled + count
            if self._bytes_read > self._max_bytes:
                self.fault = DECOMPRESSION_BOMB
        return filled
