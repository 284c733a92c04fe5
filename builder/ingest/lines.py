"""Raw files -> numbered lines, plain, gzip or zstd, whatever is wrong with them.

In: a source. Out: blocks of lines with the number of the first. The compression is told by the
first bytes, not by the name. A line ends with LF; one CR before it and a byte order mark at the
start of a file are dropped. What cannot be read is reported as a fault, never raised: a damaged or
truncated file keeps the lines before the damage, an over-long line is skipped, and a file that
unpacks to far more than its size is left at the bound.
"""

import gzip
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self, cast

import zstandard

from builder.errors import FormatError
from builder.sources import Source

CHUNK = 4 * 2**20
GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
BOM = b"\xef\xbb\xbf"
LARGEST_RATIO = 200
"""Decompressed bytes per compressed byte beyond which a file is a bomb; real logs stay below 50."""
RATIO_APPLIES_FROM = 256 * 2**20


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


def open_plain(source: Source) -> IO[bytes]:
    """A file's decompressed bytes.

    Raises:
        FormatError: the file cannot be opened.
    """
    try:
        with source.path.open("rb") as file:
            head = file.read(4)
        if head.startswith(GZIP):
            return cast("IO[bytes]", gzip.open(source.path, "rb"))
        if head == ZSTD:
            return cast("IO[bytes]", ZstdFrames(source.path))
        return source.path.open("rb")
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", source.name) from None


class ZstdFrames:
    """The decompressed bytes of a zstd file of one or more frames; one that ends early is told.

    It is read with `read1` or with `read`, not with both.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._frame = zstandard.ZstdDecompressor().decompressobj(write_size=CHUNK)
        self._begun = False
        self._rest = b""
        self._ready = b""

    def read1(self, size: int) -> bytes:
        """Some bytes; none at the end of the file.

        Raises:
            EOFError: the file ends within a frame.
            OSError: the file is damaged.
        """
        while True:
            packed = self._rest or self._file.read(max(size // 16, 4096))
            if not packed:
                if self._begun:
                    raise EOFError
                return b""
            self._rest, self._begun = b"", True
            try:
                data = self._frame.decompress(packed)
            except zstandard.ZstdError as error:
                raise OSError(f"damaged zstd: {error}") from error
            if self._frame.eof:
                self._rest, self._begun = self._frame.unused_data, False
                self._frame = zstandard.ZstdDecompressor().decompressobj(write_size=CHUNK)
            if data:
                return data

    def read(self, size: int = -1) -> bytes:
        """As many bytes as are asked for, fewer only at the end of the file.

        Raises:
            EOFError: the file ends within a frame.
            OSError: the file is damaged.
        """
        pieces, held = [self._ready], len(self._ready)
        while size < 0 or held < size:
            piece = self.read1(CHUNK)
            if not piece:
                break
            pieces.append(piece)
            held += len(piece)
        data = b"".join(pieces)
        cut = len(data) if size < 0 else size
        self._ready = data[cut:]
        return data[:cut]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()


def read_blocks(source: Source, max_line: int) -> Iterator[Block]:
    """The lines of a file in blocks of a few megabytes.

    Args:
        source: The file.
        max_line: Longest line in bytes; longer ones are skipped.

    Raises:
        FormatError: the file cannot be opened.
    """
    number, rest, skipping = 1, b"", False
    with open_plain(source) as file:
        for chunk, fault in _chunks(file, source):
            pieces = (rest + chunk).split(b"\n")
            rest = pieces.pop()
            lines: list[bytes | None] = [
                piece.removesuffix(b"\r") if len(piece) <= max_line else None for piece in pieces
            ]
            if skipping and lines:
                lines[0], skipping = None, False
            if len(rest) > max_line:
                rest, skipping = b"", True
            if fault is not None:
                rest, skipping = b"", False
            if lines or fault is not None:
                yield Block(number, lines, fault)
            number += len(lines)
    if rest or skipping:
        yield Block(number, [None if skipping else rest.removesuffix(b"\r")])


def _chunks(file: IO[bytes], source: Source) -> Iterator[tuple[bytes, str | None]]:
    """Decompressed chunks; the last of a faulty file comes with the fault, and what was before it.

    `read1` returns what could be unpacked before it meets the damage; `read` would lose it.
    """
    most = max(LARGEST_RATIO * source.path.stat().st_size, RATIO_APPLIES_FROM)
    read = cast("Callable[[int], bytes]", getattr(file, "read1", file.read))
    seen, pieces, held, fault = 0, [], 0, None
    while fault is None:
        try:
            piece = read(CHUNK)
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
        if held >= CHUNK or fault is not None:
            yield b"".join(pieces), fault
            pieces, held = [], 0
    if pieces:
        yield b"".join(pieces), None
