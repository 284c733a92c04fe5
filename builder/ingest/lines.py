"""Raw files -> numbered lines, plain, gzip or zstd, whatever is wrong with them.

In: a source. Out: blocks of lines with the number of the first. A line ends with LF; one CR before
it and a byte order mark at the start of a file are dropped. What cannot be read is reported as a
fault, never raised: a damaged or truncated file keeps the lines before the damage, an over-long
line is skipped, and a file that unpacks to far more than its size is left at the bound.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from io import BufferedIOBase
from typing import IO, cast

import numpy as np
from numpy.typing import NDArray

from builder.ingest.unpacking import CHUNK, open_plain, read_or_fault
from builder.io.sources import Source

LF = 10
BLOCK = 2**21
"""Bytes that are looked at together and stay in the processor's cache."""
BOM = b"\xef\xbb\xbf"
LARGEST_RATIO = 200
"""Decompressed bytes per compressed byte beyond which a file is a bomb; real logs stay below 50."""
RATIO_APPLIES_FROM = 64 * 2**20


@dataclass(frozen=True)
class Block:
    """Consecutive lines of a file, without their ends; None stands for a line that was too long.

    Args:
        first: 1-based number of the first line.
        lines: The lines.
        fault: Why reading stopped after them, or None.
        is_open: Whether the file ends without the end of the last line.
    """

    first: int
    lines: list[bytes | None]
    fault: str | None = None
    is_open: bool = False


@dataclass(frozen=True)
class Chunk:
    """Consecutive lines of a file as they stand there.

    Args:
        first: 1-based number of the first line.
        data: The lines, with the LF between them, as bytes or a view of some; None where there is
            none, not even an empty one.
        longest: Longest line in bytes; longer ones are skipped.
        is_cut: Whether the first line is the end of one that is too long.
        fault: Why reading stopped after them, or None.
        is_open: Whether the file ends without the end of the last line.
    """

    first: int
    data: bytes | memoryview | None
    longest: int
    is_cut: bool = False
    fault: str | None = None
    is_open: bool = False

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """The place of the LF after each line; that of the last line is the end of the data."""
        if self.data is None:
            return np.zeros(0, dtype=np.int64)
        data = np.frombuffer(self.data, np.uint8)
        starts = range(0, len(data), BLOCK)
        ends = [start + np.flatnonzero(data[start : start + BLOCK] == LF) for start in starts]
        return np.concatenate([*ends, [len(data)]])

    def __len__(self) -> int:
        return len(self.ends)

    def lines(self, start: int, stop: int) -> bytes | memoryview:
        """The lines from one place to before another, with the LF between them."""
        first = int(self.ends[start - 1]) + 1 if start else 0
        return (self.data or b"")[first : int(self.ends[stop - 1])]

    def line(self, place: int) -> bytes | None:
        """The line at a place; None where it is too long."""
        return self._line(bytes(self.lines(place, place + 1)), place)

    def block(self) -> Block:
        """All lines."""
        pieces = [] if self.data is None else bytes(self.data).split(b"\n")
        lines = [self._line(piece, place) for place, piece in enumerate(pieces)]
        return Block(self.first, lines, self.fault, self.is_open)

    def _line(self, piece: bytes, place: int) -> bytes | None:
        if len(piece) > self.longest or (self.is_cut and not place):
            return None
        return piece.removesuffix(b"\r")


def read_blocks(source: Source, longest: int, encoding: str = "utf-8") -> Iterator[Block]:
    """The lines of a file in blocks of a few megabytes.

    Args:
        source: The file.
        longest: Longest line in bytes; longer ones are skipped.
        encoding: Text encoding, in which LF is one byte as in ASCII; the lines are UTF-8. Bytes
            that it does not decode stay as they are, so that their lines are not valid UTF-8.

    Raises:
        FormatError: the file cannot be opened.
    """
    for chunk in read_chunks(source, longest, encoding=encoding):
        yield chunk.block()


def read_pieces(source: Source) -> Iterator[tuple[bytes, str | None]]:
    """The decompressed bytes of a file in pieces; with the last one why reading stopped, or None.

    Raises:
        FormatError: the file cannot be opened.
    """
    room = np.empty(CHUNK, np.uint8).data
    with open_plain(source) as file:
        filling = _Filling(file, source)
        while (count := filling.fill(room)) or filling.fault is not None:
            yield bytes(room[:count]), filling.fault
            if filling.fault is not None:
                return


def read_chunks(
    source: Source, longest: int, size: int = CHUNK, encoding: str = "utf-8"
) -> Iterator[Chunk]:
    """The lines of a file in chunks of about `size` bytes; see `read_blocks`."""
    for chunk in _chunks(source, longest, size):
        yield chunk if encoding == "utf-8" else _decoded(chunk, encoding)


def _decoded(chunk: Chunk, encoding: str) -> Chunk:
    """A chunk in UTF-8."""
    if chunk.data is None:
        return chunk
    text = bytes(chunk.data).decode(encoding, "surrogateescape")
    return replace(chunk, data=text.encode("utf-8", "surrogateescape"))


def _chunks(source: Source, longest: int, size: int) -> Iterator[Chunk]:
    first, rest, is_cut = 1, b"", False
    with open_plain(source) as file:
        filling = _Filling(file, source)
        while filling.fault is None:
            data = np.empty(len(rest) + size, np.uint8).data
            data[: len(rest)] = rest
            count = filling.fill(data[len(rest) :])
            if not count and filling.fault is None:
                break
            data, end = data[: len(rest) + count], _last_end(data, len(rest), len(rest) + count)
            rest = bytes(data) if end is None else bytes(data[end + 1 :])
            chunk = Chunk(
                first, None if end is None else data[:end], longest, is_cut, filling.fault
            )
            if end is not None or filling.fault is not None:
                yield chunk
            first, is_cut = first + len(chunk), is_cut and end is None
            if len(rest) > longest:
                rest, is_cut = b"", True
        else:
            return
    if rest or is_cut:
        yield Chunk(first, memoryview(rest), longest, is_cut, is_open=True)


def _last_end(data: memoryview, start: int, stop: int) -> int | None:
    """The place of the last LF within some bytes."""
    for last in range(stop, start, -BLOCK):
        block = bytes(data[max(start, last - BLOCK) : last])
        if (place := block.rfind(b"\n")) >= 0:
            return last - len(block) + place
    return None


class _Filling:
    """Reads the decompressed bytes of a file, up to what is wrong with them.

    Attributes:
        fault: Why nothing more is read, or None.
    """

    def __init__(self, file: IO[bytes], source: Source) -> None:
        self._file = cast("BufferedIOBase", file)
        self._most = max(LARGEST_RATIO * source.path.stat().st_size, RATIO_APPLIES_FROM)
        self._seen = 0
        self.fault: str | None = None

    def fill(self, room: memoryview) -> int:
        """Fill some room, but at the end of the file; returns the bytes that were read."""
        filled = 0
        while filled < len(room) and self.fault is None:
            count, self.fault = read_or_fault(self._file, room[filled:])
            if not count:
                break
            if not self._seen and room[: len(BOM)] == BOM:
                room[: count - len(BOM)] = bytes(room[len(BOM) : count])
                filled -= len(BOM)
            self._seen, filled = self._seen + count, filled + count
            if self._seen > self._most:
                self.fault = "decompression_bomb"
        return filled
