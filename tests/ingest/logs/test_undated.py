"""Pages whose crawl says no time."""

import json
from pathlib import Path

import polars as pl
import pytest

from builder.errors import FormatError
from builder.ingest.crawls.formats import read_pages
from builder.io.sources import Interval, Source
from builder.parameters import CrawlParameters
from builder.runtime.limits import ResourceLimits

INTERVAL = Interval(1_654_041_600, 1_656_633_600)
PAGES = [
    {"url": "https://a.example/1", "timestamp": 1_655_294_400, "title": "t", "text": "Un."},
    {"url": "https://a.example/2", "title": "t", "text": "Deux."},
    {"url": "https://a.example/3", "timestamp": None, "text": "Trois."},
    {"url": "https://a.example/4", "timestamp": "never", "text": "Quatre."},
    {"url": "https://a.example/5", "timestamp": 1, "text": "Cinq."},
]
START = CrawlParameters(undated="start")


def _read(path: Path, params: CrawlParameters) -> tuple[dict[str, int], dict[int, str]]:
    """Times of the pages that are read, and why other records are none."""
    times, rejects = {}, {}
    for block in read_pages(Source(path, path.name), INTERVAL, params, ResourceLimits(path.parent)):
        times.update(block.pages.select(pl.col("url").str.slice(-1), "fetched_at").rows())
        rejects.update(block.rejects)
    return times, rejects


def _lines(path: Path, pages: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(page) + "\n" for page in pages))
    return path


@pytest.mark.parametrize("name", ["timestamp", "times.fetched"])
def test_lines(tmp_path: Path, name: str) -> None:
    path = _lines(tmp_path / "a.jsonl", PAGES)
    if name != "timestamp":  # names of inner fields are read line by line
        nested = [{**page, "times": {"fetched": page.get("timestamp")}} for page in PAGES]
        path = _lines(tmp_path / "b.jsonl", nested)
    params = START.model_copy(update={"fields": START.fields.model_copy(update={"time": name})})
    times, rejects = _read(path, params)
    assert times == {"1": 1_655_294_400, "2": INTERVAL.start, "3": INTERVAL.start}
    assert rejects == {4: "bad_time", 5: "outside_interval"}
    strict = params.model_copy(update={"undated": "reject"})
    assert _read(path, strict)[1] == {
        2: "bad_time", 3: "bad_time", 4: "bad_time", 5: "outside_interval",
    }  # fmt: skip


def test_a_crawl_without_any_time(tmp_path: Path) -> None:
    plain = [{"url": page["url"], "text": page["text"]} for page in PAGES]
    times, rejects = _read(_lines(tmp_path / "a.jsonl", plain), START)
    assert set(times.values()) == {INTERVAL.start}
    assert (len(times), rejects) == (5, {})
    pl.DataFrame(plain).write_parquet(tmp_path / "a.parquet")
    assert _read(tmp_path / "a.parquet", START) == (times, {})
    with pytest.raises(FormatError, match="expected the columns url, timestamp or"):
        _read(tmp_path / "a.parquet", CrawlParameters())


def test_parquet(tmp_path: Path) -> None:
    pl.DataFrame(PAGES[:3]).write_parquet(tmp_path / "a.parquet")
    times, rejects = _read(tmp_path / "a.parquet", START)
    assert times == {"1": 1_655_294_400, "2": INTERVAL.start, "3": INTERVAL.start}
    assert rejects == {}
