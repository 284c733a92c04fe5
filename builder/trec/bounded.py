"""Reads user-supplied files, plain or compressed with gzip or zstd, up to a size limit.

The compression is detected from the first bytes, not from the file name. Truncated or damaged
streams and files larger than the limit raise an error.
"""

from pathlib import Path

import pyarrow as pa

from builder.errors import FormatError, UsageError
from builder.io.file_types import GZIP, HEAD_BYTES, ZSTD_START, check_file_type
from builder.io.parquet import MAGIC
from builder.io.sources import Source

MAX_BYTES = 4 * 2**30
"""Default maximum size of a decompressed run in bytes, enough for about 75 million lines."""

MAX_TEXT_BYTES = 2**30
"""Default maximum size in bytes of a text file that is loaded into memory at once."""
_CHUNK_BYTES = 16 * 2**20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_decompressed_bytes(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """Return the decompressed bytes of a file without byte order mark; reject files over a limit.

    Args:
        path: Path of a plain, gzip or zstd file.
        max_bytes: Maximum decompressed size in bytes.

    Raises:
        UsageError: The path is not a readable file.
        FormatError: The compressed stream is damaged, or decompresses to more than `max_bytes`.
    """
    compression = detect_compression(path)
    if compression is None:
        if path.stat().st_size > max_bytes:
            raise size_limit_error(path, max_bytes)
        return path.read_bytes().removeprefix(BYTE_ORDER_MARK)
    try:
        with pa.input_stream(str(path), compression=compression) as stream:
            data = _decompress(stream, max_bytes)
    except OSError as error:
        raise FormatError(f"expected an intact {compression} stream ({error})", path) from error
    if len(data) > max_bytes:
        raise size_limit_error(path, max_bytes)
    return data.removeprefix(BYTE_ORDER_MARK)


def read_text(source: Source, max_bytes: int = MAX_TEXT_BYTES) -> str:
    """Return the content of a plain or compressed UTF-8 text file as a string.

    Args:
        source: File to read.
        max_bytes: Maximum decompressed size in bytes.

    Raises:
        UsageError: The path is not a readable file.
        FormatError: The file is not UTF-8, is damaged, or is larger than `max_bytes`.
    """
    try:
        return read_decompressed_bytes(source.path, max_bytes).decode()
    except UnicodeDecodeError as error:
        raise FormatError(
            f"expected UTF-8 text, plain or compressed: {error}", source.name
        ) from None


def read_text_lines(source: Source, max_bytes: int = MAX_TEXT_BYTES) -> list[str]:
    """Return the lines of a plain or compressed UTF-8 text file, without line endings.

    Only LF, CR and CRLF end a line; other Unicode line separators do not. Arguments and errors are
    the same as for `read_text`.
    """
    text = read_text(source, max_bytes)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def detect_compression(path: Path) -> str | None:
    """Return `gzip`, `zstd` or None (uncompressed), detected from the first bytes of a file.

    Raises:
        UsageError: The path is not a readable file.
        FormatError: The compression is not supported, or the file is recognized as a binary format.
    """
    if path.is_dir():
        raise UsageError(f"{path}: expected a file, found a folder; pass a file")
    if path.exists() and not path.is_file():
        raise UsageError(f"{path}: expected a regular file, found a special file")
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise UsageError(f"{path}: cannot open file: {error.strerror}") from error
    check_file_type(head, path)
    if head.startswith(MAGIC):
        raise FormatError("expected text, found a Parquet file; export it as text", path)
    if head.startswith(GZIP):
        return "gzip"
    return "zstd" if ZSTD_START.match(head) else None


def _decompress(stream: pa.NativeFile, max_bytes: int) -> bytes:
    """Decompress at most `max_bytes + 1` bytes; the extra byte shows that the limit is exceeded."""
    chunks: list[bytes] = []
    remaining = max_bytes + 1
    while remaining and (chunk := stream.read(min(_CHUNK_BYTES, remaining))):
        chunks.append(chunk)
        remaining -= len(chunk)
    return b"".join(chunks)


def size_limit_error(path: Path, max_bytes: int) -> FormatError:
    """Return the error to raise for a file that decompresses to more than `max_bytes`."""
    return FormatError(
        f"expected at most {max_bytes} bytes after decompression, found more; split the file, or "
        "raise the limit (parameter max_bytes) if you trust the file",
        path,
    )
