"""Crawls: shapes, rules, the last fetch, parts, spilling."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builder.ingest import ingest_crawl
from builder.ingest.texts import normalize
from builder.io.sources import Interval, Source
from builder.parameters import CrawlParameters
from builder.runtime.ledger import RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from builder.text.keys import doc_id, key64
from tests.crawled import read_crawled

GOOD = {"url": "https://a.example/1", "timestamp": 1500, "title": "Un", "text": "Texte."}


def ingest(
    folder: Path, *lines: object, memory: int = 2**30, **params: Any
) -> tuple[RowLedger, pl.DataFrame, pl.DataFrame, Path]:
    """Ingest lines; returns ledger, pages, rejects and the output folder."""
    path = folder / "crawl.jsonl"
    path.write_bytes(
        b"".join(
            (line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n"
            for line in lines
        )
    )
    out, scratch = folder / "out", folder / "scratch"
    out.mkdir(exist_ok=True)
    scratch.mkdir(exist_ok=True)
    ledger = ingest_crawl(
        out,
        files=[Source(path, "crawl.jsonl")],
        interval=Interval(1000, 2000),
        params=CrawlParameters(**params),
        limits=ResourceLimits(scratch, threads=1, memory=memory),
        progress=NoProgress(),
    )
    ledger.check("crawl")
    return ledger, read_crawled(out), pl.read_parquet(out / "rejects.parquet"), out


def test_both_shapes(tmp_path: Path) -> None:
    qwant = {
        "url": "https://a.example/2",
        "content": "Titre\nTexte",
        "created_at": 900,
        "last_updated_at": 1600,
    }
    _, pages, _, _ = ingest(tmp_path, GOOD, qwant)
    rows = {row["url"]: row for row in pages.iter_rows(named=True)}
    assert rows["https://a.example/1"]["title"] == "Un"
    assert rows["https://a.example/2"]["text"] == "Titre\nTexte"
    assert rows["https://a.example/2"]["fetched_at"] == 1600
    assert rows["https://a.example/1"]["doc_id"] == doc_id(key64("https://a.example/1"))


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"url": None}, "bad_url"),
        ({"url": "ftp://a.example"}, "bad_url"),
        ({"timestamp": "x"}, "bad_time"),
        ({"timestamp": None}, "bad_time"),
        ({"timestamp": 2000}, "outside_interval"),
        ({"text": " \x00\n"}, "empty_text"),
        ({"text": ["a"]}, "bad_text"),
        ({"title": ["a"]}, "bad_title"),
        ({"title": True}, "bad_title"),
        ({"text": None}, "bad_text"),
    ],
)
def test_rules_by_name(tmp_path: Path, changed: dict[str, Any], reason: str) -> None:
    ledger, _, rejects, _ = ingest(
        tmp_path, {**GOOD, **changed}, {**GOOD, "url": "http://b.example"}
    )
    assert dict(ledger.rejected) == {reason: 1}
    assert rejects.select("file", "line").row(0) == ("crawl.jsonl", 1)


@pytest.mark.parametrize(
    ("title", "expected"), [(2022, "2022"), (1.0, "1"), (1.5, "1.5"), (None, ""), ("Un", "Un")]
)
def test_titles_may_be_numbers(tmp_path: Path, title: object, expected: str) -> None:
    _, pages, _, _ = ingest(tmp_path, {**GOOD, "title": title})
    assert pages["title"].to_list() == [expected]


def test_missing_times_and_titles_are_told(tmp_path: Path) -> None:
    row = {"url": "https://a.example/1", "fetched": 1500, "headline": "Un", "text": "Texte."}
    other = {**row, "url": "https://b.example", "text": ""}
    fields = {"time": "fetch_time", "title": "titel"}
    ledger, _, _, _ = ingest(tmp_path, row, other, undated="start", fields=fields)
    assert (ledger.rows_out, dict(ledger.rejected)) == (1, {"empty_text": 1})
    assert ledger.notes[:2] == [
        "2 records without a time were dated to the start of the snapshot (crawl.undated)",
        "no page has a title; check crawl.fields.title (now 'titel')",
    ]
    fields = {"time": "fetched", "title": "headline"}
    ledger, _, _, _ = ingest(tmp_path, row, undated="start", fields=fields)
    assert ledger.notes == []
    ledger, _, _, _ = ingest(tmp_path, {**row, "timestamp": 1500})
    assert ledger.notes == []


def test_any_time_where_the_interval_is_ignored(tmp_path: Path) -> None:
    ledger, _, _, _ = ingest(tmp_path, {**GOOD, "timestamp": 9}, interval="ignore")
    assert ledger.rows_out == 1


def test_the_last_fetch_within_the_interval_wins(tmp_path: Path) -> None:
    ledger, pages, rejects, _ = ingest(
        tmp_path,
        {**GOOD, "timestamp": 1700, "text": "b"},
        {**GOOD, "timestamp": 1700, "text": "c", "url": "https://A.example/1#x"},
        {**GOOD, "timestamp": 1800, "text": "d"},
        {**GOOD, "timestamp": 2500, "text": "e"},
        {**GOOD, "timestamp": 1600, "text": "f"},
    )
    assert pages["text"].to_list() == ["d"]
    assert dict(ledger.rejected) == {"superseded": 3, "outside_interval": 1}
    lines = rejects.filter(pl.col("reason") == "superseded")["line"].to_list()
    assert lines == [1, 2, 5]


def test_ties_are_broken_by_url_then_text(tmp_path: Path) -> None:
    texts = sorted("abcde", key=key64)
    rows = [{**GOOD, "text": text} for text in texts]
    before = {**GOOD, "url": "https://A.example/1", "text": "f"}
    for number, order in enumerate(([before, *rows], [*rows[::-1], before])):
        (tmp_path / str(number)).mkdir()
        ledger, pages, rejects, _ = ingest(tmp_path / str(number), *order)
        assert pages["text"].to_list() == [texts[-1]]
        assert ledger.rejected == {"superseded": 5}
        assert sorted(rejects["line"]) == [n for n in range(1, 7) if n != (6, 1)[number]]


def test_fetches_of_several_files(tmp_path: Path) -> None:
    """Each file is a block of its own; pages that do not count stand in all of them."""
    files = []
    for number, times in enumerate(([1100, 1500, 1200], [1300, 1100, 1300], [1200, 1100, 1400])):
        path = tmp_path / f"{number}.jsonl"
        lines = [
            {**GOOD, "url": f"https://a.example/{n}", "timestamp": time, "text": f"{number} {n}"}
            for n, time in enumerate(times)
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        files.append(Source(path, path.name))
    (tmp_path / "out").mkdir()
    ledger = ingest_crawl(
        tmp_path / "out",
        files=files,
        interval=Interval(1000, 2000),
        params=CrawlParameters(),
        limits=ResourceLimits(tmp_path, threads=2),
        progress=NoProgress(),
    )
    ledger.check("crawl")
    pages = read_crawled(tmp_path / "out")
    assert pages["text"].to_list() == ["0 1", "1 0", "2 2"]
    rejects = pl.read_parquet(tmp_path / "out/rejects.parquet")
    left = [(f"{number}.jsonl", line) for number in range(3) for line in range(1, 4)]
    kept = {("0.jsonl", 2), ("1.jsonl", 1), ("2.jsonl", 3)}
    assert sorted(rejects.select("file", "line").rows()) == [p for p in left if p not in kept]


def test_the_same_fetch_twice_counts_once(tmp_path: Path) -> None:
    _, pages, rejects, _ = ingest(tmp_path, GOOD, {**GOOD, "url": "https://b.example"}, GOOD)
    assert pages["url"].to_list() == ["https://b.example", GOOD["url"]]
    assert rejects["line"].to_list() == [1]


def test_spilling_changes_nothing(tmp_path: Path) -> None:
    lines = [
        {**GOOD, "url": f"https://a.example/{i % 300}", "timestamp": 1000 + i, "text": f"t{i}" * 9}
        for i in range(500)
    ]
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    whole, pages, _, first = ingest(tmp_path / "a", *lines)
    spilled, same, _, second = ingest(tmp_path / "b", *lines, memory=2**25)
    assert whole == spilled
    assert whole.rejected == {"superseded": 200}
    assert [p.read_bytes() for p in sorted(first.rglob("*.parquet"))] == [
        p.read_bytes() for p in sorted(second.rglob("*.parquet"))
    ]
    assert same.equals(pages)
    assert pages["fetched_at"].to_list() == list(range(1200, 1500))


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("a\r\nb\rc\u2028d\x0be", "a\nb\nc\nd\ne"),
        ("  \x00e\u0301t\x07é\ufeff ", "ét é"),
        ("d\x92offrir un \x9cuf \x85 3\x80", "d’offrir un œuf … 3€"),
        ("un\ufeffmot\x81un\x00autre\u2029fin", "un mot un autre\nfin"),
        ("a\tb", "a\tb"),
    ],
)
def test_normalized_text(raw: str, clean: str) -> None:
    assert normalize(raw) == clean


def test_texts_that_were_cut_are_counted(tmp_path: Path) -> None:
    long, short = {**GOOD, "text": "abc " * 10}, {**GOOD, "url": "https://b.example", "text": "a"}
    ledger, pages, _, _ = ingest(tmp_path, long, short, max_text_chars=6)
    assert pages.sort("url")["text"].to_list() == ["abc ab", "a"]
    assert ledger.notes == ["1 text was shortened to 6 characters (crawl.max_text_chars)"]


def test_texts_are_cut_beyond_the_limit(tmp_path: Path) -> None:
    texts = ("abcdef", "abcdefg", "ééééééé", "abcde fgh")
    rows = [{**GOOD, "url": f"https://a.example/{n}", "text": text} for n, text in enumerate(texts)]
    rows.append({"url": "https://b.example/", "text": "a"})
    ledger, pages, _, out = ingest(tmp_path, *rows, max_text_chars=6, undated="start")
    assert pages["text"].to_list() == ["abcdef", "abcdef", "éééééé", "abcde", "a"]
    assert pl.read_parquet(out / "pages.parquet")["truncated"].to_list() == [
        *(False, True, True, True, False)
    ]
    assert pages["fetched_at"].to_list() == [1500] * 4 + [1000]
    assert ledger.notes == [
        "3 texts were shortened to 6 characters (crawl.max_text_chars)",
        "1 record without a time was dated to the start of the snapshot (crawl.undated)",
    ]


def test_pages_fetched_at_the_start_are_kept_and_those_at_the_end_are_not(tmp_path: Path) -> None:
    rows = [
        {**GOOD, "url": f"https://a.example/{time}", "timestamp": time}
        for time in (999, 1000, 1999.9, 2000)
    ]
    ledger, pages, rejects, _ = ingest(tmp_path, *rows)
    assert pages["fetched_at"].to_list() == [1000, 1999]
    assert rejects["line"].to_list() == [1, 4]
    assert dict(ledger.rejected) == {"outside_interval": 2}


def test_a_file_that_ends_early_is_named(tmp_path: Path) -> None:
    ledger, _, _, _ = ingest(tmp_path, GOOD, b'{"url": "https://a.example/2')
    assert dict(ledger.rejected) == {"not_json": 1}
    path = tmp_path / "crawl.jsonl"
    (tmp_path / "cut").mkdir()
    path.write_bytes(path.read_bytes()[:-1])
    ledger = ingest_crawl(
        tmp_path / "cut",
        files=[Source(path, "crawl.jsonl")],
        interval=Interval(1000, 2000),
        params=CrawlParameters(),
        limits=ResourceLimits(tmp_path, threads=1),
        progress=NoProgress(),
    )
    assert dict(ledger.rejected) == {"file_truncated": 1}
    assert ledger.notes == ["crawl.jsonl is truncated; download it again"]


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (b'{"url": "http://a.fr", "timestamp": 15', "file_truncated"),
        (b"}", "not_json"),
        (b"<html><p>Bonjour", "not_json"),
        (b'{"url": "http://a.fr"}{"url": "http://b.fr"}', "not_json"),
    ],
)
def test_only_the_start_of_an_object_is_a_truncated_line(
    tmp_path: Path, end: bytes, reason: str
) -> None:
    """The note said that HTML and JSON over several lines had to be downloaded again."""
    path, out = tmp_path / "c.jsonl", tmp_path / "out"
    path.write_bytes(json.dumps(GOOD).encode() + b"\n" + end)
    out.mkdir()
    ledger = ingest_crawl(
        out,
        files=[Source(path, "c.jsonl")],
        interval=Interval(1000, 2000),
        params=CrawlParameters(),
        limits=ResourceLimits(tmp_path, threads=1, memory=2**30),
        progress=NoProgress(),
    )
    assert dict(ledger.rejected) == {reason: 1}
    assert any("truncated" in note for note in ledger.notes) == (reason == "file_truncated")


def test_an_empty_file_is_noted(tmp_path: Path) -> None:
    ledger, _, _, _ = ingest(tmp_path)
    assert (ledger.rows_in, ledger.notes) == (0, ["crawl.jsonl is empty (0 bytes)"])
