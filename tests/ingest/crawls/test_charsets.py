"""Charset labels: what a browser makes of them, and pages on which a parser fails."""

import gzip
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from builder.ingest.crawls import checks, fetches
from builder.ingest.crawls.charsets import decode, python_codec
from builder.ingest.crawls.formats import read_pages
from builder.io.sources import Interval, Source
from builder.parameters import CrawlParameters
from builder.runtime.limits import ResourceLimits

LABELS = {
    "utf-8": "utf-8",
    "UTF8": "utf-8",
    "iso-8859-1": "cp1252",
    "latin1": "cp1252",
    "us-ascii": "cp1252",
    "windows-1252": "cp1252",
    "x-cp1252": "cp1252",
    "iso-8859-15": "iso8859-15",
    "iso-8859-2": "iso8859-2",
    "iso-8859-5": "iso8859-5",
    "iso-8859-9": "cp1254",
    "windows-1250": "cp1250",
    "windows-1251": "cp1251",
    "koi8-r": "koi8-r",
    "macintosh": "mac-roman",
    "x-mac-cyrillic": "mac-cyrillic",
    "ibm866": "cp866",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "ks_c_5601-1987": "cp949",
    "utf-16": "utf-16-le",
    "tis-620": "cp874",
}
"""Labels of the WHATWG Encoding Standard, and codecs of Python that do as its decoders."""
NO_LABELS = ("base64", "rot13", "hex", "utf-7", "idna", "")
"""Codecs of Python that are no charset of the web, and no label at all."""
TEXTS = (
    ("plain words of letters that every charset has", "ascii"),
    ("L’été, un œuf à 3 €, dit-elle : « déjà »", "cp1252"),
    ("L’été, un œuf à 3 €, dit-elle : « déjà »", "utf-8"),
    ("日本語の文章です。これはテストです。", "shift_jis"),
    ("Русский текст о погоде и природе", "cp1251"),
    ("中文网页的正文内容在这里", "gb18030"),
)
C1 = {c: bytes([c]).decode("cp1252", "replace").replace("\ufffd", " ") for c in range(128, 160)}


def _record(number: int, content_type: str, body: bytes, kind: str = "response") -> bytes:
    http = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n\r\n".encode() + body
    block, of_record = (http, "application/http; msgtype=response")
    if kind == "conversion":
        block, of_record = body, content_type
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: https://a.example/{number}\r\n"
        f"WARC-Date: 2022-06-15T12:00:00Z\r\nContent-Type: {of_record}\r\n"
        f"Content-Length: {len(block)}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


def _read(path: Path) -> tuple[pl.DataFrame, list[tuple[int, str]]]:
    blocks = list(
        read_pages(
            Source(path, path.name),
            Interval(0, 4 * 10**9),
            CrawlParameters(interval="ignore"),
            ResourceLimits(path.parent, threads=1),
        )
    )
    rejects = [reject for block in blocks for reject in block.rejects]
    return pl.concat(block.pages for block in blocks), rejects


def _browser(body: bytes, codec: str) -> str | None:
    """The words that a browser shows; None where it shows replacement characters."""
    if codec == "cp1252":
        return " ".join(body.decode("latin-1").translate(C1).split())
    try:
        return " ".join(body.decode(codec).translate(C1).split())
    except UnicodeDecodeError:
        return None


@pytest.mark.parametrize("kind", ["response", "conversion"])
def test_thirty_labels_and_six_bodies(tmp_path: Path, kind: str) -> None:
    labels = [*LABELS, *NO_LABELS]
    assert len(labels) == 30
    texts = "<html><body><p>{}</p></body></html>" if kind == "response" else "{}"
    media = "text/html" if kind == "response" else "text/plain"
    records, wanted = [], []
    for label in labels:
        for text, encoding in TEXTS:
            codec = LABELS.get(label)
            body = text.encode(encoding)
            declared = f"{media}; charset={label}" if label else media
            whole = texts.encode().replace(b"{}", body)
            if codec == "utf-16-le":
                whole = texts.format(text).encode(codec)
                body = text.encode(codec)
            records.append(_record(len(records), declared, whole, kind))
            wanted.append(None if codec is None else _browser(body, codec))
    (tmp_path / "a.warc.gz").write_bytes(b"".join(gzip.compress(record) for record in records))
    pages, rejects = _read(tmp_path / "a.warc.gz")
    assert rejects == []
    assert pages.height == 180
    found = [" ".join(text.split()) for text in pages["text"].to_list()]
    compared = [(ours, browser) for ours, browser in zip(found, wanted, strict=True) if browser]
    assert len(compared) > 100
    for ours, browser in compared:
        assert ours == browser
    for start in range(6 * len(LABELS), 180, 6):
        assert found[start : start + 3] == [text for text, _ in TEXTS[:3]]


@pytest.mark.parametrize(("label", "codec"), LABELS.items())
def test_codecs_of_labels(label: str, codec: str) -> None:
    assert python_codec(f" {label.upper()} ") == codec


@pytest.mark.parametrize("label", [*NO_LABELS, None, "x-user-defined", "hz-gb-2312", "\x00", "é"])
def test_labels_that_are_none(label: str | None) -> None:
    assert python_codec(label) is None
    assert decode("L’œuf déjà".encode(), label) == "L’œuf déjà"


@pytest.mark.parametrize("name", ["utf-16", "unicode", "UTF-16LE", "utf-16be"])
@pytest.mark.parametrize("codec", ["utf-8", "cp1252"])
@pytest.mark.parametrize("space", ["", " "])
def test_a_declaration_in_ascii_is_not_in_utf16(name: str, codec: str, space: str) -> None:
    page = f'<meta charset="{name}"><title>Crème brûlée</title>{space}'
    assert decode(page.encode(codec), None) == page


def test_bytes_without_a_character_do_not_join_words() -> None:
    assert decode(b"un\x81mot \x92", "iso-8859-1") == "un\x81mot ’"


class _Panic(BaseException):
    """What a parser in Rust raises; no `Exception`."""


@pytest.mark.parametrize("error", [RuntimeError, KeyError, RecursionError, _Panic])
def test_a_page_on_which_a_parser_fails_is_a_reject(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    read = fetches.parse_html

    def failing(body: bytes, *more: object) -> object:
        if b"number 1" in body:
            raise error
        return read(body, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(fetches, "parse_html", failing)
    bodies = [f"<html><p>This is number {n}</p></html>".encode() for n in range(3)]
    records = [_record(n, "text/html", body) for n, body in enumerate(bodies)]
    (tmp_path / "a.warc").write_bytes(b"".join(records))
    pages, rejects = _read(tmp_path / "a.warc")
    assert pages["url"].to_list() == ["https://a.example/0", "https://a.example/2"]
    assert rejects == [(2, "unreadable_page")]


def test_a_page_on_which_checks_fail_is_a_reject(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(check: Callable[[pl.Series], pl.Series]) -> Callable[[pl.Series], pl.Series]:
        def checked(texts: pl.Series) -> pl.Series:
            if "two" in texts:
                raise IndexError
            return check(texts)

        return checked

    monkeypatch.setattr(checks, "normalize_texts", failing(checks.normalize_texts))
    lines = [
        f'{{"url": "https://a.example/{n}", "timestamp": 5, "text": "{text}"}}'
        for n, text in enumerate(("zero", "one", "two", "three", "four"))
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    pages, rejects = _read(tmp_path / "a.jsonl")
    assert pages["text"].to_list() == ["zero", "one", "three", "four"]
    assert rejects == [(3, "unreadable_page")]
