"""Where records of an archive begin and end, to the byte: plain, in gzip, and in zstd."""

import gzip
import mmap
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from builder.ingest.crawls import warc_headers, warc_members
from builder.ingest.crawls.warc_headers import StandardHeaderStream, has_standard_header_names
from builder.ingest.crawls.warc_members import (
    CompressedMember,
    decompressed_member_size,
    find_occurrences,
    may_be_record_start,
    member_magic,
    read_member,
)
from builder.ingest.crawls.warc_recovery import (
    UnreadablePart,
    contains_record_start,
    find_next_record,
    find_record_after_member,
    find_unreadable_part,
    includes_next_record,
    is_compressed_as_one_stream,
    next_search_offset,
)
from builder.io.sources import Source

RECORD = b"WARC/1.0\r\nContent-Length: 3\r\n\r\nabc\r\n\r\n"
"""31 bytes of headers, 3 of the body and 4 after it."""
OTHER = RECORD.replace(b"abc", b"xyz")
GZIP, ZSTD = gzip.compress(RECORD, mtime=0), zstandard.compress(RECORD)
G, Z = len(GZIP), len(ZSTD)
GZIP_MAGIC, ZSTD_MAGIC = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"


@pytest.mark.parametrize(
    ("data", "start", "offset"),
    [
        *((RECORD * 3, start, 38) for start in (0, 1, 36, 38)),
        (RECORD * 3, 39, 76),
        (RECORD * 3, 77, None),
        (RECORD.replace(b"\r", b"") * 2, 1, 33),
        (b"x" + RECORD, 0, None),
        (b"x\n\n" + RECORD, 0, 3),
        (b"x\n\nWARC/1.10\n", 0, 3),
        (b"x\n\nWARC/1\n\n\nWARC/1.0 \n", 0, None),
        (GZIP * 3, 0, 0),
        (GZIP * 3, 1, G),
        (GZIP * 3, G, G),
        (GZIP * 3, 2 * G + 1, None),
        (GZIP + gzip.compress(b"x", mtime=0) + GZIP, 1, G + 21),
        (ZSTD * 3, 1, Z),
        (ZSTD * 3, 2 * Z, 2 * Z),
        (ZSTD * 3, 2 * Z + 1, None),
    ],
)
def test_the_next_record(tmp_path: Path, data: bytes, start: int, offset: int | None) -> None:
    (tmp_path / "a").write_bytes(data)
    with (tmp_path / "a").open("rb") as file:
        assert find_next_record(file, start) == offset


def test_the_record_after_a_member(tmp_path: Path) -> None:
    empty = gzip.compress(b"", mtime=0)
    for data, offset, expected in (
        (GZIP + empty + GZIP, 0, G + 20),
        (GZIP + empty + GZIP, G + 20, None),
        (GZIP[:-9] + b"x" * 9 + GZIP, 0, None),
        (ZSTD + ZSTD, 0, Z),
        (RECORD * 2, 0, None),
    ):
        (tmp_path / "a").write_bytes(data)
        with (tmp_path / "a").open("rb") as file:
            assert find_record_after_member(file, offset) == expected


def test_the_search_starts_after_a_body_or_a_member_and_never_at_the_same_place(
    tmp_path: Path,
) -> None:
    for data, offset, length, expected in (
        (RECORD * 2, 38, 3, 41),
        (RECORD * 2, 38, 0, 39),
        (GZIP * 2, 0, 3, G),
        (GZIP * 2, G, 3, 2 * G),
        (GZIP * 2 + GZIP[:-1], 2 * G, 3, 2 * G + 1),
        (ZSTD * 2, Z, 3, Z + 1),
    ):
        (tmp_path / "a").write_bytes(data)
        with (tmp_path / "a").open("rb") as file:
            assert next_search_offset(file, offset, length) == expected


@pytest.mark.parametrize(
    ("data", "offset", "length", "body", "expected"),
    [
        (RECORD + OTHER, 38, 38, None, False),
        (RECORD + OTHER, 38, 39, None, True),
        (RECORD + OTHER, 38, 34, b"xyz", False),
        (RECORD + OTHER, 38, 33, b"xy", True),
        (RECORD + OTHER[:-4], 38, 34, b"xyz", False),
        (RECORD + OTHER[:-2], 38, 34, b"xyz", True),
        (b"xyz" + OTHER, 3, 34, b"xyz", False),
        (GZIP * 2, G, 38, b"abc", False),
        (GZIP * 2, G, 39, None, True),
        (GZIP + GZIP[:-1], G, 99, None, False),
        (ZSTD * 2, 0, 39, None, True),
    ],
)
def test_a_declared_length_may_run_into_the_next_record(
    tmp_path: Path, data: bytes, offset: int, length: int, body: bytes | None, *, expected: bool
) -> None:
    (tmp_path / "a").write_bytes(data)
    with (tmp_path / "a").open("rb") as file:
        assert includes_next_record(file, offset, length, body) is expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"abc\r\n\r\nWARC/1.0\r\nWARC-Type: response", True),
        (b"\n\nWARC/1.10\nWARC-", True),
        (b"abc\r\nWARC/1.0\r\nWARC-Type: response", False),
        (b"abc\r\n\r\nWARC/1.0\r\nContent-Length: 3", False),
        (b"abc", False),
    ],
)
def test_a_body_may_contain_the_start_of_a_record(body: bytes, *, expected: bool) -> None:
    assert contains_record_start(body) is expected


@pytest.mark.parametrize(
    ("data", "offset", "length", "unreadable"),
    [
        (RECORD, 0, 3, None),
        *((RECORD + RECORD[:-cut], 38, 3, UnreadablePart(38, True)) for cut in (1, 2, 3, 4)),
        (RECORD[:-5], 0, 3, UnreadablePart(0, True)),
        (RECORD + b"\r\n", 0, 3, None),
        (RECORD + b"WAR", 0, 3, UnreadablePart(0, True)),
        (RECORD + b"\r\nWARC/1.0\r\n", 0, 3, UnreadablePart(0, True)),
        (RECORD + b"\x1f\x8b", 0, 3, UnreadablePart(0, True)),
        (RECORD + b"\x5d\x2a", 0, 3, UnreadablePart(0, True)),
        (RECORD + b"WARX", 0, 3, None),
        (RECORD + b"rubbish", 0, 3, None),
        (RECORD, 0, 2, None),
        (RECORD + RECORD[:20], 38, 0, UnreadablePart(38, True)),
        (RECORD + b"rubbish", 38, 0, None),
        (GZIP * 2 + b"\r\n \n", 0, 0, None),
        (GZIP * 2, 2 * G, 0, None),
        (GZIP + GZIP[:-1], 0, 0, UnreadablePart(G, True)),
        (GZIP + GZIP[:-8] + b"x" * 8, 0, 0, UnreadablePart(G, False)),
        (GZIP[:12] + b"\xff" * 40 + GZIP, 0, 0, UnreadablePart(0, False)),
        (GZIP + b"rubbish", 0, 0, UnreadablePart(G, False)),
        (ZSTD + ZSTD[:-1], 0, 0, UnreadablePart(Z, True)),
        (ZSTD + b"rubbish" + ZSTD, Z, 0, UnreadablePart(Z, False)),
    ],
)
def test_the_first_unreadable_part(
    tmp_path: Path, data: bytes, offset: int, length: int, unreadable: UnreadablePart | None
) -> None:
    (tmp_path / "a").write_bytes(data)
    with (tmp_path / "a").open("rb") as file:
        assert find_unreadable_part(file, offset, length) == unreadable


@pytest.mark.parametrize("pack", [lambda data: gzip.compress(data, mtime=0), zstandard.compress])
def test_an_archive_is_one_stream_if_its_first_member_has_more_than_a_record(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    """Up to 4 bytes of further blank lines belong to the record."""
    for data, expected in (
        (RECORD * 3, False),
        (pack(RECORD) * 3, False),
        (pack(RECORD * 2), True),
        (pack(RECORD + b"\r\n\r\n"), False),
        (pack(RECORD + b"\r\n\r\nx"), True),
        (pack(b"WARC/1.0\r\nContent-Type: text/html\r\n\r\nContent-Length: 3\r\n\r\n" * 2), False),
        (pack(b"rubbish" * 9), False),
        (b"\x50\x2a\x4d\x18\0\0\0\0" + pack(RECORD), True),
    ):
        (tmp_path / "a").write_bytes(data)
        with (tmp_path / "a").open("rb") as file:
            assert is_compressed_as_one_stream(file) is expected, data


def _mapped(folder: Path, data: bytes) -> mmap.mmap:
    (folder / "a").write_bytes(data)
    with (folder / "a").open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


@pytest.mark.parametrize("chunk", [1, 7, 2**16])
def test_members_have_an_end_and_a_size(
    tmp_path: Path, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warc_members, "GZIP_CHUNK", chunk)
    monkeypatch.setattr(warc_members, "ZSTD_INPUT", chunk)
    for member, magic in ((GZIP, GZIP_MAGIC), (ZSTD, ZSTD_MAGIC)):
        length = len(member)
        with _mapped(tmp_path, member * 2 + member[:-1]) as data:
            assert member_magic(data) == magic
            assert read_member(data, 0, magic) == CompressedMember(length, 38, is_complete=True)
            second = CompressedMember(2 * length, 38, is_complete=True)
            assert read_member(data, length, magic) == second
            last = read_member(data, 2 * length, magic)
            assert last is not None
            assert (last.end, last.is_complete) == (3 * length - 1, False)
            assert read_member(data, 1, magic) is None
            sizes = [decompressed_member_size(data, n, magic) for n in (0, 1, 2 * length)]
            assert sizes == [38, None, None]
            assert list(find_occurrences(data, magic, 1)) == [length, 2 * length]


def test_starts_of_records_are_recognized(tmp_path: Path) -> None:
    others = [gzip.compress(b"WARCX", mtime=0), zstandard.compress(b"x"), b"\x1f\x8b\x08rubbish"]
    members = [GZIP, ZSTD, zstandard.compress(b""), *others]
    with _mapped(tmp_path, b"".join(members)) as data:
        offsets = [sum(map(len, members[:n])) for n in range(6)]
        assert [may_be_record_start(data, offset) for offset in offsets] == [True] * 3 + [False] * 3
    with _mapped(tmp_path, RECORD) as data:
        assert member_magic(data) is None


LOWER = (
    b"warc/1.0\r\nwarc-type: x\r\ncontent-length : 20\r\nwarc-x: 1\r\n\r\n"
    b"content-length: 3\r\n\n\r\n\r\n"
)
CONVERTED = LOWER.replace(b"warc-type", b"WARC-Type").replace(
    b"content-length :", b"Content-Length :"
)


@pytest.mark.parametrize("size", [-1, 1, 5, 1000])
@pytest.mark.parametrize("header_bytes", [8, 2**16])
def test_names_in_headers_are_converted_and_those_in_bodies_are_not(
    tmp_path: Path, size: int, header_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source(tmp_path / "a", "a")
    for data, standard in ((LOWER * 2, False), (CONVERTED * 2, True), (b"rubbish", True)):
        source.path.write_bytes(data)
        assert has_standard_header_names(source) is standard
        monkeypatch.setattr(warc_headers, "HEADER_BYTES", 2**16 if standard else header_bytes * 8)
        with StandardHeaderStream(source) as stream:
            parts = list(iter(lambda: stream.read(size), b""))
        monkeypatch.undo()
        assert b"".join(parts) == (data if standard else CONVERTED * 2)
        assert size < 0 or max(map(len, parts)) <= size
