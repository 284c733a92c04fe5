"""Records of archives: URLs, dates, incomplete and binary bodies."""

import gzip
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from builder.ingest.crawls.fetches import FetchBatch, parse_batch
from builder.ingest.crawls.page import RawPage
from builder.ingest.crawls.warc import read_archive_fetches
from builder.io.sources import Source
from builder.parameters import CrawlParameters
from builder.runtime.limits import ResourceLimits

FETCHED = 1654243200  # 2022-06-03T08:00:00Z
HTML = b"<html><body><p>Un texte assez long sur le sujet de l'eau.</p></body></html>"
URL = b"https://a.example/1"


def read(
    folder: Path,
    body: bytes = HTML,
    headers: str = "",
    url: bytes = URL,
    media_type: str = "text/html",
    status: str = "HTTP/1.1 200 OK",
    max_bytes: int = 2**20,
) -> RawPage | str:
    """The raw page or reject reason of a response."""
    http = f"{status}\r\nContent-Type: {media_type}\r\n{headers}\r\n".encode() + body
    path = folder / "c.warc"
    path.write_bytes(
        b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Date: 2022-06-03T08:00:00Z\r\n"
        b"WARC-Target-URI: %s\r\nContent-Type: application/http; msgtype=response\r\n"
        b"Content-Length: %d\r\n\r\n%s\r\n\r\n" % (url, len(http), http)
    )
    params = CrawlParameters(max_record_bytes=max_bytes)
    batch = FetchBatch("c.warc", tuple(read_archive_fetches(Source(path, "c.warc"), params)))
    ((_, page),) = parse_batch(batch, ResourceLimits(folder, threads=1), params)
    return page


def is_truncated(page: RawPage | str) -> bool | None:
    assert isinstance(page, RawPage)
    return page.is_truncated


@pytest.mark.parametrize(
    "body",
    [b"%PDF-1.7\n%", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0", b"GIF89a", b"PK\x03\x04\x14"],
)
@pytest.mark.parametrize("headers", ["", "Content-Encoding: gzip\r\n"])
def test_binary_bodies_sent_as_html_are_rejected(tmp_path: Path, body: bytes, headers: str) -> None:
    body += HTML
    assert read(tmp_path, gzip.compress(body) if headers else body, headers) == "not_html"


@pytest.mark.parametrize("media_type", ["unknown/unknown", "application/unknown", "*/*"])
def test_bodies_of_unknown_type_are_sniffed(tmp_path: Path, media_type: str) -> None:
    """They were rejected even if they were HTML."""
    page = read(tmp_path, media_type=media_type)
    assert isinstance(page, RawPage)
    assert page.text == "Un texte assez long sur le sujet de l'eau."
    assert read(tmp_path, b"Un texte.", media_type=media_type) == "not_html"


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("HTTP/1.1 404 Not Found", "http_404"),
        ("HTTP/1.0 206", "http_206"),
        ("HTTP/1.1", "http_without_status"),
    ],
)
def test_other_responses_are_rejected_by_status(tmp_path: Path, status: str, reason: str) -> None:
    assert read(tmp_path, status=status) == reason


def test_a_record_may_be_as_large_as_the_limit(tmp_path: Path) -> None:
    size = len(HTML)
    assert isinstance(read(tmp_path, max_bytes=size), RawPage)
    assert read(tmp_path, max_bytes=size - 1) == "record_too_large"


@pytest.mark.parametrize(
    ("kind", "content_type", "more", "expected"),
    [
        ("response", "text/html", "", "not_http"),
        ("resource", "text/html; charset=utf-8", "", False),
        ("resource", "application/xhtml+xml", "WARC-Segment-Number:  1 \r\n", True),
        ("resource", "text/html", "WARC-Segment-Number: 2\r\n", "segmented_record"),
        ("resource", "text/html", "WARC-Truncated: time\r\n", True),
        ("resource", "text/plain", "", "not_html"),
        ("conversion", "text/html", "", "not_html"),
        ("conversion", "text/plain", "", False),
        ("revisit", "application/http", "", "revisit"),
        ("continuation", "text/html", "", "segmented_record"),
    ],
)
def test_records_of_other_types(
    tmp_path: Path, kind: str, content_type: str, more: str, expected: bool | str
) -> None:
    """Whether the page of a record is truncated, or why it is none."""
    (tmp_path / "c.warc").write_bytes(
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Date: 2022-06-03T08:00:00Z\r\n{more}"
        f"WARC-Target-URI: https://a.example/1\r\nContent-Type: {content_type}\r\n"
        f"Content-Length: {len(HTML)}\r\n\r\n".encode()
        + HTML
        + b"\r\n\r\n"
    )
    source = Source(tmp_path / "c.warc", "c.warc")
    for limit, reason in ((len(HTML), expected), (len(HTML) - 1, "record_too_large")):
        params = CrawlParameters(max_record_bytes=limit)
        ((number, fetch),) = read_archive_fetches(source, params)
        is_page = isinstance(expected, bool) or expected == "not_html"
        wanted = reason if is_page else expected
        assert (number, fetch if isinstance(fetch, str) else fetch.is_truncated) == (1, wanted)


def test_a_compressed_body_without_a_header_is_read(tmp_path: Path) -> None:
    page = read(tmp_path, gzip.compress(HTML))
    assert isinstance(page, RawPage)
    assert (page.text, page.is_truncated) == ("Un texte assez long sur le sujet de l'eau.", False)


PACKED = gzip.compress(HTML, mtime=0)
GZIP = "Content-Encoding: gzip\r\n"


@pytest.mark.parametrize(
    ("body", "headers", "expected"),
    [
        (HTML, f"Content-Length: {len(HTML)}\r\n", False),
        (HTML, f"Content-Length: {len(HTML) + 1}\r\n", True),
        (HTML, f"Content-Length: {len(HTML) - 1}\r\n", False),
        (HTML, "Content-Length: -1\r\n", False),
        (HTML, f"Content-Length: {'9' * 5000}\r\n", False),
        (HTML, "X-Crawl-Content-Length: 5000\r\n", False),
        (HTML, f"{GZIP}Content-Length: 5000\r\n", False),  # decoded by the crawler
        (PACKED, f"{GZIP}Content-Length: {len(PACKED)}\r\n", False),
        (PACKED, f"{GZIP}Content-Length: 5000\r\n", True),
        (PACKED[:-20], GZIP, True),
        (HTML, "Transfer-Encoding: chunked\r\nContent-Length: 5000\r\n", False),
        (b"50\r\n" + HTML, "Transfer-Encoding: chunked\r\n", True),
    ],
)
def test_incomplete_bodies_are_flagged(
    tmp_path: Path, body: bytes, headers: str, expected: bool
) -> None:
    assert is_truncated(read(tmp_path, body, headers)) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Fri, 03 Jun 2022 06:00:00 GMT", FETCHED - 7200),
        ("Fri, 03 Jun 2022 06:00:00", FETCHED - 7200),
        ("Fri, 03 Jun 2022 08:00:02 GMT", FETCHED),
        ("Thu, 01 Jan 1970 00:00:00 GMT", None),
        ("Fri, 03 Jan 2031 06:00:00 GMT", None),
        ("0", None),
    ],
)
def test_last_modified(
    tmp_path: Path, text: str, expected: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    page = read(tmp_path, headers=f"Last-Modified: {text}\r\n")
    monkeypatch.undo()
    time.tzset()
    assert isinstance(page, RawPage)
    assert page.modified_at == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://a.example/forêt".encode(), "https://a.example/forêt"),
        ("https://a.example/forêt".encode("latin-1"), "https://a.example/for%EAt"),
        (b"<https://a.example/for%EAt?q=1>", "https://a.example/for%EAt?q=1"),
    ],
)
def test_urls_in_other_encodings(tmp_path: Path, url: bytes, expected: str) -> None:
    page = read(tmp_path, url=url)
    assert isinstance(page, RawPage)
    assert page.url == expected


def _segment(kind: str, number: int, block: bytes) -> bytes:
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Date: 2022-06-03T08:00:00Z\r\n"
        "WARC-Target-URI: https://a.example/1\r\n"
        "Content-Type: application/http; msgtype=response\r\n"
        f"WARC-Segment-Number: {number}\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


@pytest.mark.parametrize("later", ["continuation", "response"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_segments(tmp_path: Path, later: str, pack: Callable[[bytes], bytes]) -> None:
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + HTML
    segments = [
        _segment("response", 1, http[:90]),
        _segment(later, 2, http[90:100]),
        _segment(later, 3, http[100:]),
    ]
    path = tmp_path / "c.warc"
    path.write_bytes(b"".join(map(pack, segments)))
    params = CrawlParameters()
    batch = FetchBatch("c.warc", tuple(read_archive_fetches(Source(path, "c.warc"), params)))
    (_, page), *rest = parse_batch(batch, ResourceLimits(tmp_path, threads=1), params)
    assert is_truncated(page)
    assert rest == [(2, "segmented_record"), (3, "segmented_record")]


def lowercase(names: bytes) -> bytes:
    return names.lower()


def uppercase(names: bytes) -> bytes:
    return names.upper()


def record(number: int, convert: Callable[[bytes], bytes], end: bytes) -> bytes:
    """A response whose body has lines like those of a record header."""
    body = HTML.replace(b"assez", b"assez\ncontent-length: 5\nwarc-type: request\r\n\r\n" * 9)
    body = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n" + body * number
    headers = {
        b"WARC-Type": b"response",
        b"WARC-Date": b"2022-06-03T08:00:00Z",
        b"WARC-Target-URI": b"https://a.example/%d" % number,
        b"Content-Type": b"application/http; msgtype=response",
        b"Content-Length": b"%d" % len(body),
    }
    lines = [b"WARC/1.0", *(convert(name) + b": " + text for name, text in headers.items())]
    return end.join(lines) + end * 2 + body + end * 2


@pytest.mark.parametrize("convert", [lowercase, uppercase])
@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_names_of_headers_may_be_in_any_case(
    tmp_path: Path,
    convert: Callable[[bytes], bytes],
    end: bytes,
    compress: Callable[[bytes], bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The last record is that of another program: its names are as in the standard."""
    converts = [convert, convert, bytes]
    for name, cases in (("c.warc", converts), ("standard.warc", [bytes] * 3)):
        parts = [compress(record(300 * n + 1, case, end)) for n, case in enumerate(cases)]
        (tmp_path / name).write_bytes(b"".join(parts))
    monkeypatch.setattr("builder.ingest.crawls.warc_headers.HEADER_BYTES", 1000)
    found, expected = (
        list(read_archive_fetches(Source(tmp_path / name, name), CrawlParameters()))
        for name in ("c.warc", "standard.warc")
    )
    assert found == expected
    assert [number for number, fetch in found if not isinstance(fetch, str)] == [1, 2, 3]


def test_a_truncated_archive_with_lowercase_names_is_noticed(tmp_path: Path) -> None:
    records = [record(number, lowercase, b"\r\n") for number in (1, 2)]
    (tmp_path / "c.warc").write_bytes(b"".join(records)[:-100])
    (tmp_path / "c.warc.gz").write_bytes(b"".join(map(gzip.compress, records))[:-20])
    plain, packed = (
        list(read_archive_fetches(Source(tmp_path / name, name), CrawlParameters()))
        for name in ("c.warc", "c.warc.gz")
    )
    assert [(n, getattr(fetch, "is_truncated", fetch)) for n, fetch in plain] == [
        (1, False),
        (2, True),
    ]
    assert [(n, getattr(fetch, "is_truncated", fetch)) for n, fetch in packed] == [
        (1, False),
        (2, "file_truncated"),
    ]
