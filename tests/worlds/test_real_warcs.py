"""Real archives: charsets, main text against text selected by hand, and pages at four dates."""

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from statistics import mean, median

import polars as pl
import pytest

import builder
from builder import SimulationParameters
from builder.ingest.crawls.formats import read_pages
from builder.ingest.crawls.html import parse_html
from builder.io.sources import Interval, Source
from builder.parameters import CrawlParameters
from builder.runtime.limits import ResourceLimits
from tests.bench.main_text import overlap
from tests.thorough import ALL

ANY = CrawlParameters(interval="ignore")
EVER = Interval(0, 2**40)
SITES = 42
DATES = ("2025-09", "2026-01", "2026-04", "2026-08")[: None if ALL else 2]


def archives_at(shared: Path) -> list[Path]:
    """The archives of the same sites at `DATES`."""
    return sorted((shared / "warc").glob("sante_*.warc.gz"))[: len(DATES)]


def read(path: Path) -> tuple[pl.DataFrame, Counter[str]]:
    """Pages of an archive, and the other records by reason."""
    blocks = list(
        read_pages(Source(path, path.name), EVER, ANY, ResourceLimits(path.parent, threads=1))
    )
    pages = pl.concat(block.pages for block in blocks)
    reasons = Counter(reason for block in blocks for _, reason in block.rejects)
    assert sum(block.records for block in blocks) == pages.height + reasons.total()
    return pages, reasons


def test_pages_of_many_charsets(shared: Path) -> None:
    pages, reasons = read(shared / "warc/pages_mixed_charsets.warc.gz")
    assert pages.height + reasons.total() == 1327
    assert reasons["http_404"] == 24
    assert set(reasons) <= {"http_404", "empty_text"}
    assert pages.height >= 1300
    texts = pages["title"] + pages["text"]
    assert not texts.str.contains("\ufffd").any()
    assert texts.str.contains("é").sum() > 1000
    assert not texts.str.contains("Ã©|â€™").any()


def test_main_text_is_what_people_select(shared: Path) -> None:
    with gzip.open(shared / "warc/html_gold.json.gz") as file:
        gold = json.load(file)
    found = [
        overlap(parse_html(page["html"].encode(), "utf-8", 2**31).text, page["gold"])
        for page in gold[::2]
    ]
    assert len(found) == 44
    assert mean(found) >= 0.75
    assert median(found) >= 0.95


@pytest.fixture(scope="module")
def version(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of these archives; users are simulated over the titles of their pages."""
    folder = tmp_path_factory.mktemp("archives")
    archives = archives_at(shared)
    lines = [folder / f"{path.name[6:16]}.jsonl" for path in archives]
    for archive, path in zip(archives, lines, strict=True):
        pages, _ = read(archive)
        path.write_text(pages.select("url", "title", "text").write_ndjson())
    builder.simulate_over_crawls(
        folder / "world", lines, SimulationParameters(queries=20, impressions=2000)
    )
    definition = folder / "world/workflow.toml"
    text = definition.read_text()
    for archive, path in zip(archives, lines, strict=True):
        text = text.replace(path.as_posix(), archive.as_posix())
    definition.write_text(text + "\n[documents]\nsample_share = 1.0\n[export]\ntrec = false\n")
    report = builder.build(definition, folder / "collection")
    assert report.version is not None
    return report.version


def test_archives_at_several_dates_become_snapshots(version: Path) -> None:
    collection = builder.open_collection(version)
    assert collection.snapshots == DATES
    for name in collection.snapshots:
        documents = collection.snapshot(name).documents.collect()
        assert documents.height == SITES - 2
        assert documents["language_hint"].is_in(["fr", "en"]).all()
    assert builder.validate(version) == []


def test_few_pages_change_in_what_they_say(shared: Path, version: Path) -> None:
    changes = builder.open_collection(version).table("document_changes").collect()
    bodies = [_bodies(path) for path in archives_at(shared)]
    steps = changes.partition_by("from_snapshot", maintain_order=True)
    assert len(steps) == len(DATES) - 1
    for step, before, after in zip(steps, bodies, bodies[1:], strict=False):
        updated = step.filter(pl.col("status") == "updated")
        assert 12 <= updated.height <= 21
        assert updated["shingle_jaccard"].is_between(0, 1).all()
        assert updated["band"].is_in(["cosmetic", "edited", "rewritten"]).all()
        assert sum(before[url] != body for url, body in after.items()) == 37


def _bodies(path: Path) -> dict[bytes, bytes]:
    """What follows the headers of each response, by address."""
    with gzip.open(path) as file:
        records = re.split(rb"(?m)^WARC/1\.\d\r\n", file.read())
    found = {}
    for record in records:
        if b"WARC-Type: response" in record[:2000]:
            url = re.search(rb"WARC-Target-URI: (\S+)", record)
            assert url is not None
            found[url[1]] = record.split(b"\r\n\r\n", 2)[2]
    assert len(found) == SITES
    return found
