"""Bodies of responses: chunks, compressions, stale headers, bombs."""

import gzip
import zlib
from contextlib import suppress

import brotli  # type: ignore[import-untyped]
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from builder.ingest.crawls.http_encodings import DECODERS, decode_body
from builder.ingest.rejects import RejectError

BODY = b"<html><body>" + b"Bonjour le monde. " * 200 + b"</body></html>"
MOST = 10**6
DEFLATE = zlib.compressobj(wbits=-15)
ENCODED = {
    "gzip": gzip.compress(BODY, mtime=0),
    "x-gzip": gzip.compress(BODY, mtime=0),
    "deflate": zlib.compress(BODY),
    "br": brotli.compress(BODY),
    "zstd": zstandard.compress(BODY),
}


def chunked(body: bytes, size: int) -> bytes:
    pieces = [body[i : i + size] for i in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n"


@pytest.mark.parametrize("name", sorted(DECODERS))
def test_every_encoding_is_undone(name: str) -> None:
    assert decode_body(ENCODED[name], "", name.upper(), MOST) == BODY
    assert decode_body(chunked(ENCODED[name], 100), "chunked", name, MOST) == BODY


@pytest.mark.parametrize("name", sorted(DECODERS))
def test_a_body_stored_decoded_is_taken_as_it_is(name: str) -> None:
    assert decode_body(BODY, "chunked", name, MOST) == BODY


@pytest.mark.parametrize("name", sorted(DECODERS))
def test_a_bomb_is_a_reject(name: str) -> None:
    with pytest.raises(RejectError, match="record_too_large"):
        decode_body(ENCODED[name], "", name, 500)


def test_encodings_are_undone_from_the_last() -> None:
    twice = gzip.compress(brotli.compress(BODY))
    assert decode_body(twice, "", "br, gzip", MOST) == BODY
    assert decode_body(ENCODED["gzip"], "", "identity, gzip", MOST) == BODY
    bare = DEFLATE.compress(BODY) + DEFLATE.flush()
    assert decode_body(bare, "", "deflate", MOST) == BODY


def test_a_body_cut_short_gives_what_could_be_decoded() -> None:
    assert BODY.startswith(decode_body(ENCODED["gzip"][:60], "", "gzip", MOST))
    assert decode_body(chunked(BODY, 100)[:250], "chunked", "", MOST) == BODY[:234]


def test_unknown_and_damaged() -> None:
    with pytest.raises(RejectError, match="unknown_encoding"):
        decode_body(BODY, "", "compress", MOST)
    with pytest.raises(RejectError, match="body_damaged"):
        decode_body(ENCODED["gzip"][:12] + b"\x00" * 40, "", "gzip", MOST)


@given(st.binary(max_size=300), st.sampled_from(["", "chunked"]), st.sampled_from(sorted(DECODERS)))
def test_anything_is_decoded_or_rejected(body: bytes, transfer: str, name: str) -> None:
    with suppress(RejectError):
        assert len(decode_body(body, transfer, name, 1000)) <= 1000


@given(st.binary(max_size=300), st.integers(1, 50))
def test_chunks_are_joined(body: bytes, size: int) -> None:
    assert decode_body(chunked(body, size), "chunked", "", MOST) == body
