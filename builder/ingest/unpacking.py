"""Raw files -> their decompressed bytes: plain, gzip or zstd, told by the first bytes.

In: a source. Out: a file to read from. Files of kinds that nobody here reads are named, with what
to do about them.
"""

import gzip
import re
import zlib
from io import BufferedIOBase
from pathlib import Path
from typing import IO, Self, cast

import zstandard

from builder.errors import FormatError
from builder.io.sources import Source

CHUNK = 4 * 2**20
"""Bytes that are unpacked together."""
GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
REPACK = "unpack it, or pack it with gzip or zstd"
UNPACK = "unpack it and name its files"
EXPORT = "export it as Parquet or JSON lines"
FOREIGN = (
    (0, rb"BZh[1-9]1AY&SY", "a file packed by bzip2", REPACK),
    (0, rb"\xfd7zXZ\x00", "a file packed by xz", REPACK),
    (0, rb"\x04\x22\x4d\x18", "a file packed by lz4", REPACK),
    (0, rb"PK\x03\x04", "a zip archive", UNPACK),
    (0, rb"7z\xbc\xaf\x27\x1c", "a 7z archive", UNPACK),
    (0, rb"Rar!\x1a\x07", "a RAR archive", UNPACK),
    (257, rb"ustar[\x00 ]", "a tar archive", UNPACK),
    (0, rb"filedesc://", "an ARC archive", "make it a WARC with warcio recompress"),
    (0, rb"SQLite format 3\x00", "a SQLite database", EXPORT),
    (0, rb"Obj\x01", "an Avro file", EXPORT),
    (0, rb"ARROW1\x00\x00", "an Arrow file", EXPORT),
)
"""Files that are no text and that nobody here reads: place and pattern, what they are, advice."""
HEAD = 512
ARRAY = re.compile(rb"(\xef\xbb\xbf)?\s*\[\s*\{")


def open_plain(source: Source) -> IO[bytes]:
    """A file's decompressed bytes.

    Raises:
        FormatError: the file cannot be opened, or is of a kind that is not read.
    """
    try:
        with _unpacked(source.path) as file:
            _check_kind(_first_of(file, HEAD), source)
        return _unpacked(source.path)
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", source.name) from None


def _unpacked(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        head = file.read(4)
    if head.startswith(GZIP):
        return cast("IO[bytes]", gzip.open(path, "rb"))
    if head == ZSTD:
        return cast("IO[bytes]", ZstdFrames(path))
    return path.open("rb")


def first_bytes(source: Source, size: int) -> bytes:
    """The first bytes of a file; none where it is damaged, which is told when it is read.

    Raises:
        FormatError: as `open_plain`.
    """
    with open_plain(source) as file:
        return _first_of(file, size)


def check_lines(source: Source) -> None:
    """Make sure that a file of JSON has its records in lines.

    Raises:
        FormatError: it is an array of them; or as `open_plain`.
    """
    if ARRAY.match(first_bytes(source, HEAD)):
        raise FormatError(
            "expected a record of JSON in each line, found an array of them; convert it with "
            "jq -c '.[]'",
            source.name,
        )


def _first_of(file: IO[bytes], size: int) -> bytes:
    try:
        return file.read(size)
    except (OSError, EOFError, ValueError, zlib.error, zstandard.ZstdError):
        return b""


def _check_kind(head: bytes, source: Source) -> None:
    if head.startswith(UTF16):
        raise FormatError(
            "expected text in UTF-8, found UTF-16; convert it with iconv -f UTF-16 -t UTF-8",
            source.name,
        )
    for place, pattern, kind, advice in FOREIGN:
        if re.match(pattern, head[place:]):
            raise FormatError(f"expected text, found {kind}; {advice}", source.name)


class ZstdFrames:
    """The decompressed bytes of a zstd file of one or more frames; one that ends early is told.

    It is read with one of `read1`, `readinto1` and `read`.
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

    def readinto1(self, room: memoryview) -> int:
        """Fill some room, though perhaps not all; returns how much, 0 at the end of the file.

        Raises:
            EOFError: the file ends within a frame.
            OSError: the file is damaged.
        """
        data = self._ready or self.read1(len(room))
        count = min(len(room), len(data))
        room[:count], self._ready = data[:count], data[count:]
        return count

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


class UnpackedStream:
    """The decompressed bytes of a file up to where they can be read, for readers of streams.

    Args:
        source: The file.

    Attributes:
        fault: Why it cannot be read to its end, once that was met; None: it can, so far.
    """

    def __init__(self, source: Source) -> None:
        self._file = cast("BufferedIOBase", open_plain(source))
        self._place = 0
        self.fault: str | None = None

    def read(self, size: int = CHUNK) -> bytes:
        """Some bytes, none at the end or at the fault."""
        if self.fault is not None:
            return b""
        room = memoryview(bytearray(min(size, CHUNK) if size >= 0 else CHUNK))
        count, self.fault = read_or_fault(self._file, room)
        self._place += count
        return bytes(room[:count])

    def tell(self) -> int:
        """How many bytes were read."""
        return self._place

    def seek(self, offset: int, whence: int = 0) -> int:
        """Fail: streams go forwards.

        Raises:
            OSError: always.
        """
        raise OSError(f"cannot seek to {offset} from {whence}")

    def close(self) -> None:
        """Close the file."""
        self._file.__exit__(None, None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def read_or_fault(file: BufferedIOBase, room: memoryview) -> tuple[int, str | None]:
    """Fill some room from a file; how much was filled, and why nothing more can be read, or None.

    `readinto1` gives what could be unpacked before it meets the damage; `readinto` would lose it.
    """
    try:
        return file.readinto1(room), None
    except EOFError:
        return 0, "file_truncated"
    except (OSError, zlib.error):
        return 0, "file_damaged"
