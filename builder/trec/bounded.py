"""Bytes of a file that people hand in, plain, gzip or zstd, within a bound.

In: a path. Out: the decompressed bytes. The compression is read from the first bytes, not from the
name. Truncated or damaged streams, and streams that would grow beyond the bound, are errors.
"""

from pathlib import Path

import pyarrow as pa

from builder.errors import FormatError, UsageError
from builder.io.sources import Source

MAX_BYTES = 4 * 2**30
"""Largest decompressed size read, in bytes: about 75 million lines of a TREC run."""

MAX_TEXT = 2**30
"""Largest list or table that is held whole, in bytes."""
_CHUNK = 16 * 2**20
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_bounded(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """All bytes of a file, decompressed, without a UTF-8 byte order mark.

    Args:
        path: A plain, gzip or zstd file.
        max_bytes: Largest decompressed size accepted.

    Raises:
        UsageError: the path is not a readable file.
        FormatError: the compressed stream is damaged, or larger than `max_bytes`.
    """
    compression = compression_of(path)
    if compression is None:
        if path.stat().st_size > max_bytes:
            raise too_large(path, max_bytes)
        return path.read_bytes().removeprefix(BYTE_ORDER_MARK)
    try:
        with pa.input_stream(str(path), compression=compression) as stream:
            data = _decompress(stream, max_bytes)
    except OSError as error:
        raise FormatError(f"expected an intact {compression} stream ({error})", path) from error
    if len(data) > max_bytes:
        raise too_large(path, max_bytes)
    return data.removeprefix(BYTE_ORDER_MARK)


def read_text(source: Source, max_bytes: int = MAX_TEXT) -> str:
    """The text of a list or table that people hand in, plain or compressed.

    Args:
        source: A file in UTF-8.
        max_bytes: Largest decompressed size accepted.

    Raises:
        UsageError: the path is not a readable file.
        FormatError: it is not UTF-8, damaged, or larger than `max_bytes`.
    """
    try:
        return read_bounded(source.path, max_bytes).decode()
    except UnicodeDecodeError as error:
        raise FormatError(
            f"expected UTF-8 text, plain or compressed: {error}", source.name
        ) from None


def read_text_lines(source: Source, max_bytes: int = MAX_TEXT) -> list[str]:
    """The lines of `read_text`, without their ends.

    A line ends with LF, CR or both, and with nothing else that Unicode calls a separator of lines.
    """
    text = read_text(source, max_bytes)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def compression_of(path: Path) -> str | None:
    """`gzip`, `zstd` or None, by the first bytes of a file.

    Raises:
        UsageError: the path is not a readable file.
    """
    if path.exists() and not path.is_file():
        raise UsageError(f"{path}: expected a readable file, found a folder or a pipe")
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        raise UsageError(f"{path}: expected a readable file ({error.strerror})") from error
    return next((name for magic, name in _MAGIC.items() if start.startswith(magic)), None)


def _decompress(stream: pa.NativeFile, max_bytes: int) -> bytes:
    """At most one byte more than the bound."""
    chunks: list[bytes] = []
    room = max_bytes + 1
    while room and (chunk := stream.read(min(_CHUNK, room))):
        chunks.append(chunk)
        room -= len(chunk)
    return b"".join(chunks)


def too_large(path: Path, max_bytes: int) -> FormatError:
    """What to raise for a file that unpacks to more."""
    return FormatError(
        f"expected at most {max_bytes} bytes after decompression, found more; split the file, or "
        "raise max_bytes if it is to be trusted",
        path,
    )
