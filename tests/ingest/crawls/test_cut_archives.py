"""Archives that end early: each cut is reported, records before it are kept, none is invented."""

import gzip
import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import zstandard

from builder.ingest.crawls.formats import read_pages
from builder.ingest.zstd_dictionary import MAX_DICTIONARY_BYTES, create_decompressor
from builder.io.sources import Interval, Source
from builder.parameters import CrawlParameters
from builder.runtime.limits import ResourceLimits

RECORDS = 12
CUTS = 40
Row = tuple[str, str, str, bool]


class Archive(NamedTuple):
    """The bytes of an archive, and where each of its records ends; None: only the file ends."""

    data: bytes
    ends: list[int] | None


def _record(number: int) -> bytes:
    words = " ".join(random.Random(number).choices("abcdefgh", k=90))
    page = f"<html><head><title>{number}</title></head><body><p>{words}</p></body></html>"
    http = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{page}".encode()
    return _with_header(number, "response", "application/http; msgtype=response", http)


def _text(number: int) -> bytes:
    words = " ".join(random.Random(number).choices("abcdefgh", k=90))
    return _with_header(number, "conversion", "text/plain", f"{number} {words}".encode())


def _with_header(number: int, kind: str, media: str, block: bytes) -> bytes:
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: https://a.example/{number}\r\n"
        f"WARC-Date: 2022-06-15T12:00:00Z\r\nContent-Type: {media}\r\n"
        f"Content-Length: {len(block)}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


def _packed(records: list[bytes], pack: Callable[[bytes], bytes]) -> Archive:
    members = [pack(record) for record in records]
    ends = [sum(map(len, members[: n + 1])) for n in range(len(members))]
    return Archive(b"".join(members), ends)


def _gzip(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


PAGES, TEXTS = [_record(n) for n in range(RECORDS)], [_text(n) for n in range(RECORDS)]
DICTIONARY = zstandard.train_dictionary(2048, PAGES * 20)


def _with_dictionary(dictionary: bytes) -> Archive:
    """An archive of frames that need a dictionary, which is in a skippable frame at its start."""
    start = b"\x5d\x2a\x4d\x18" + len(dictionary).to_bytes(4, "little") + dictionary
    records = _packed(PAGES, zstandard.ZstdCompressor(dict_data=DICTIONARY).compress)
    return Archive(start + records.data, [len(start) + end for end in records.ends or ()])


ARCHIVES = {
    "a.warc": _packed(PAGES, bytes),
    "a.warc.gz": _packed(PAGES, _gzip),
    "one.warc.gz": Archive(_gzip(b"".join(PAGES)), None),
    "a.warc.zst": _packed(PAGES, zstandard.compress),
    "a.wet": _packed(TEXTS, bytes),
    "dictionary.warc.zst": _with_dictionary(DICTIONARY.as_bytes()),
    "packed.warc.zst": _with_dictionary(zstandard.compress(DICTIONARY.as_bytes())),
    "one.wet.zst": Archive(zstandard.compress(b"".join(TEXTS)), None),
}


def _read(folder: Path, name: str, data: bytes) -> tuple[list[Row], list[tuple[int, str]], int]:
    """Pages, rejects and number of records of an archive."""
    path = folder / name
    path.write_bytes(data)
    source, params = Source(path, name), CrawlParameters()
    blocks = list(read_pages(source, Interval(0, 2**33), params, ResourceLimits(folder, threads=1)))
    columns = ("url", "title", "text", "truncated")
    pages = [row for block in blocks for row in block.pages.select(columns).iter_rows()]
    rejects = [reject for block in blocks for reject in block.rejects]
    return pages, rejects, sum(block.records for block in blocks)


@pytest.mark.parametrize("name", ARCHIVES)
def test_cuts_at_random_offsets(tmp_path: Path, name: str) -> None:
    archive = ARCHIVES[name]
    whole, rejects, _ = _read(tmp_path, name, archive.data)
    assert (len(whole), rejects) == (RECORDS, [])
    draw = random.Random(name)
    offsets = draw.sample(range(1, len(archive.data)), CUTS)
    ends = archive.ends or []
    near = [end + n for end in ends[3:5] for n in (-9, -5, -4, -3, -2, -1, 1, 4, 9)]
    for offset in [*range(1, 6), *offsets, *near]:
        pages, rejects, records = _read(tmp_path, name, archive.data[:offset])
        before = sum(end <= offset for end in ends)
        assert pages == whole[: len(pages)], offset
        assert len(pages) >= before, offset
        if offset in ends:
            assert (len(pages), rejects) == (before, [])
        else:
            assert rejects == [(len(pages) + 1, "file_truncated")], offset
            assert archive.ends is None or len(pages) <= before + 1
        assert records == len(pages) + len(rejects)


@pytest.mark.parametrize("name", ["one.warc.gz", "one.wet.zst"])
def test_what_was_unpacked_before_the_cut_is_kept(tmp_path: Path, name: str) -> None:
    unpacked = b"".join(PAGES if name == "one.warc.gz" else TEXTS)
    data = _flushed(name, unpacked)
    pages, rejects, _ = _read(tmp_path, name, data[:-20])
    assert len(pages) >= RECORDS - 2
    assert [reason for _, reason in rejects] == ["file_truncated"]


def _flushed(name: str, data: bytes) -> bytes:
    """Data packed as one member in blocks, so that a cut at its end costs the last block alone."""
    step = len(data) // RECORDS
    if name.endswith(".zst"):
        packer = zstandard.ZstdCompressor().compressobj()
        flush: Callable[[], bytes] = lambda: packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)  # noqa: E731
        pieces = [packer.compress(data[n : n + step]) + flush() for n in range(0, len(data), step)]
        return b"".join(pieces) + packer.flush()
    import zlib

    member = zlib.compressobj(wbits=31)
    blocks = [
        member.compress(data[n : n + step]) + member.flush(zlib.Z_FULL_FLUSH)
        for n in range(0, len(data), step)
    ]
    return b"".join(blocks) + member.flush()


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz", "a.warc.zst"])
def test_a_cut_request_is_reported(tmp_path: Path, name: str) -> None:
    pack = {"a.warc": bytes, "a.warc.gz": _gzip, "a.warc.zst": zstandard.compress}[name]
    request = _with_header(1, "request", "application/http; msgtype=request", b"GET /1 " * 30)
    archive = _packed([PAGES[0], request], pack)
    pages, rejects, records = _read(tmp_path, name, archive.data[:-20])
    assert ([page[0] for page in pages], rejects) == (
        ["https://a.example/0"],
        [(2, "file_truncated")],
    )
    assert records == 2


def test_a_large_page_that_was_cut_is_no_wrong_length(tmp_path: Path) -> None:
    (tmp_path / "a.warc").write_bytes(PAGES[0] + PAGES[1][:-60])
    params = CrawlParameters(max_record_bytes=100)
    source = Source(tmp_path / "a.warc", "a.warc")
    blocks = list(
        read_pages(source, Interval(0, 2**33), params, ResourceLimits(tmp_path, threads=1))
    )
    rejects = [reject for block in blocks for reject in block.rejects]
    assert rejects == [(1, "record_too_large"), (2, "file_truncated")]


@pytest.mark.parametrize("dictionary", [b"\x37\xa4\x30\xec" + b"rubbish " * 9, b"\x28\xb5\x2f\xfd"])
def test_a_damaged_dictionary_is_damage(tmp_path: Path, dictionary: bytes) -> None:
    data = _with_dictionary(dictionary).data
    assert _read(tmp_path, "a.warc.zst", data) == ([], [(1, "file_damaged")], 1)


def test_other_frames_at_the_start_are_skipped(tmp_path: Path) -> None:
    """The program pzstd writes the size of each frame before it."""
    data = b"".join(PAGES)
    frames = map(zstandard.compress, (data[:999], data[999:]))
    packed = b"".join(
        b"\x50\x2a\x4d\x18\x04\0\0\0" + b"%04d" % len(frame) + frame for frame in frames
    )
    pages, rejects, _ = _read(tmp_path, "a.warc.zst", packed)
    assert (len(pages), rejects) == (RECORDS, [])


def test_a_dictionary_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    size = (MAX_DICTIONARY_BYTES + 1).to_bytes(4, "little")
    bomb = zstandard.ZstdCompressor().compress(bytes(MAX_DICTIONARY_BYTES + 1))
    plain = tmp_path / "plain.zst"
    plain.write_bytes(b"\x5d\x2a\x4d\x18" + size)
    packed = tmp_path / "packed.zst"
    packed.write_bytes(b"\x5d\x2a\x4d\x18" + len(bomb).to_bytes(4, "little") + bomb)
    frame = zstandard.ZstdCompressor(dict_data=DICTIONARY).compress(PAGES[0])
    for path in (plain, packed):
        with pytest.raises(zstandard.ZstdError, match="Dictionary mismatch"):
            create_decompressor(path).decompress(frame)
