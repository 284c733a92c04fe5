"""Users and passwords in addresses: no part of a page's identity, and in no table."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.ingest import ingest_crawl, ingest_log
from builder.ingest.texts import strip_credentials
from builder.io.sources import Interval, Source
from builder.parameters import CrawlParameters, LogParameters
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from builder.text.keys import doc_id, key64, url_key
from tests.crawled import read_crawled

EVER = Interval(0, 2**40)
SECRET = "zQ7secret"
PLAIN = "https://a.example/page"
SIGNED = f"https://anna:{SECRET}@a.example/page"


def _ingest(work, folder: Path, path: Path, params: LogParameters | CrawlParameters) -> Path:
    out = folder / "out"
    (folder / "scratch").mkdir()
    work(
        out,
        files=[Source(path, path.name)],
        interval=EVER,
        params=params,
        limits=ResourceLimits(folder / "scratch", threads=1),
        progress=NoProgress(),
    )
    assert not [p for p in out.rglob("*") if p.is_file() and SECRET.encode() in p.read_bytes()]
    return out


def test_a_crawl_keeps_no_password(tmp_path: Path) -> None:
    path = tmp_path / "crawl.jsonl"
    path.write_text(f'{{"url": "{SIGNED}", "timestamp": 1, "title": "", "text": "Un texte"}}\n')
    out = _ingest(ingest_crawl, tmp_path, path, CrawlParameters())
    pages = read_crawled(out)
    assert pages.select("doc_id", "url").rows() == [(doc_id(key64(PLAIN)), PLAIN)]


def test_a_log_keeps_no_password(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    row = '{{"time": {}, "user": "u", "query": "eau", "results": ["{}"], "clicks": []}}\n'
    path.write_text(row.format(1, SIGNED) + row.format(2, PLAIN))
    out = _ingest(ingest_log, tmp_path, path, LogParameters(clickless="allow"))
    assert pl.read_parquet(out / "log_urls.parquet")["url"].to_list() == [PLAIN]
    shown = pl.read_parquet(out / "impressions")["results"].to_list()
    assert shown == [[key64(PLAIN)], [key64(PLAIN)]]


@pytest.mark.parametrize(
    "url",
    ["https://a.example/@anna", "https://a.example?to=a@b.example", "https://a.example#@", "a@b"],
)
def test_other_signs_stay(url: str) -> None:
    assert strip_credentials(pl.Series([url])).to_list() == [url]


@given(st.text(max_size=12), st.sampled_from(["", "a.example", "a.example/x@y", "/x"]))
def test_without_them_an_address_has_the_same_key(user: str, rest: str) -> None:
    url = f"https://{user}@{rest}"
    (bare,) = strip_credentials(pl.Series([url])).to_list()
    try:
        key = url_key(url)
    except ValueError:
        return
    assert "@" not in key.split("/")[2]
    assert url_key(bare) == key
