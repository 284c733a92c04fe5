"""Parquet columns that lie within structs, and those of which the first with a value counts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from builder.errors import FormatError
from builder.ingest import parquet_rows
from builder.ingest.crawls.formats import read_pages
from builder.ingest.nested import existing_column_names, get_column
from builder.ingest.parquet_bounds import DecompressionBombError
from builder.parameters import CrawlParameters, LogParameters
from builder.runtime.limits import ResourceLimits
from tests.ingest.logs.log_files import read_impressions
from tests.ingest.logs.test_parquet_types import EVER, MIDNIGHT, URLS, pages, written

NESTED = CrawlParameters.model_validate(
    {"fields": {"url": "where.url", "time": "at", "title": "doc.head", "text": "doc.body"}}
)
LONG = LogParameters.model_validate(
    {
        "fields": {
            "time": "request.time",
            "user": "request.user",
            "query": "request.text",
            "url": "result.url",
            "clicked": "result.clicked",
        }
    }
)


def crawl(tmp_path: Path, **columns: Any) -> tuple[list[tuple[Any, ...]], list[tuple[int, str]]]:
    source = written(tmp_path, columns)
    (block,) = read_pages(source, EVER, NESTED, ResourceLimits(tmp_path, threads=1))
    return block.pages.select("url", "fetched_at", "title", "text").rows(), block.rejects


def test_pages_within_structs(tmp_path: Path) -> None:
    doc = pa.array(
        [{"head": "Eau", "body": "Un texte"}, None],
        pa.struct({"head": pa.string(), "body": pa.binary()}),
    )
    rows, rejects = crawl(
        tmp_path, where=[{"url": url} for url in URLS], at=[MIDNIGHT] * 2, doc=doc
    )
    assert rows == [(URLS[0], MIDNIGHT, "Eau", "Un texte")]
    assert rejects == [(2, "bad_text")]


def test_a_title_may_be_missing_unless_it_is_named_and_a_text_may_not(tmp_path: Path) -> None:
    where, at = [{"url": url} for url in URLS], [MIDNIGHT] * 2
    rows, _ = pages(written(tmp_path, {"url": URLS, "timestamp": at, "text": ["Un", "Deux"]}))
    assert len(rows) == 2
    message = (
        r"expected the column 'doc.head' \(crawl.fields.title\), found where, at, doc; correct"
    )
    with pytest.raises(FormatError, match=message):
        crawl(tmp_path, where=where, at=at, doc=[{"body": "Un texte"}] * 2)
    with pytest.raises(FormatError, match=r"expected the columns where.url, at \(time\), doc.body"):
        crawl(tmp_path, where=where, at=at, doc=[{"head": "Eau"}] * 2)


def test_the_first_time_and_text_with_a_value_count(tmp_path: Path) -> None:
    columns = {
        "url": URLS,
        "last_updated_at": pa.array([None, MIDNIGHT + 1]),
        "created_at": [MIDNIGHT, MIDNIGHT],
        "text": pa.array([None, "Un texte"]),
        "content": ["Un autre", "Un autre"],
    }
    found = pages(written(tmp_path, columns))
    assert found == ([(URLS[0], MIDNIGHT, "Un autre"), (URLS[1], MIDNIGHT + 1, "Un texte")], [])


def test_rows_of_results_within_structs(tmp_path: Path) -> None:
    """Two users ask the same at once: without their names they would be one page."""
    rows = [(user, url) for user in ("u", "v") for url in URLS]
    source = written(
        tmp_path,
        {
            "request": [{"time": MIDNIGHT, "user": user, "text": "eau"} for user, _ in rows],
            "result": [
                {"url": url, "clicked": (user, url) == ("v", URLS[1])} for user, url in rows
            ],
            "more": ["x"] * 4,
        },
    )
    batches = list(read_impressions(source, EVER, LONG, 1))
    found = [row for records in batches for row in records.impressions.to_pylist()]
    assert [(row["user"], row["results"], row["clicks"]) for row in found] == [
        ("u", URLS, []),
        ("v", URLS, [2]),
    ]
    assert not any(records.rejects for records in batches)


def test_unresolvable_field_path_is_missing(tmp_path: Path) -> None:
    columns = {"request": [{"time": MIDNIGHT}], "result": [{"url": URLS[0]}]}
    with pytest.raises(FormatError, match=r"missing: request.text; found request, result"):
        list(read_impressions(written(tmp_path, columns), EVER, LONG, 1))


def test_exact_column_name_takes_precedence_over_a_path() -> None:
    batch = pa.record_batch({"a": [{"b": {"c": 1}}], "a.b": [2]})
    assert existing_column_names(batch.schema, ["a.b", "a.b.c", "a.c", "a", "b", "a"]) == [
        "a.b",
        "a.b.c",
        "a",
    ]
    assert get_column(batch, "a.b").to_pylist() == [2]
    assert get_column(batch, "a.b.c").to_pylist() == [1]
    with pytest.raises(KeyError):
        get_column(batch, "a.c")


def test_a_bomb_is_rejected_after_the_rows_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = {"time": [5] * 5, "query": ["eau"] * 5, "results": [URLS] * 5, "clicks": [[1]] * 5}
    batch = pa.record_batch(columns)

    def unpacked(*_: object, **__: object) -> Iterator[tuple[int, pa.RecordBatch]]:
        yield 1, batch.slice(0, 3)
        yield 4, batch.slice(3)
        raise DecompressionBombError

    monkeypatch.setattr(parquet_rows, "read_numbered_batches", unpacked)
    source = written(tmp_path, columns)
    batches = list(read_impressions(source, None, LogParameters(), 1))
    assert sum(len(records.impressions) for records in batches) == 5
    assert [reject for records in batches for reject in records.rejects] == [
        (6, "decompression_bomb")
    ]
