"""Archives that are damaged within, dates of ClueWeb09, and files of kinds that nobody reads."""

import bz2
import gzip
import io
import lzma
import sqlite3
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.errors import FormatError
from builder.ingest.crawls.formats import read_pages
from builder.ingest.crawls.warc_recovery import next_search_offset
from builder.io.sources import Interval, Source
from builder.parameters import CrawlParameters, LogParameters
from builder.runtime.limits import ResourceLimits
from tests.ingest.logs.log_files import read_impressions

INTERVAL = Interval(0, 4 * 10**9)
HTML = "<html><head><title>{n}</title></head><body><p>{text}</p>{more}</body></html>"
PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "zstd": zstandard.compress,
}


def _record(number: int, more: str = "", date: str = "2022-06-15T12:00:00Z") -> bytes:
    body = HTML.format(n=number, text=f"La page {number} en quelques mots. " * 4, more=more)
    http = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{body}".encode()
    head = (
        "WARC/1.0\r\nWARC-Type: response\r\n"
        f"WARC-Target-URI: https://a.example/{number}\r\nWARC-Date: {date}\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
    )
    return head.encode() + http + b"\r\n\r\n"


def _read(path: Path) -> tuple[list[str], list[str]]:
    """Numbers of the pages that are read, and reasons of rejects."""
    pages, reasons = [], []
    source = Source(path, path.name)
    for block in read_pages(source, INTERVAL, CrawlParameters(), ResourceLimits(path.parent)):
        pages += block.pages["title"].to_list()
        reasons += [reason for _, reason in block.rejects]
        assert block.records == block.pages.height + len(block.rejects)
    return pages, reasons


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_record_that_was_cut_costs_no_other_but_the_next(tmp_path: Path, packing: str) -> None:
    records = [PACKINGS[packing](_record(n)) for n in range(8)]
    records[3] = records[3][:-40]
    (tmp_path / "a").write_bytes(b"".join(records))
    pages, reasons = _read(tmp_path / "a")
    lost = {"3"} if packing != "plain" else {"4"}  # a body of known length takes the next header
    assert set(pages) == {str(n) for n in range(8)} - lost
    assert reasons == ["file_damaged"]


@pytest.mark.parametrize("packing", PACKINGS)
def test_rubbish_between_records_is_one_reject(tmp_path: Path, packing: str) -> None:
    records = [PACKINGS[packing](_record(n)) for n in range(6)]
    rubbish = b"\x00rubbish \x1f\x8b\x08 \x28\xb5\x2f\xfd" * 300 + b"\r\n\r\n"
    (tmp_path / "a").write_bytes(b"".join(records[:2]) + rubbish + b"".join(records[2:]))
    pages, reasons = _read(tmp_path / "a")
    assert pages == [str(n) for n in range(6)]
    assert reasons == ["file_damaged"]


@pytest.mark.parametrize("packing", PACKINGS)
def test_each_damaged_stretch_is_told(tmp_path: Path, packing: str) -> None:
    good = [PACKINGS[packing](_record(n)) for n in range(6)]
    damaged = b"\x00" * 50 + b"\r\n\r\n"
    parts = [good[0], good[1], damaged, good[2], damaged, damaged, good[3], good[4], damaged]
    (tmp_path / "a").write_bytes(b"".join(parts))
    pages, reasons = _read(tmp_path / "a")
    assert pages == [str(n) for n in range(5)]
    assert reasons == ["file_damaged"] * 3


@pytest.mark.parametrize(("most", "last"), [(1, []), (2, ["1"])])
def test_reading_stops_after_many_parts_without_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, last: list[str]
) -> None:
    """Two requests, each after and before rubbish, stand between two pages."""
    monkeypatch.setattr("builder.ingest.crawls.warc.MAX_EMPTY_RESTARTS", most)
    asked = _record(7).replace(b"WARC-Type: response", b"WARC-Type: request")
    rubbish = b"\x00" * 50 + b"\r\n\r\n"
    parts = [_record(0), rubbish, asked, rubbish, asked, rubbish, _record(1)]
    (tmp_path / "a").write_bytes(b"".join(parts))
    pages, reasons = _read(tmp_path / "a")
    assert pages == ["0", *last]
    assert set(reasons) == {"file_damaged"}


@settings(max_examples=40, deadline=None)
@given(data=st.data(), packing=st.sampled_from(["gzip", "zstd"]))
def test_bytes_that_changed_cost_their_record_alone(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, packing: str
) -> None:
    records = [PACKINGS[packing](_record(n)) for n in range(5)]
    hit = data.draw(st.integers(0, 4))  # of the first record, the name says that it is an archive
    place = data.draw(st.integers(0, len(records[hit]) - 1))
    changed = bytearray(records[hit])
    changed[place : place + 20] = data.draw(st.binary(min_size=20, max_size=20))
    records[hit] = bytes(changed)
    path = tmp_path_factory.mktemp("a") / "a.warc"
    path.write_bytes(b"".join(records))
    if hit == 0 and place < 4:
        return  # nobody can tell any more how the file is packed
    pages, reasons = _read(path)
    assert set(pages) >= {str(n) for n in range(5) if n not in (hit, hit + 1)}
    assert len(pages) == len(set(pages))
    assert len(pages) + len(reasons) >= 4


def test_a_member_that_claims_all_that_follows_is_told(tmp_path: Path) -> None:
    records = [gzip.compress(_record(n)) for n in range(5)]
    claim = b"\x04" + bytes(6) + (600).to_bytes(2, "little")  # an extra field of 600 bytes
    for hit, pages, reason in ((3, "0124", "file_damaged"), (4, "0123", "file_truncated")):
        changed = records[hit][:3] + claim + records[hit][3 + len(claim) :]
        archive = b"".join([*records[:hit], changed, *records[hit + 1 :]])
        (tmp_path / "a.warc.gz").write_bytes(archive)
        assert _read(tmp_path / "a.warc.gz") == (list(pages), [reason])


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_records_after_an_empty_member_are_read(tmp_path: Path, packing: str) -> None:
    """Reading stopped there without a word."""
    pack = PACKINGS[packing]
    (tmp_path / "a.warc").write_bytes(b"".join(pack(_record(n)) + pack(b"") for n in range(3)))
    assert _read(tmp_path / "a.warc") == (["0", "1", "2"], [])


@pytest.mark.parametrize("blank", [b"", b"\n"])
@pytest.mark.parametrize("packing", ["plain", "gzip"])
def test_the_end_of_a_good_archive_is_no_damage(tmp_path: Path, packing: str, blank: bytes) -> None:
    asked = _record(7).replace(b"WARC-Type: response", b"WARC-Type: request")
    records = [PACKINGS[packing](record) for record in (_record(0), _record(1), asked)]
    (tmp_path / "a.warc").write_bytes(b"".join(records) + blank)
    assert _read(tmp_path / "a.warc") == (["0", "1"], [])


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("more", [b"1", b"9", b"99999"])
def test_a_record_that_says_it_is_longer_costs_no_other(
    tmp_path: Path, packing: str, more: bytes
) -> None:
    records = [_record(n) for n in range(5)]
    records[2] = records[2].replace(b"Content-Length: ", b"Content-Length: " + more)
    (tmp_path / "a.warc").write_bytes(b"".join(map(PACKINGS[packing], records)))
    assert _read(tmp_path / "a.warc") == (list("0134"), ["bad_length"])


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_a_last_record_that_is_shorter_than_it_says_is_no_loss_without_a_word(
    tmp_path: Path, packing: str
) -> None:
    """The archive was compressed as one stream, which is whole; its last record was cut before."""
    records = _record(0) + _record(1) + _record(2)
    (tmp_path / "a").write_bytes(PACKINGS[packing](records[:-60]))
    pages, reasons = _read(tmp_path / "a")
    assert pages[:2] == ["0", "1"]
    assert len(pages) + len(reasons) == 3


def test_a_page_that_ends_before_its_member_is_flagged(tmp_path: Path) -> None:
    records = [_record(0), _record(1).replace(b"Content-Length: ", b"Content-Length: 9")]
    path = tmp_path / "a.warc"
    path.write_bytes(b"".join(map(gzip.compress, records)))
    blocks = read_pages(Source(path, "a"), INTERVAL, CrawlParameters(), ResourceLimits(tmp_path))
    pages = pl.concat(block.pages for block in blocks)
    assert pages.select("title", "truncated").rows() == [("0", False), ("1", True)]


@pytest.mark.parametrize(
    ("header", "reasons"),
    [(b"WARC-Typo: response", ["bad_header"]), (b"WARC-Type: screenshot", [])],
)
def test_records_without_a_type_are_told_those_of_other_types_are_none(
    tmp_path: Path, header: bytes, reasons: list[str]
) -> None:
    other = _record(1).replace(b"WARC-Type: response", header)
    (tmp_path / "a.warc").write_bytes(_record(0) + other + _record(2))
    assert _read(tmp_path / "a.warc") == (["0", "2"], reasons)


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("others", [[], [1]])
def test_a_page_about_archives_is_one_page(tmp_path: Path, packing: str, others: list[int]) -> None:
    shown = "<pre>\r\n\r\nWARC/1.0\r\nWARC-Type: response\r\n</pre>"
    records = [_record(0, more=shown), *map(_record, others)]
    (tmp_path / "a.warc").write_bytes(b"".join(map(PACKINGS[packing], records)))
    assert _read(tmp_path / "a.warc") == ([str(n) for n in (0, *others)], [])


@pytest.mark.parametrize("ends", [b"\r\n", b"\n"])
def test_a_damaged_record_without_a_body_is_left_behind(tmp_path: Path, ends: bytes) -> None:
    empty = (
        _record(1).partition(b"Content-Length")[0] + b"Content-Length: 0\r\n\r\n\r\n\r\nrubbish\r\n"
    )
    archive = _record(0) + b"rubbish\r\n\r\n" + empty + b"\r\n" + empty
    (tmp_path / "a.warc").write_bytes(archive.replace(b"\r\n", ends))
    pages, reasons = _read(tmp_path / "a.warc")
    assert pages == ["0"]
    assert reasons.count("file_damaged") <= 3


def test_what_a_good_page_shows_is_no_record(tmp_path: Path) -> None:
    shown = "\r\n\r\n" + _record(9).decode()
    archive = _record(0, more=shown) + b"rubbish\r\n\r\n" + _record(1)
    (tmp_path / "a.warc").write_bytes(archive)
    assert _read(tmp_path / "a.warc") == (["0", "1"], ["file_damaged"])


def test_where_a_member_ends(tmp_path: Path) -> None:
    members = [gzip.compress(_record(n)) for n in range(2)]
    path = tmp_path / "a.gz"
    path.write_bytes(b"".join(members) + members[0][:60] + b"\xff" * 99)
    with path.open("rb") as file:
        assert next_search_offset(file, 0, 1) == len(members[0])
        assert next_search_offset(file, len(members[0]), 1) == len(b"".join(members))
        damaged = len(b"".join(members))
        assert next_search_offset(file, damaged, 1) in (damaged + 1, path.stat().st_size)


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        ("2009-03-65T08:43:19-0800", 1236357799),
        ("2008-10-294T05:21:46-0700", 1224505306),
        ("2009-04-65T08:43:19-0800", None),
        ("2009-13-400T08:43:19-0800", None),
        ("2009-03-65", None),
    ],
)
def test_days_of_the_year(tmp_path: Path, date: str, expected: int | None) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(_record(1, date=date))
    (block,) = read_pages(Source(path, "a"), INTERVAL, CrawlParameters(), ResourceLimits(tmp_path))
    if expected is None:
        assert block.rejects == [(1, "bad_time")]
    else:
        assert block.pages["fetched_at"].to_list() == [expected]


LINE = b'{"time": 1655294400, "user": "u", "query": "eau", "results": ["https://a.example/"]}\n'


def _tar(data: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        info = tarfile.TarInfo("log.jsonl")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def _zip(data: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("log.jsonl", data)
    return packed.getvalue()


def _database(_: bytes) -> bytes:
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE log (query TEXT)")
        return connection.serialize()


@pytest.mark.parametrize(
    ("pack", "said"),
    [
        (bz2.compress, "found a bzip2 file; decompress it, or compress it with gzip or zstd"),
        (lzma.compress, "found an xz file"),
        (_tar, "found a tar archive; extract it and list its files"),
        (_zip, "found a zip archive"),
        (_database, "found a SQLite database; export it as Parquet or JSON lines"),
        (lambda _: b"filedesc://a.arc 0.0.0.0 20220615 text/plain 9\n", "convert it to WARC"),
    ],
)
def test_other_kinds_of_files_are_named(
    tmp_path: Path, pack: Callable[[bytes], bytes], said: str
) -> None:
    path = tmp_path / "log"
    path.write_bytes(pack(LINE * 100))
    source = Source(path, "log")
    with pytest.raises(FormatError, match=said):
        list(read_impressions(source, INTERVAL, LogParameters()))
    with pytest.raises(FormatError, match=said):
        list(read_pages(source, INTERVAL, CrawlParameters(), ResourceLimits(tmp_path)))


def test_texts_that_begin_like_other_kinds_are_texts(tmp_path: Path) -> None:
    path = tmp_path / "log.tsv"
    path.write_bytes(b"BZh\tORC\tPK\tObj\n" * 40)
    with pytest.raises(FormatError, match="expected a header"):
        list(read_impressions(Source(path, "log.tsv"), INTERVAL, LogParameters()))


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz", "A.WARC.zst", "a.warc.gz.open"])
def test_an_archive_whose_first_record_is_rubbish_is_known_by_its_name(
    tmp_path: Path, name: str
) -> None:
    archive = b"rubbish, as of a damaged frame\r\n\r\n" + b"".join(_record(n) for n in range(3))
    (tmp_path / name).write_bytes(archive)
    assert _read(tmp_path / name) == (["0", "1", "2"], ["file_damaged"])
