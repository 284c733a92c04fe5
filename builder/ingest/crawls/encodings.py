"""Bodies of HTTP responses as archives hold them -> the bytes of the page.

In: a body with its transfer and content encodings. Out: the decoded body. Crawlers often store the
decoded body under the header of the encoded one, so a body that does not look encoded is taken as
it is. A body cut short gives what could be decoded. Nothing is unpacked beyond the limit.
"""

import zlib
from collections.abc import Callable

import brotli  # type: ignore[import-untyped]
import zstandard

from builder.ingest.rejects import RejectError
from builder.ingest.unpacking import GZIP, ZSTD

EITHER_WRAPPER = zlib.MAX_WBITS + 32
"""zlib finds out by itself whether the stream is zlib's or gzip's."""
STEP = 2**20


def decode_body(body: bytes, transfer: str, content: str, most: int) -> bytes:
    """Undo the encodings of a response's body.

    Args:
        body: The body as stored.
        transfer: `Transfer-Encoding` of the response, or nothing.
        content: `Content-Encoding` of the response, or nothing.
        most: Bytes that the decoded body may have.

    Raises:
        RejectError: it is larger, or is encoded in a way that nobody knows.
    """
    if "chunked" in transfer.lower():
        body = _join_chunks(body)
    for name in reversed([part.strip().lower() for part in content.split(",")]):
        if name in ("", "identity"):
            continue
        decoder = DECODERS.get(name)
        if decoder is None:
            raise RejectError("unknown_encoding")
        body = decoder(body, most)
        if len(body) > most:
            raise RejectError("record_too_large")
    return body


def _join_chunks(body: bytes) -> bytes:
    """The chunks of a body one after the other; a body that is not in chunks is returned whole."""
    pieces: list[bytes] = []
    place = 0
    while place < len(body):
        end = body.find(b"\r\n", place, place + 1024)
        size = _size(body[place:end]) if end > 0 else None
        if size is None:
            return b"".join(pieces) if pieces else body
        if size == 0:
            break
        pieces.append(body[end + 2 : end + 2 + size])
        place = end + 2 + size + 2
    return b"".join(pieces)


def _size(line: bytes) -> int | None:
    """The size that a chunk's first line gives; None where it is no such line."""
    digits = line.partition(b";")[0].strip()
    if not digits or len(digits) > 8 or digits.strip(b"0123456789abcdefABCDEF"):
        return None
    return int(digits, 16)


def _gzip(body: bytes, most: int) -> bytes:
    if not body.startswith(GZIP):
        return body
    decoded = _inflate(body, EITHER_WRAPPER, most)
    if not decoded:
        raise RejectError("body_damaged")
    return decoded


def _deflate(body: bytes, most: int) -> bytes:
    """`deflate` is zlib's format by the standard, and a bare stream on many servers."""
    return _inflate(body, EITHER_WRAPPER, most) or _inflate(body, -zlib.MAX_WBITS, most) or body


def _inflate(body: bytes, wrapper: int, most: int) -> bytes:
    decoder = zlib.decompressobj(wrapper)
    try:
        return decoder.decompress(body, most + 1)
    except zlib.error:
        return b""


def _zstd(body: bytes, most: int) -> bytes:
    if not body.startswith(ZSTD):
        return body
    try:
        with zstandard.ZstdDecompressor().stream_reader(body, read_across_frames=True) as reader:
            return reader.read(most + 1)
    except zstandard.ZstdError:
        raise RejectError("body_damaged") from None


def _brotli(body: bytes, most: int) -> bytes:
    decoder = brotli.Decompressor()
    pieces = [b""]
    try:
        pieces.append(decoder.process(body, output_buffer_limit=STEP))
        while sum(map(len, pieces)) <= most and not decoder.can_accept_more_data():
            pieces.append(decoder.process(b"", output_buffer_limit=STEP))
    except brotli.error:
        return b"".join(pieces) or body
    return b"".join(pieces)


DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
