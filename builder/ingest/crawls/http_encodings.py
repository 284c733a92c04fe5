"""Decodes the transfer and content encodings of HTTP response bodies.

Input: a body with its transfer and content encodings. Output: the decoded body. Crawlers often
store a decoded body with the headers of the encoded one, so a body without the signature of its
encoding is returned unchanged. A truncated body is decoded as far as possible. Decoding stops at a
size limit.
"""

import zlib
from collections.abc import Callable

import brotli  # type: ignore[import-untyped]
import zstandard

from builder.ingest.decompression import GZIP, ZSTD
from builder.ingest.rejects import RECORD_TOO_LARGE, RejectError

ZLIB_OR_GZIP = zlib.MAX_WBITS + 32
"""`wbits` value with which zlib detects zlib and gzip headers by itself."""
BROTLI_CHUNK = 2**20


def decode_body(
    body: bytes, transfer_encoding: str, content_encoding: str, max_bytes: int
) -> bytes:
    """Decode the body of an HTTP response.

    Args:
        body: The body as stored.
        transfer_encoding: `Transfer-Encoding` header, or an empty string.
        content_encoding: `Content-Encoding` header, or an empty string.
        max_bytes: Maximum size of the decoded body.

    Raises:
        RejectError: the decoded body is too large, or an encoding is not supported.
    """
    if "chunked" in transfer_encoding.lower():
        body = _decode_chunked(body)
    for name in reversed([part.strip().lower() for part in content_encoding.split(",")]):
        if name in ("", "identity"):
            continue
        decoder = DECODERS.get(name)
        if decoder is None:
            raise RejectError("unknown_encoding")
        body = decoder(body, max_bytes)
        if len(body) > max_bytes:
            raise RejectError(RECORD_TOO_LARGE)
    return body


def _decode_chunked(body: bytes) -> bytes:
    """Join the chunks of a chunked body; return a body without chunks unchanged."""
    chunks: list[bytes] = []
    position = 0
    while position < len(body):
        end = body.find(b"\r\n", position, position + 1024)
        size = _chunk_size(body[position:end]) if end > 0 else None
        if size is None:
            return b"".join(chunks) if chunks else body
        if size == 0:
            break
        chunks.append(body[end + 2 : end + 2 + size])
        position = end + 2 + size + 2
    return b"".join(chunks)


def _chunk_size(line: bytes) -> int | None:
    """Return the size in a line that starts an HTTP chunk; None if the line is malformed."""
    digits = line.partition(b";")[0].strip()
    if not digits or len(digits) > 8 or digits.strip(b"0123456789abcdefABCDEF"):
        return None
    return int(digits, 16)


def _decode_gzip(body: bytes, max_bytes: int) -> bytes:
    """Decode a gzip body; return a body without the gzip signature unchanged."""
    if not body.startswith(GZIP):
        return body
    decoded = _inflate(body, ZLIB_OR_GZIP, max_bytes)
    if not decoded:
        raise RejectError("body_damaged")
    return decoded


def _decode_deflate(body: bytes, max_bytes: int) -> bytes:
    """Decode a `deflate` body, either in zlib format or, as is common, raw deflate."""
    return (
        _inflate(body, ZLIB_OR_GZIP, max_bytes)
        or _inflate(body, -zlib.MAX_WBITS, max_bytes)
        or body
    )


def _inflate(body: bytes, window_bits: int, max_bytes: int) -> bytes:
    """Decompress at most `max_bytes + 1` bytes; return no bytes if the data are damaged."""
    decoder = zlib.decompressobj(window_bits)
    try:
        return decoder.decompress(body, max_bytes + 1)
    except zlib.error:
        return b""


def _decode_zstd(body: bytes, max_bytes: int) -> bytes:
    """Decode a zstd body; return a body without the zstd signature unchanged."""
    if not body.startswith(ZSTD):
        return body
    try:
        with zstandard.ZstdDecompressor().stream_reader(body, read_across_frames=True) as reader:
            return reader.read(max_bytes + 1)
    except zstandard.ZstdError:
        raise RejectError("body_damaged") from None


def _decode_brotli(body: bytes, max_bytes: int) -> bytes:
    """Decode a Brotli body as far as possible; return a body that is not Brotli unchanged."""
    decoder = brotli.Decompressor()
    chunks = [b""]
    try:
        chunks.append(decoder.process(body, output_buffer_limit=BROTLI_CHUNK))
        while sum(map(len, chunks)) <= max_bytes and not decoder.can_accept_more_data():
            chunks.append(decoder.process(b"", output_buffer_limit=BROTLI_CHUNK))
    except brotli.error:
        return b"".join(chunks) or body
    return b"".join(chunks)


DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _decode_gzip,
    "x-gzip": _decode_gzip,
    "deflate": _decode_deflate,
    "br": _decode_brotli,
    "zstd": _decode_zstd,
}
