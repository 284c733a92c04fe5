"""Opens raw files for reading decompressed bytes; gzip and zstd are detected from the first bytes.

Input: a source. Output: a binary file object. Other compressed formats, archives and binary formats
cause an error, which names the format and tells how to convert the file.
"""

import gzip
import re
import zlib
from io import BufferedIOBase
from pathlib import Path
from typing import IO, Self, cast

import zstandard

from builder.errors import FormatError
from builder.ingest.rejects import FILE_DAMAGED, FILE_TRUNCATED
from builder.ingest.zstd_dictionary import create_decompressor
from builder.io.file_types import GZIP, HEAD_BYTES, ZSTD_START, check_file_type
from builder.io.sources import Source

CHUNK = 4 * 2**20
"""Maximum number of decompressed bytes per read."""
ZSTD_INPUT = 1024
"""Compressed bytes decompressed at once: at most 32 MiB, as 4 bytes can be a block of 128 KiB."""
JSON_ARRAY = re.compile(rb"(\xef\xbb\xbf)?\s*\[\s*\{")


def open_decompressed(source: Source) -> IO[bytes]:
    """Open a plain, gzip or zstd file for reading decompressed bytes.

    Raises:
        FormatError: the file cannot be opened, or its type is not supported.
    """
    try:
        with _open_by_signature(source.path) as file:
            check_file_type(_read_first_bytes(file, HEAD_BYTES), source.name)
        return _open_by_signature(source.path)
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", source.name) from None


def _open_by_signature(path: Path) -> IO[bytes]:
    """Open a file with the decompressor that matches its first bytes."""
    with path.open("rb") as file:
        head = file.read(4)
    if head.startswith(GZIP):
        return cast("IO[bytes]", gzip.open(path, "rb"))
    if ZSTD_START.match(head):
        return cast("IO[bytes]", ZstdReader(path))
    return path.open("rb")


def read_head(source: Source, size: int) -> bytes:
    """Return the first `size` decompressed bytes of a file; empty if the file is damaged.

    Raises:
        FormatError: the file cannot be opened, or its type is not supported.
    """
    with open_decompressed(source) as file:
        return _read_first_bytes(file, size)


def check_not_json_array(source: Source) -> None:
    """Check that a JSON file is in JSON Lines format, not an array of objects.

    Raises:
        FormatError: the file is a JSON array, cannot be opened, or has an unsupported type.
    """
    if JSON_ARRAY.match(read_head(source, HEAD_BYTES)):
        raise FormatError(
            "expected one JSON object per line, found a JSON array; convert it with jq -c '.[]'",
            source.name,
        )


def _read_first_bytes(file: IO[bytes], size: int) -> bytes:
    """Return the first `size` bytes of an open file; empty if the file is damaged."""
    try:
        return file.read(size)
    except (OSError, EOFError, ValueError, zlib.error, zstandard.ZstdError):
        return b""


class ZstdReader:
    """Binary reader for zstd files with one or more frames; raises EOFError if a file is truncated.

    Skippable frames are skipped. A dictionary at the start of the file is used.

    Use only one of `read1`, `readinto1` and `read` on an instance.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._decompressor = create_decompressor(path)
        self._frame = self._decompressor.decompressobj(write_size=CHUNK)
        self._is_in_frame = False
        self._rest = b""
        self._ready: bytes | memoryview = b""
        self._error: Exception | None = None

    def read1(self, size: int) -> bytes:
        """Return at least one decompressed byte; an empty result means the end of the file.

        Bytes that were decompressed before an error are returned first; the next call raises it.

        Args:
            size: Approximate number of bytes to return.

        Raises:
            EOFError: the file ends within a frame.
            OSError: the file is damaged.
        """
        chunks, count = [], 0
        while count < max(size, 1) and self._error is None:
            try:
                chunk = self._decompress_next()
            except (EOFError, OSError) as error:
                self._error = error
                break
            if chunk is None:
                break
            chunks.append(chunk)
            count += len(chunk)
        if self._error is not None and not count:
            raise self._error
        return b"".join(chunks)

    def _decompress_next(self) -> bytes | None:
        """Decompress the next few bytes of the file; return None at its end."""
        compressed = self._rest or self._file.read(ZSTD_INPUT)
        if not compressed:
            if self._is_in_frame:
                raise EOFError
            return None
        self._rest, self._is_in_frame = b"", True
        try:
            data = self._frame.decompress(compressed)
        except zstandard.ZstdError as error:
            raise OSError(f"damaged zstd: {error}") from error
        if self._frame.eof:
            self._rest, self._is_in_frame = self._frame.unused_data, False
            self._frame = self._decompressor.decompressobj(write_size=CHUNK)
        return data

    def readinto1(self, buffer: memoryview) -> int:
        """Read decompressed bytes into a buffer; return the number of bytes, 0 at end of file.

        Raises:
            EOFError: the file ends within a frame.
            OSError: the file is damaged.
        """
        data = memoryview(self._ready or self.read1(len(buffer)))
        count = min(len(buffer), len(data))
        buffer[:count], self._ready = data[:count], data[count:]
        return count

    def read(self, size: int = -1) -> bytes:
        """Return `size` decompressed bytes (fewer at the end of the file); the rest if `size` < 0.

        Raises:
            EOFError: the file ends within a frame.
            OSError: the file is damaged.
        """
        chunks, count = [self._ready], len(self._ready)
        while size < 0 or count < size:
            chunk = self.read1(CHUNK)
            if not chunk:
                break
            chunks.append(chunk)
            count += len(chunk)
        data = b"".join(chunks)
        stop = len(data) if size < 0 else size
        self._ready = memoryview(data)[stop:]
        return data[:stop]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()


class DecompressedStream:
    """Forward-only binary stream of decompressed bytes, which ends where the file is damaged.

    Args:
        source: The file.

    Attributes:
        fault: Reject reason if reading failed, else None.
    """

    def __init__(self, source: Source) -> None:
        self._file = cast("BufferedIOBase", open_decompressed(source))
        self._position = 0
        self.fault: str | None = None

    def read(self, size: int = CHUNK) -> bytes:
        """Return up to `size` decompressed bytes; empty at the end of the file or after damage."""
        if self.fault is not None:
            return b""
        buffer = memoryview(bytearray(min(size, CHUNK) if size >= 0 else CHUNK))
        count, self.fault = read_into(self._file, buffer)
        self._position += count
        return bytes(buffer[:count])

    def tell(self) -> int:
        """Return the number of decompressed bytes read so far."""
        return self._position

    def seek(self, offset: int, whence: int = 0) -> int:
        """Raise OSError, since the stream can only be read forward.

        Raises:
            OSError: always.
        """
        raise OSError(
            f"cannot seek to offset {offset} (whence {whence}): the stream is forward-only"
        )

    def close(self) -> None:
        """Close the underlying file."""
        self._file.__exit__(None, None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def read_into(file: BufferedIOBase, buffer: memoryview) -> tuple[int, str | None]:
    """Read bytes into a buffer; return the number of bytes and, on failure, the reject reason.

    Uses `readinto1`, because `readinto` discards the bytes that were decompressed before an error.
    """
    try:
        return file.readinto1(buffer), None
    except EOFError:
        return 0, FILE_TRUNCATED
    except (OSError, zlib.error):
        return 0, FILE_DAMAGED
