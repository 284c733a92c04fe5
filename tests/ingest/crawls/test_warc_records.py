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
from builder.runtime.limits import Limits

FETCHED = 1654243200  # 2022-06-03T08:00:00Z
HTML = b"<html><body><p>Un texte assez long sur le sujet de l'eau.</p></body></html>"
URL = b"https://a.example/1"


def read(folder: Path, body: bytes = HTML, headers: str = "", url: bytes = URL) -> RawPage | str:
    """The raw page or reject reason of a response."""
    http = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{headers}\r\n".encode() + body
    path = folder / "c.warc"
    path.write_bytes(
        b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Date: 2022-06-03T08:00:00Z\r\n"
        b"WARC-Target-URI: %s\r\nContent-Type: application/http; msgtype=response\r\n"
        b"Content-Length: %d\r\n\r\n%s\r\n\r\n" % (url, len(http), http)
    )
    params = CrawlParameters()
    batch = FetchBatch("c.warc", tuple(read_archive_fetches(Source(path, "c.warc"), params)))
    ((_, page),) = parse_batch(batch, Limits(folder, threads=1), params)
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
    (_, page), *rest = parse_batch(batch, Limits(tmp_path, threads=1), params)
    assert is_truncated(page)
    assert rest == [(2, "segmented_record"), (3, "segmented_record")]
