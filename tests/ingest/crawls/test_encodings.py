"""Bodies of responses: chunks, compressions, stale headers, bombs."""

import gzip
import random
import zlib
from collections.abc import Callable
from contextlib import suppress

import brotli  # type: ignore[import-untyped]
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from builder.ingest.crawls import http_encodings
from builder.ingest.crawls.http_encodings import BROTLI_CHUNK, DECODERS, decode_body
from builder.ingest.rejects import RejectError
from builder.io.file_types import GZIP

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
    assert decode_body(ENCODED[name], "", name.upper(), MOST) == (BODY, False)
    assert decode_body(chunked(ENCODED[name], 100), "chunked", name, MOST) == (BODY, False)


@pytest.mark.parametrize("name", sorted(DECODERS))
def test_a_body_stored_decoded_is_taken_as_it_is(name: str) -> None:
    assert decode_body(BODY, "chunked", name, MOST) == (BODY, False)


@pytest.mark.parametrize("name", sorted(DECODERS))
def test_a_bomb_is_a_reject(name: str) -> None:
    with pytest.raises(RejectError, match="record_too_large"):
        decode_body(ENCODED[name], "", name, 500)


@pytest.mark.parametrize("name", sorted(DECODERS))
def test_a_body_may_be_as_large_as_the_limit(name: str) -> None:
    assert decode_body(ENCODED[name], "", name, len(BODY)) == (BODY, False)
    with pytest.raises(RejectError, match="record_too_large"):
        decode_body(ENCODED[name], "", name, len(BODY) - 1)


@pytest.mark.parametrize(("name", "pack"), [("gzip", gzip.compress), ("zstd", zstandard.compress)])
def test_the_number_of_members_is_bounded(
    name: str, pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_encodings, "MAX_MEMBERS", 2)
    assert decode_body(pack(b"a") + pack(b"b"), "", name, MOST) == (b"ab", False)
    body, is_truncated = decode_body(pack(b"a") + pack(b"b") + pack(b"c"), "", name, MOST)
    assert b"abc".startswith(body)
    assert is_truncated


def test_no_more_is_decompressed_than_a_byte_beyond_the_limit() -> None:
    """Of three members with 1,000, 500 and 1,500 bytes, and of Brotli in chunks."""
    three = b"".join(gzip.compress(BODY[:size]) for size in (1000, 500, 1500))
    for most, size in ((999, 1000), (1500, 1501), (2999, 3000), (3000, 3000), (9999, 3000)):
        assert len(DECODERS["gzip"](three, most).body) == size
        assert len(DECODERS["zstd"](zstandard.compress(bytes(3000)), most).body) == size
    bomb = brotli.compress(bytes(3 * BROTLI_CHUNK))
    assert len(DECODERS["br"](bomb, 10).body) < 3 * BROTLI_CHUNK


@pytest.mark.parametrize(
    ("body", "decoded"),
    [
        (b"3;name=x\r\nabc\r\n0\r\n\r\n", (b"abc", False)),
        (b"3\r\nabc\r\n0;x\r\nrest", (b"abc", False)),
        (b"FFFFFFFF\r\nabc", (b"abc", True)),
        (b"1FFFFFFFF\r\nabc", (b"1FFFFFFFF\r\nabc", False)),
        (b"3\r\nabc\r\nx\r\n", (b"abc", True)),
        (b"3\r\nabc", (b"abc", True)),
        (b"\nabc", (b"\nabc", False)),
        (b";x\r\nabc", (b";x\r\nabc", False)),
        (b"0\r\n\r\n", (b"", False)),
        (b"A\nabcdefghij\na\nabcdefghij\n0\n", (b"abcdefghijabcdefghij", False)),
    ],
)
def test_sizes_of_chunks(body: bytes, decoded: tuple[bytes, bool]) -> None:
    assert decode_body(body, "Chunked", "", MOST) == decoded


def test_encodings_are_undone_from_the_last() -> None:
    twice = gzip.compress(brotli.compress(BODY))
    assert decode_body(twice, "", "br, gzip", MOST) == (BODY, False)
    assert decode_body(ENCODED["gzip"], "", "identity, gzip", MOST) == (BODY, False)
    bare = DEFLATE.compress(BODY) + DEFLATE.flush()
    assert decode_body(bare, "", "deflate", MOST) == (BODY, False)


def test_a_body_cut_short_gives_what_could_be_decoded() -> None:
    for name in sorted(DECODERS):
        body, is_truncated = decode_body(ENCODED[name][:-12], "", name, MOST)
        assert BODY.startswith(body)
        assert is_truncated, name


@pytest.mark.parametrize(
    "body", [b"5\nBonjo\n2\nur\n0\n\n", b"0000000005\r\nBonjo\r\n02\r\nur\r\n0\r\n\r\n"]
)
def test_chunks_may_end_with_lf_and_have_long_sizes(body: bytes) -> None:
    """The sizes of the chunks were words of the page."""
    assert decode_body(body, "chunked", "", MOST) == (b"Bonjour", False)


@pytest.mark.parametrize(
    ("length", "chunks"), [(250, BODY[:234]), (106, BODY[:100]), (50, BODY[:46])]
)
def test_chunks_that_end_early(length: int, chunks: bytes) -> None:
    """Within a chunk, or without the chunk of size 0 that ends a body."""
    assert decode_body(chunked(BODY, 100)[:length], "chunked", "", MOST) == (chunks, True)


@pytest.mark.parametrize(("name", "pack"), [("gzip", gzip.compress), ("zstd", zstandard.compress)])
def test_all_members_are_read(name: str, pack: Callable[[bytes], bytes]) -> None:
    first, second = pack(BODY[:1000]), pack(BODY[1000:])
    assert decode_body(first + second, "", name, MOST) == (BODY, False)
    body, is_truncated = decode_body(first + second[:-20], "", name, MOST)
    assert BODY.startswith(body)
    assert is_truncated
    with pytest.raises(RejectError, match="record_too_large"):
        decode_body(first + second, "", name, 1500)


def test_bytes_after_the_last_member_are_ignored() -> None:
    assert decode_body(ENCODED["gzip"] + b"\r\n", "", "gzip", MOST) == (BODY, False)


def test_many_members_end_in_time() -> None:
    body = gzip.compress(b"x") + gzip.compress(b"") * 10**5
    assert decode_body(body, "", "gzip", MOST) == (b"x", True)


def test_a_gzip_body_without_a_header_is_decoded() -> None:
    assert decode_body(ENCODED["gzip"], "", "", MOST) == (BODY, False)
    assert decode_body(gzip.compress(ENCODED["gzip"]), "", "gzip", MOST) == (BODY, False)
    with pytest.raises(RejectError, match="record_too_large"):
        decode_body(ENCODED["gzip"], "", "", 500)


def test_long_brotli_bodies_are_read_to_their_end_or_to_their_damage() -> None:
    """Random bytes are stored nearly as they are, so that the damage lies in the third chunk."""
    body = random.Random(1).randbytes(3 * BROTLI_CHUNK)
    packed = brotli.compress(body)
    assert decode_body(packed, "", "br", 2 * len(body)) == (body, False)
    damaged = packed[: 2 * BROTLI_CHUNK + 1000] + b"\xff" * 5000
    decoded, is_truncated = decode_body(damaged, "", "br", 2 * len(body))
    assert body.startswith(decoded[: 2 * BROTLI_CHUNK])
    assert len(decoded) >= 2 * BROTLI_CHUNK
    assert is_truncated


@pytest.mark.parametrize("name", ["utf-8", "none", "text/html", "gzip, utf-8", "compress"])
def test_other_names_are_ignored_if_the_body_is_html(name: str) -> None:
    """Browsers show such pages, which were rejected."""
    html = b"<!DOCTYPE html><p>Bonjour</p>"
    assert decode_body(html, "", name, MOST) == (html, False)


def test_unknown_and_damaged() -> None:
    with pytest.raises(RejectError, match="unknown_encoding"):
        decode_body(b"\x1f\x9d\x90" + BODY, "", "compress", MOST)
    with pytest.raises(RejectError, match="body_damaged"):
        decode_body(ENCODED["gzip"][:12] + b"\x00" * 40, "", "gzip", MOST)


@given(st.binary(max_size=300), st.sampled_from(["", "chunked"]), st.sampled_from(sorted(DECODERS)))
def test_anything_is_decoded_or_rejected(body: bytes, transfer: str, name: str) -> None:
    with suppress(RejectError):
        assert len(decode_body(body, transfer, name, 1000).body) <= 1000


@given(st.binary(max_size=300).filter(lambda body: not body.startswith(GZIP)), st.integers(1, 50))
def test_chunks_are_joined(body: bytes, size: int) -> None:
    assert decode_body(chunked(body, size), "chunked", "", MOST) == (body, False)
