"""Columns of Parquet files in the types that writers of all kinds give them."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builder.ingest.crawls.formats import read_pages
from builder.io.sources import Interval, Source
from builder.parameters import CrawlParameters, LogParameters
from builder.runtime.limits import ResourceLimits
from tests.ingest.logs.log_files import read_impressions

EVER = Interval(0, 2**40)
URLS = ["https://a.example/1", "https://a.example/2"]
TEXTS = ["Un texte d’été", "Un autre"]
MIDNIGHT = 1_654_041_600
MOMENTS = [dt.datetime(2022, 6, 1), dt.datetime(2022, 6, 1)]  # noqa: DTZ001 - as files have them

TIMES: dict[str, pa.Array] = {
    "seconds": pa.array([MIDNIGHT] * 2, pa.int32()),
    "unsigned": pa.array([MIDNIGHT] * 2, pa.uint64()),
    "float": pa.array([MIDNIGHT + 0.5] * 2),
    "decimal": pa.array([Decimal(MIDNIGHT)] * 2, pa.decimal128(20, 0)),
    "day": pa.array([moment.date() for moment in MOMENTS]),
    "nanoseconds": pa.array(MOMENTS, pa.timestamp("ns")),
    "zoned": pa.array(MOMENTS, pa.timestamp("us", "UTC")),
    "iso": pa.array(["2022-06-01T00:00:00Z"] * 2),
    "dictionary": pa.array(["2022-06-01 00:00:00"] * 2).dictionary_encode(),
    "digits": pa.array([str(MIDNIGHT)] * 2),
}


def written(tmp_path: Path, columns: dict[str, Any]) -> Source:
    """A Parquet file of these columns."""
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table(columns), path)
    return Source(path, path.name)


def pages(source: Source) -> tuple[list[tuple[Any, ...]], list[tuple[int, str]]]:
    """URL, time and text of the pages of a file, and its rejects."""
    limits = ResourceLimits(source.path.parent, threads=1)
    (block,) = read_pages(source, EVER, CrawlParameters(), limits)
    return block.pages.select("url", "fetched_at", "text").rows(), block.rejects


def impressions(source: Source) -> tuple[list[dict[str, Any]], list[tuple[int, str]]]:
    """The impressions of a log, and its rejects."""
    found, rejects = [], []
    for records in read_impressions(source, EVER, LogParameters(), 1):
        for batch in [records.impressions]:
            found += batch.to_pylist()
        rejects += records.rejects
    return found, rejects


@pytest.mark.parametrize("name", TIMES)
def test_times(tmp_path: Path, name: str) -> None:
    crawl = {"url": URLS, "timestamp": TIMES[name], "text": TEXTS}
    rows = [(url, MIDNIGHT, text) for url, text in zip(URLS, TEXTS, strict=True)]
    assert pages(written(tmp_path, crawl)) == (rows, [])
    log = {"time": TIMES[name], "query": ["eau", "loi"], "results": [URLS] * 2}
    found, rejects = impressions(written(tmp_path, log))
    assert ([row["time"] for row in found], rejects) == ([MIDNIGHT] * 2, [])


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.binary()])
def test_texts(tmp_path: Path, kind: pa.DataType) -> None:
    times = TIMES["seconds"]
    crawl = {"url": pa.array(URLS).cast(kind), "timestamp": times, "text": pa.array(TEXTS, kind)}
    rows = [(url, MIDNIGHT, text) for url, text in zip(URLS, TEXTS, strict=True)]
    assert pages(written(tmp_path, crawl)) == (rows, [])
    log = {
        "time": times,
        "user": pa.array(["u", "v"]).cast(kind),
        "query": pa.array(["été", "loi"]).cast(kind),
        "results": pa.array([URLS] * 2).cast(pa.list_(kind)),
    }
    found, rejects = impressions(written(tmp_path, log))
    kept = [(row["user"], row["query"], row["results"]) for row in found]
    assert kept == [("u", "été", URLS), ("v", "loi", URLS)]
    assert rejects == []


@pytest.mark.parametrize(
    ("results", "clicks"),
    [
        (" ".join(URLS), "2 1"),
        ('["https://a.example/1", "https://a.example/2"]', "[2, 1]"),
        ("{https://a.example/1,https://a.example/2}", "{2,1}"),
    ],
)
def test_lists_that_are_written_as_text(tmp_path: Path, results: str, clicks: str) -> None:
    """As of a CSV file that was converted to Parquet; every row was once `bad_results`."""
    log = {
        "time": TIMES["seconds"],
        "query": ["eau", "loi"],
        "results": [results, "https://a.example/1|https://a.example/2"],
        "clicks": [clicks, "1"],
    }
    found, rejects = impressions(written(tmp_path, log))
    assert [(row["results"], row["clicks"]) for row in found] == [(URLS, [2, 1])]
    assert rejects == [(2, "bad_list")]
    mixed = log | {"results": [URLS] * 2, "clicks": [clicks, "NULL"]}
    found, rejects = impressions(written(tmp_path, mixed))
    assert [(row["results"], row["clicks"]) for row in found] == [(URLS, [2, 1]), (URLS, [])]
    assert rejects == []


def test_invalid_utf8_rejects_only_its_row(tmp_path: Path) -> None:
    times = TIMES["seconds"]
    crawl = {"url": URLS, "timestamp": times, "text": [TEXTS[0].encode(), b"\xff"]}
    rows, rejects = pages(written(tmp_path, crawl))
    assert (rows, rejects) == ([(URLS[0], MIDNIGHT, TEXTS[0])], [(2, "bad_text")])
    results = [[url.encode() for url in URLS], [b"\xff"]]
    log = {"time": times, "query": ["eau", "loi"], "results": results}
    found, rejects = impressions(written(tmp_path, log))
    assert ([row["results"] for row in found], rejects) == ([URLS], [(2, "bad_results")])


def test_other_columns_may_have_any_type(tmp_path: Path) -> None:
    log = {
        "time": TIMES["seconds"],
        "query": ["eau", "loi"],
        "results": [URLS] * 2,
        "other": pa.array([[[b"\xff"]], None], pa.list_(pa.list_(pa.binary()))),
        "more": pa.array([b"\xff", None]),
    }
    found, rejects = impressions(written(tmp_path, log))
    assert (len(found), rejects) == (2, [])


UUIDS = [UUID(int=7), UUID(int=2**127)]
IDS: dict[str, tuple[pa.Array, list[str | None]]] = {
    "decimal": (pa.array([Decimal(12), None], pa.decimal128(20, 0)), ["12", None]),
    "decimal with a fraction": (pa.array([Decimal("7.00"), None]), ["7", None]),
    "float": (pa.array([12.0, float("nan")]), ["12", None]),
    "uuid": (pa.array([u.bytes for u in UUIDS], pa.uuid()), [*map(str, UUIDS)]),
    "bytes": (pa.array([b"\x00\xff", b"ab"], pa.binary(2)), ["00ff", "6162"]),
}


@pytest.mark.parametrize("kind", IDS)
def test_users_of_other_types(tmp_path: Path, kind: str) -> None:
    """Users of DuckDB (UUID), Oracle and Spark (decimal) and pandas (float) were bad_user."""
    users, expected = IDS[kind]
    common = {"time": [5, 6], "query": ["eau", "loi"], "user": users}
    wide = {**common, "results": [URLS, URLS], "clicks": [[1], [2]]}
    long = {**common, "url": URLS, "clicked": [1, 1]}
    for columns in (wide, long):
        found, rejects = impressions(written(tmp_path, columns))
        assert ([row["user"] for row in found], rejects) == (expected, [])


def test_users_that_are_no_ids(tmp_path: Path) -> None:
    users = pa.array([1.5, float("inf"), 2.0])
    columns = {"time": [5, 6, 7], "query": ["eau"] * 3, "user": users, "results": [URLS] * 3}
    found, rejects = impressions(written(tmp_path, columns))
    assert ([row["user"] for row in found], rejects) == (["2"], [(1, "bad_user"), (2, "bad_user")])


@pytest.mark.parametrize("kind", [pa.decimal128(9, 0), pa.decimal128(9, 2), pa.float64()])
def test_results_and_clicks_of_other_types(tmp_path: Path, kind: pa.DataType) -> None:
    lists = {"results": pa.list_(kind), "clicks": pa.list_(kind)}
    columns = {n: pa.array([[Decimal(2), Decimal(1)]]).cast(t) for n, t in lists.items()}
    found, rejects = impressions(written(tmp_path, {"time": [5], "query": ["eau"], **columns}))
    assert rejects == []
    assert [(row["results"], row["clicks"]) for row in found] == [(["2", "1"], [2, 1])]
