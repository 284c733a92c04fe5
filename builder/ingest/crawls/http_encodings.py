"""Decodes the transfer and content encodings of HTTP response bodies.

Input: a body with its transfer and content encodings. Output: the decoded body. Crawlers often
store the decoded body with the headers of the encoded body; therefore, a body that does not have
the declared encoding is returned unchanged. A truncated body is decoded as far as possible and
flagged. A gzip body is decoded even if no header declares it. A declared encoding that is unknown,
such as `utf-8` or `none`, is ignored if the body is HTML. Decoding stops at a size limit.
"""

import zlib
from collections.abc import Callable
from typing import NamedTuple

import brotli  # type: ignore[import-untyped]
import zstandard

from builder.ingest.crawls.html import looks_like_html
from builder.ingest.rejects import RECORD_TOO_LARGE, RejectError
from builder.io.file_types import GZIP, ZSTD

ZLIB_OR_GZIP = zlib.MAX_WBITS + 32
"""`wbits` value that makes zlib detect a zlib or gzip header automatically."""
BROTLI_CHUNK = 2**20
MAX_MEMBERS = 1000
"""Maximum number of gzip members or zstd frames that are decoded; limited because decoding each one
copies the rest of the body."""


class DecodedBody(NamedTuple):
    """Decoded body, and whether the encoded body was truncated."""

    body: bytes
    is_truncated: bool = False


def decode_body(
    body: bytes, transfer_encoding: str, content_encoding: str, max_bytes: int
) -> DecodedBody:
    """Decode the body of an HTTP response.

    Args:
        body: The body as stored.
        transfer_encoding: `Transfer-Encoding` header, or an empty string.
        content_encoding: `Content-Encoding` header, or an empty string.
        max_bytes: Maximum size of the decoded body in bytes.

    Raises:
        RejectError: the decoded body is too large, or an encoding is unknown.
    """
    is_chunked = "chunked" in transfer_encoding.lower()
    body, is_truncated = _decode_chunked_body(body) if is_chunked else DecodedBody(body)
    names = [part.strip().lower() for part in content_encoding.split(",")]
    for name in (*reversed(names), "gzip"):  # servers send gzip files without a header
        if name in ("", "identity"):
            continue
        decoder = DECODERS.get(name)
        if decoder is None:
            if looks_like_html(body):  # such as `Content-Encoding: utf-8`, which browsers ignore
                continue
            raise RejectError("unknown_encoding")
        body, ends_early = decoder(body, max_bytes)
        is_truncated |= ends_early
        if len(body) > max_bytes:
            raise RejectError(RECORD_TOO_LARGE)
    return DecodedBody(body, is_truncated)


def _decode_chunked_body(body: bytes) -> DecodedBody:
    """Decode a body with chunked transfer encoding; return other bodies unchanged.

    Lines end with CRLF, or with LF from some servers.
    """
    chunks: list[bytes] = []
    position = 0
    while position < len(body):
        end = body.find(b"\n", position, position + 1024)
        size = _parse_chunk_size(body[position:end]) if end > 0 else None
        if size is None:
            break
        if size == 0:
            return DecodedBody(b"".join(chunks))
        chunks.append(body[end + 1 : end + 1 + size])
        position = end + 1 + size
        position += 1 if body.startswith(b"\n", position) else 2
    return DecodedBody(b"".join(chunks), is_truncated=True) if chunks else DecodedBody(body)


def _parse_chunk_size(line: bytes) -> int | None:
    """Parse the chunk size from the first line of an HTTP chunk; None if it is malformed."""
    digits = line.partition(b";")[0].strip()
    if not digits or len(digits.lstrip(b"0")) > 8 or digits.strip(b"0123456789abcdefABCDEF"):
        return None
    return int(digits, 16)


def _decode_gzip(body: bytes, max_bytes: int) -> DecodedBody:
    """Decode a gzip body; return a body without the gzip signature unchanged.

    Raises:
        RejectError: the body is so damaged that no byte can be decoded.
    """
    if not body.startswith(GZIP):
        return DecodedBody(body)
    decoded = _inflate(body, ZLIB_OR_GZIP, max_bytes)
    if not decoded.body:
        raise RejectError("body_damaged")
    return decoded


def _decode_deflate(body: bytes, max_bytes: int) -> DecodedBody:
    """Decode a `deflate` body in zlib format or, as many servers send, in raw deflate format.

    A body in neither format is returned unchanged.
    """
    for window_bits in (ZLIB_OR_GZIP, -zlib.MAX_WBITS):
        decoded = _inflate(body, window_bits, max_bytes)
        if decoded.body:
            return decoded
    return DecodedBody(body)


def _inflate(body: bytes, window_bits: int, max_bytes: int) -> DecodedBody:
    """Decompress zlib, (multi-member) gzip or raw deflate data, up to the first corrupt byte.

    Args:
        body: Compressed data.
        window_bits: `wbits` argument of zlib, which selects the format.
        max_bytes: Maximum decompressed size in bytes; if the data are larger, one more byte than
            this maximum is returned.
    """
    chunks, size = [b""], 0
    for _ in range(MAX_MEMBERS):
        decoder = zlib.decompressobj(window_bits)
        try:
            chunks.append(decoder.decompress(body, max_bytes + 1 - size))
        except zlib.error:
            break
        body, size = decoder.unused_data, size + len(chunks[-1])
        if not decoder.eof or size > max_bytes:
            break
        if not body.startswith(GZIP):
            return DecodedBody(b"".join(chunks))
    return DecodedBody(b"".join(chunks), is_truncated=True)


def _decode_zstd(body: bytes, max_bytes: int) -> DecodedBody:
    """Decode a zstd body; return a body without the zstd signature unchanged.

    Raises:
        RejectError: the body is damaged.
    """
    if not body.startswith(ZSTD):
        return DecodedBody(body)
    try:
        with zstandard.ZstdDecompressor().stream_reader(body, read_across_frames=True) as reader:
            decoded = reader.read(max_bytes + 1)
        return DecodedBody(
            decoded, len(decoded) <= max_bytes and not _ends_with_complete_frame(body)
        )
    except zstandard.ZstdError:
        raise RejectError("body_damaged") from None


def _ends_with_complete_frame(body: bytes) -> bool:
    """Whether the last zstd frame of a body is complete."""
    for _ in range(MAX_MEMBERS):
        frame = zstandard.ZstdDecompressor().decompressobj()
        frame.decompress(body)
        body = frame.unused_data
        if not frame.eof or not body.startswith(ZSTD):
            return frame.eof
    return False


def _decode_brotli(body: bytes, max_bytes: int) -> DecodedBody:
    """Decode a Brotli body as far as possible; return a body that is not Brotli unchanged."""
    decoder = brotli.Decompressor()
    chunks, size = [b""], 0
    try:
        chunk = decoder.process(body, output_buffer_limit=BROTLI_CHUNK)
        while chunk and size <= max_bytes:
            chunks.append(chunk)
            size += len(chunk)
            chunk = decoder.process(b"", output_buffer_limit=BROTLI_CHUNK)
    except brotli.error:
        decoded = b"".join(chunks)
        return DecodedBody(decoded, is_truncated=True) if decoded else DecodedBody(body)
    return DecodedBody(b"".join(chunks), not decoder.is_finished())


DECODERS: dict[str, Callable[[bytes, int], DecodedBody]] = {
    "gzip": _decode_gzip,
    "x-gzip": _decode_gzip,
    "deflate": _decode_deflate,
    "br": _decode_brotli,
    "zstd": _decode_zstd,
}
