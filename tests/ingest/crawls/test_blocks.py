"""Blocks of pages, names of batches, and bodies of unknown type."""

from pathlib import Path

import pytest

from builder.ingest.crawls import formats
from builder.ingest.crawls.charsets import decode
from builder.ingest.crawls.fetches import BodyType, FetchBatch, FetchedDocument, parse_batch
from builder.ingest.crawls.html import looks_like_html
from builder.io.sources import Interval, Source
from builder.parameters import CrawlParameters
from builder.runtime.limits import ResourceLimits

EVER = Interval(0, 2**40)


def test_blocks_have_a_limited_number_of_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three pages and two rejects, at most two per block."""
    rows = [f"https://a.example/{number},10,Un texte." for number in range(3)]
    path = tmp_path / "crawl.csv"
    path.write_text("\n".join(["url,timestamp,text", "x", *rows, "y"]) + "\n")
    monkeypatch.setattr(formats, "BLOCK_ROWS", 2)
    blocks = list(
        formats.read_pages(
            Source(path, path.name), EVER, CrawlParameters(), ResourceLimits(tmp_path)
        )
    )
    assert [(block.pages.height, len(block.rejects)) for block in blocks] == [
        (1, 1),
        (2, 0),
        (0, 1),
    ]


def test_a_batch_is_named_by_its_first_and_last_record() -> None:
    records = tuple((number, "not_html") for number in (4, 5, 7))
    assert str(FetchBatch("crawl.warc", records)) == "records 4 to 7 of crawl.warc"


@pytest.mark.parametrize("body", [b"<!DOCTYPE html><p>", b" \n<html>", b"<body >", b"<!-- x -->"])
def test_bodies_that_browsers_take_for_html(body: bytes) -> None:
    assert looks_like_html(body)


@pytest.mark.parametrize("body", [b"%PDF-1.7", b"Un texte", b"<bodyguard>", b"", b"{}"])
def test_bodies_that_browsers_do_not_take_for_html(body: bytes) -> None:
    assert not looks_like_html(body)


def test_a_body_without_a_type_is_a_page_if_it_looks_like_html(tmp_path: Path) -> None:
    html = b"<html><body><p>Le chat dort sur le canap\xc3\xa9 du salon depuis ce matin.</p></html>"
    page = FetchedDocument("https://a.example/", 10, BodyType.UNKNOWN, html, None)
    batch = FetchBatch("a.warc", ((1, page), (2, page._replace(body=b"%PDF-1.7 " + html))))
    (first, found), (second, reason) = parse_batch(
        batch, ResourceLimits(tmp_path), CrawlParameters()
    )
    assert not isinstance(found, str)
    assert (first, found.text) == (1, "Le chat dort sur le canapé du salon depuis ce matin.")
    assert (second, reason) == (2, "not_html")


def test_bytes_that_are_not_utf8_have_their_windows_1252_character() -> None:
    """The first and last byte that is no ASCII, in a text that is UTF-8 otherwise."""
    text = "Le café à la crème coûte très cher"
    assert decode(f"{text} ".encode() + b"2 \x80, \xff", "utf-8") == f"{text} 2 €, ÿ"


def test_a_declaration_within_the_bytes_counts_by_default() -> None:
    page = '<meta charset="windows-1251"><p>Привет</p>'
    assert decode(page.encode("windows-1251"), None) == page
