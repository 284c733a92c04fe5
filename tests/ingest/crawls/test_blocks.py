"""Blocks of pages, names of batches, and bodies of unknown type."""

import gzip
from pathlib import Path
from typing import Literal

import pytest

from builder.ingest.crawls import fetches, formats
from builder.ingest.crawls.charsets import decode
from builder.ingest.crawls.fetches import (
    BodyType,
    FetchBatch,
    FetchedDocument,
    parse_batch,
    parse_fetch,
)
from builder.ingest.crawls.html import looks_like_html
from builder.ingest.crawls.page import RawPage
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


@pytest.mark.parametrize("text_format", ["plain", "html"])
def test_blocks_have_a_limited_number_of_characters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text_format: Literal["plain", "html"]
) -> None:
    """Texts of 3, 5, 1, 8, 1 and 1 characters, at least 9 per block."""
    texts = ("abc", "abcde", "a", "abcdefgh", "b", "c")
    rows = [f"https://a.example/{number},10,{text}" for number, text in enumerate(texts)]
    path = tmp_path / "crawl.csv"
    path.write_text("\n".join(["url,timestamp,text", *rows]) + "\n")
    monkeypatch.setattr(formats, "BLOCK_CHARS", 9)
    params = CrawlParameters(text_format=text_format)
    blocks = formats.read_pages(Source(path, path.name), EVER, params, ResourceLimits(tmp_path))
    assert [block.pages["text"].to_list() for block in blocks] == [
        ["abc", "abcde", "a"],
        ["abcdefgh", "b"],
        ["c"],
    ]


def test_batches_have_a_limited_number_of_records_and_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fetches, "BATCH_RECORDS", 3)
    monkeypatch.setattr(fetches, "BATCH_BYTES", 10)
    page = FetchedDocument("https://a.example/", 10, BodyType.HTML, b"", None)
    bodies = (4, 5, None, 10, 9, 1, 9, None, None, 3)
    records = [
        (number, "not_html" if size is None else page._replace(body=b"x" * size))
        for number, size in enumerate(bodies)
    ]
    batches = fetches._group_into_batches(records, Source(Path("a"), "a"))
    assert [[number for number, _ in batch.records] for batch in batches] == [
        [0, 1, 2],
        [3],
        [4, 5],
        [6, 7, 8],
        [9],
    ]


def test_a_page_of_html_has_what_the_crawl_says_and_else_what_it_says_itself() -> None:
    html = (
        b"<html lang=fr><title>Titre</title><meta name=revised content=2021-05-03>"
        b"<meta name=date content=2021-05-01><p>Un texte.</p>"
    )
    page = FetchedDocument("https://a.example/", 1_655_294_400, BodyType.HTML, html, None)
    params = CrawlParameters()
    read = RawPage(
        "https://a.example/",
        1_655_294_400,
        "Titre",
        "Un texte.",
        "fr",
        1_619_827_200,
        1_620_000_000,
        is_truncated=False,
    )
    assert parse_fetch(page, params) == read
    other = page._replace(title="Le titre", modified_at=7, is_undated=True, is_truncated=True)
    assert parse_fetch(other, params) == read._replace(
        title="Le titre", fetched_at=None, is_truncated=True
    )
    bare = other._replace(body=b"<p>Un texte.</p>", is_truncated=False)
    assert parse_fetch(bare, params) == RawPage(
        "https://a.example/", None, "Le titre", "Un texte.", None, None, 7, is_truncated=False
    )


def test_a_page_of_text_is_decoded_and_not_parsed() -> None:
    text = "<title>Prix</title> 12 €, charset=windows-1251"
    page = FetchedDocument("https://a.example/", 10, BodyType.TEXT, text.encode(), None)
    expected = RawPage("https://a.example/", 10, "", text, is_truncated=False)
    assert parse_fetch(page, CrawlParameters()) == expected
    for label, body in (("windows-1252", text.encode("cp1252")), ("nonsense", text.encode())):
        assert parse_fetch(page._replace(charset=label, body=body), CrawlParameters()) == expected
    packed = page._replace(body=gzip.compress(text.encode()), is_truncated=True)
    assert parse_fetch(packed, CrawlParameters()) == expected._replace(is_truncated=True)


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


@pytest.mark.parametrize(
    ("body", "label", "text"),
    [
        ("éé".encode() + b"\xe9!", "utf-8", "ééé!"),
        ("éé".encode() + b"\xe9!", None, "ééé!"),
        ("é".encode() + b"\xe9!", "utf-8", "Ã©é!"),
        ("€".encode(), "euc-jp", "€"),
        (b"\xe2\x82\xff", "euc-jp", "â‚ÿ"),
    ],
)
def test_bytes_that_are_not_in_the_declared_charset(
    body: bytes, label: str | None, text: str
) -> None:
    """A page is in UTF-8 if more than half of its other characters are."""
    assert decode(body, label) == text
