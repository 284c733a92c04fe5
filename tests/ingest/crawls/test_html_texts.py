"""Crawls of JSON lines and Parquet whose texts are pages of HTML."""

import json
from pathlib import Path

import polars as pl
import pytest

from builder.ingest.crawls.formats import read_pages
from builder.io.sources import Interval, Source
from builder.parameters import CrawlParameters
from builder.runtime.executors import ProcessExecutor
from builder.runtime.limits import ResourceLimits

INTERVAL = Interval(1_654_041_600, 1_656_633_600)
HTML = CrawlParameters(text_format="html")
PARAGRAPH = "L’eau du robinet est contrôlée toute l’année, de la source au verre. " * 9
PAGE = (
    '<html lang="fr-FR"><head><title>Eau &amp; sant\u00e9</title>'
    '<meta property="article:published_time" content="2022-06-03T00:00:00Z">'
    "<script>var a = '<p>rien</p>';</script></head><body><nav>Accueil</nav>"
    f"<main><p>{PARAGRAPH}</p></main></body></html>"
)
RECORDS: list[dict[str, object]] = [
    {"url": "https://a.example/1", "timestamp": 1_655_294_400, "title": None, "text": PAGE},
    {"url": "https://a.example/2", "timestamp": 1_655_294_400, "title": "Le titre", "text": PAGE},
    {"url": "https://a.example/3", "timestamp": 1, "title": None, "text": PAGE},
    {"url": "https://a.example/4", "timestamp": 1_655_294_400, "title": None, "text": "<p></p>"},
    {"url": "nowhere", "timestamp": 1_655_294_400, "title": None, "text": PAGE},
    {"url": "https://a.example/6", "timestamp": 1_655_294_400, "title": None, "text": "Sans."},
]
REJECTS = {3: "outside_interval", 4: "empty_text", 5: "bad_url"}


def _write(folder: Path, kind: str) -> Path:
    path = folder / f"crawl.{kind}"
    if kind == "parquet":
        pl.DataFrame(RECORDS).write_parquet(path)
    else:
        path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    return path


def _read(
    path: Path, params: CrawlParameters = HTML, limits: ResourceLimits | None = None
) -> tuple[list[dict[str, object]], dict[int, str]]:
    blocks = list(
        read_pages(Source(path, path.name), INTERVAL, params, limits or ResourceLimits(path))
    )
    pages = pl.concat([block.pages for block in blocks]).to_dicts()
    assert sum(block.records for block in blocks) == len(RECORDS)
    return pages, {line: reason for block in blocks for line, reason in block.rejects}


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_main_text_title_language_and_dates(tmp_path: Path, kind: str) -> None:
    pages, rejects = _read(_write(tmp_path, kind))
    assert rejects == REJECTS
    first, second, last = pages
    assert (first["title"], second["title"], last["title"]) == ("Eau & santé", "Le titre", "")
    assert first["text"] == second["text"] == PARAGRAPH.strip()
    assert (first["language_hint"], first["published_at"]) == ("fr", 1_654_214_400)
    assert (last["text"], last["language_hint"]) == ("Sans.", None)
    assert [page["line"] for page in pages] == [1, 2, 6]


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_plain_texts_are_taken_as_they_are(tmp_path: Path, kind: str) -> None:
    pages, rejects = _read(_write(tmp_path, kind), CrawlParameters())
    assert rejects == {3: "outside_interval", 5: "bad_url"}
    assert [page["text"] for page in pages] == [PAGE, PAGE, "<p></p>", "Sans."]


def test_pages_without_a_time_are_dated(tmp_path: Path) -> None:
    path = tmp_path / "crawl.jsonl"
    rows = [{"url": record["url"], "text": record["text"]} for record in RECORDS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    pages, rejects = _read(path, CrawlParameters(text_format="html", undated="start"))
    assert {page["fetched_at"] for page in pages} == {INTERVAL.start}
    assert rejects == {4: "empty_text", 5: "bad_url"}
    assert pages[0]["published_at"] is None  # it says a day after the fetch
    blocks = read_pages(
        Source(path, path.name),
        INTERVAL,
        CrawlParameters(text_format="html", undated="start"),
        ResourceLimits(tmp_path),
    )
    assert sum(block.undated for block in blocks) == len(RECORDS)


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_other_processes_read_the_same(tmp_path: Path, kind: str) -> None:
    path = _write(tmp_path, kind)
    here = _read(path)
    workers = ProcessExecutor()
    assert _read(path, limits=ResourceLimits(tmp_path, threads=2, executor=workers)) == here
    workers.close()
