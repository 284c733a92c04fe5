"""Raw files -> numbered lines, plain, gzip or zstd, whatever is wrong with them.

In: a source. Out: blocks of lines with the number of the first. A line ends with LF; one CR before
it and a byte order mark at the start of a file are dropped. What cannot be read is reported as a
fault, never raised: a damaged or truncated file keeps the lines before the damage, an over-long
line is skipped, and a file that unpacks to far more than its size is left at the bound.
"""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import IO, cast

import numpy as np
from numpy.typing import NDArray

from builder.ingest.unpacking import CHUNK, open_plain
from builder.sources import Source

LF = 10
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
    """

    first: int
    lines: list[bytes | None]
    fault: str | None = None


@dataclass(frozen=True)
class Chunk:
    """Consecutive lines of a file as they stand there.

    Args:
        first: 1-based number of the first line.
        data: The lines, with the LF between them; None where there is none, not even an empty one.
        longest: Longest line in bytes; longer ones are skipped.
        is_cut: Whether the first line is the end of one that is too long.
        fault: Why reading stopped after them, or None.
    """

    first: int
    data: bytes | None
    longest: int
    is_cut: bool = False
    fault: str | None = None

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """The place of the LF after each line; that of the last line is the end of the data."""
        if self.data is None:
            return np.zeros(0, dtype=np.int64)
        found = np.flatnonzero(np.frombuffer(self.data, np.uint8) == LF)
        return np.append(found, len(self.data))

    def __len__(self) -> int:
        return len(self.ends)

    def lines(self, start: int, stop: int) -> bytes:
        """The lines from one place to before another, with the LF between them."""
        first = int(self.ends[start - 1]) + 1 if start else 0
        return (self.data or b"")[first : int(self.ends[stop - 1])]

    def line(self, place: int) -> bytes | None:
        """The line at a place; None where it is too long."""
        return self._line(self.lines(place, place + 1), place)

    def block(self) -> Block:
        """All lines."""
        pieces = [] if self.data is None else self.data.split(b"\n")
        lines = [self._line(piece, place) for place, piece in enumerate(pieces)]
        return Block(self.first, lines, self.fault)

    def _line(self, piece: bytes, place: int) -> bytes | None:
        if len(piece) > self.longest or (self.is_cut and not place):
            return None
        return piece.removesuffix(b"\r")


def read_blocks(source: Source, longest: int) -> Iterator[Block]:
    """The lines of a file in blocks of a few megabytes.

    Args:
        source: The file.
        longest: Longest line in bytes; longer ones are skipped.

    Raises:
        FormatError: the file cannot be opened.
    """
    for chunk in read_chunks(source, longest):
        yield chunk.block()


def read_pieces(source: Source) -> Iterator[tuple[bytes, str | None]]:
    """The decompressed bytes of a file in pieces; with the last one why reading stopped, or None.

    Raises:
        FormatError: the file cannot be opened.
    """
    with open_plain(source) as file:
        yield from _pieces(file, source, CHUNK)


def read_chunks(source: Source, longest: int, size: int | None = None) -> Iterator[Chunk]:
    """The lines of a file in chunks of about `size` bytes; see `read_blocks`."""
    first, rest, is_cut = 1, b"", False
    with open_plain(source) as file:
        for piece, fault in _pieces(file, source, size or CHUNK):
            end = piece.rfind(b"\n")
            whole = None if end < 0 else b"".join((rest, memoryview(piece)[:end]))
            rest = rest + piece if whole is None else piece[end + 1 :]
            chunk = Chunk(first, whole, longest, is_cut, fault)
            if whole is not None or fault is not None:
                yield chunk
            first, is_cut = first + len(chunk), is_cut and whole is None
            if len(rest) > longest:
                rest, is_cut = b"", True
            if fault is not None:
                return
    if rest or is_cut:
        yield Chunk(first, rest, longest, is_cut)


def _pieces(file: IO[bytes], source: Source, size: int) -> Iterator[tuple[bytes, str | None]]:
    """Decompressed bytes; the last of a faulty file comes with the fault, and what was before it.

    `read1` returns what could be unpacked before it meets the damage; `read` would lose it.
    """
    most = max(LARGEST_RATIO * source.path.stat().st_size, RATIO_APPLIES_FROM)
    read = cast("Callable[[int], bytes]", getattr(file, "read1", file.read))
    seen, pieces, held, fault = 0, [], 0, None
    while fault is None:
        try:
            piece = read(size)
        except EOFError:
            piece, fault = b"", "file_truncated"
        except (OSError, zlib.error):
            piece, fault = b"", "file_damaged"
        if not piece and fault is None:
            break
        pieces.append(piece if seen else piece.removeprefix(BOM))
        seen, held = seen + len(piece), held + len(piece)
        if seen > most:
            fault = "decompression_bomb"
        if held >= size or fault is not None:
            yield b"".join(pieces), fault
            pieces, held = [], 0
    if pieces:
        yield b"".join(pieces), None
