"""Logs and crawls that name documents by ids of their own."""

import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from builder.ingest.crawls import json_lines
from builder.ingest.crawls.formats import read_pages
from builder.ingest.ids import to_urls
from builder.ingest.logs import checks
from builder.ingest.texts import url_keys
from builder.io.sources import Interval, Source
from builder.parameters import CrawlParameters, LogParameters
from builder.runtime.limits import ResourceLimits
from builder.text.keys import key64
from tests.ingest.logs.log_files import ingest

WORKS = "https://core.example/works/{id}"
TEMPLATES = (WORKS, "https://core.example/show?id={id}&lang=fr", "http://a.example/w.{id}/text")
PAGE: list[Any] = [{"time": 5, "user": "ada", "query": "eau", "results": [12, 7], "clicks": [2]}]


def _addresses(*names: str | None, template: str | None = WORKS) -> list[str | None]:
    return to_urls(pl.Series(names, dtype=pl.String), template).to_list()


def test_an_id_becomes_an_address_and_an_address_stays_one() -> None:
    assert _addresses("12", " 7 ", "10.1145/3.4", "a b&c?d#e", "été") == [
        "https://core.example/works/12",
        "https://core.example/works/7",
        "https://core.example/works/10.1145/3.4",
        "https://core.example/works/a%20b%26c%3Fd%23e",
        "https://core.example/works/%C3%A9t%C3%A9",
    ]
    others = ["https://a.example/1", "ftp://a.example/1", "", " ", "\x1c", ".", " .. ", None]
    assert _addresses(*others) == others
    assert _addresses("12", "x", template=None) == ["12", "x"]


@given(st.sampled_from(TEMPLATES), st.lists(st.text(), unique_by=str.strip))
@example(WORKS, ["a/../b", "b", "../b", "./b", "a%2F..%2Fb", "%2E", "a/b", "a%2Fb", "a//b", "/b"])
@example(TEMPLATES[1], ["a&b=c", "a", "a=b", "a+b", "a b", "a%20b", "a;b"])
def test_distinct_ids_have_distinct_urls(template: str, names: list[str]) -> None:
    ids = [n for n in names if n.strip() not in {"", ".", ".."} and "://" not in n]
    keys = url_keys(to_urls(pl.Series(ids, dtype=pl.String), template)).to_list()
    assert len(set(keys)) == len(ids)
    head, _, tail = template.partition("{id}")
    if "?" not in template:  # where parameters are sorted
        assert all(key.startswith(head) and key.endswith(tail) for key in keys)


ONCE = r"expected a URL that contains the placeholder \{id\} once"
IN_PATH = r"expected an http or https URL with \{id\} in its path or query"


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("", ONCE),
        ("https://core.example/works/", ONCE),
        ("https://core.example/{id}/{id}", ONCE),
        ("https://{id}.example/", IN_PATH),
        ("https://core.example/works#{id}", IN_PATH),
        ("https://core.example/works?utm_id={id}", IN_PATH),
        ("core.example/{id}", IN_PATH),
        ("javascript:{id}", IN_PATH),
    ],
)
def test_templates_that_would_lose_an_id_are_refused(address: str, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        LogParameters(address=address)


def _as_parquet(rows: list[dict[str, Any]]) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), file)
    return file.getvalue()


def _as_lines(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


LONG = [
    {"time": 5, "user": "ada", "query": "eau", "url": 12, "rank": 1, "clicked": 0},
    {"time": 5, "user": "ada", "query": "eau", "url": 7, "rank": 2, "clicked": 1},
]


@pytest.mark.parametrize(
    "data",
    [
        _as_lines(PAGE),
        _as_lines([PAGE[0] | {"results": ["12", " 7"]}]),
        _as_lines([PAGE[0] | {"results": ["12", "https://core.example/works/7#top"]}]),
        _as_lines([PAGE[0] | {"results": ["12", "7"], "clicks": ["7"]}]),
        _as_lines([PAGE[0] | {"results": [{"url": 12}, {"url": 7}], "clicks": [{"url": 7}]}]),
        _as_lines([PAGE[0] | {"results": [{"url": 12}, {"url": 7, "clicked": True}]}]).replace(
            b', "clicks": [2]', b""
        ),
        _as_lines(LONG),
        _as_parquet(PAGE),
        _as_parquet(LONG),
        b"time,user,query,results,clicks\n5,ada,eau,12 7,2\n",
        b'time,user,query,results,clicks\n5,ada,eau,"[12, 7]",[2]\n',
        b"time\tuser\tquery\turl\tclicked\n5\tada\teau\t12\t0\n5\tada\teau\t7\t1\n",
        b"time,user,query,url,clicked\n5,ada,eau,12.0,0\n5,ada,eau,7.0,1\n",
    ],
)
def test_logs_of_every_form(tmp_path: Path, data: bytes) -> None:
    ledger, found = ingest(tmp_path, {"log": data}, address=WORKS)
    assert ledger.rejected == {}
    keys = [key64(WORKS.format(id=name)) for name in (12, 7)]
    assert found.select("results", "clicks").rows() == [(keys, [2])]
    urls = pl.read_parquet(tmp_path / "out" / "log_urls.parquet")
    assert set(urls["url_key"]) == {WORKS.format(id=name) for name in (12, 7)}


@pytest.mark.parametrize(
    "data",
    [
        _as_lines([PAGE[0] | {"query": 31}]),
        _as_lines([PAGE[0] | {"query": " 31"}, PAGE[0] | {"query": 31, "user": "eve"}]),
        _as_lines([row | {"query": 31} for row in LONG]),
        _as_parquet([PAGE[0] | {"query": 31}]),
        _as_parquet([row | {"query": 31} for row in LONG]),
        b"time,user,query,results,clicks\n5,ada,31,12 7,2\n",
    ],
)
def test_queries_may_be_ids(tmp_path: Path, data: bytes) -> None:
    ledger, found = ingest(tmp_path, {"log": data}, address=WORKS)
    assert ledger.rejected == {}
    assert set(found["query"]) == {key64("31")}
    texts = pl.read_parquet(tmp_path / "out" / "log_queries.parquet")
    assert texts["text"].to_list() == ["31"]


@pytest.mark.parametrize("results", ["07 7", '"[07, 7]"', '"{07,7}"', '"[""07"", ""7""]"'])
@pytest.mark.parametrize(
    ("click_form", "clicks", "ranks"),
    [("ids", "07", [1]), ("ids", "7", [2]), ("ids", '"[7, 07]"', [2, 1]), ("ranks", "02", [2])],
)
def test_leading_zeros_of_ids_are_kept(
    tmp_path: Path, results: str, click_form: str, clicks: str, ranks: list[int]
) -> None:
    data = f"time,user,query,results,clicks\n5,ada,eau,{results},{clicks}\n".encode()
    ledger, found = ingest(tmp_path, {"log": data}, address=WORKS, click_form=click_form)
    assert ledger.rejected == {}
    keys = [key64(WORKS.format(id=name)) for name in ("07", "7")]
    assert found.select("results", "clicks").rows() == [(keys, ranks)]


def test_clicked_ids_written_as_floats(tmp_path: Path) -> None:
    """Since some impressions have no click, pandas writes the column as floats."""
    rows = b'5,ada,eau,"[12, 7]",7.0\n6,ada,eau,"[12, 7]",\n7,ada,eau,12,\n'
    data = b"time,user,query,results,clicks\n" + rows
    ledger, found = ingest(tmp_path, {"log": data}, address=WORKS, click_form="ids")
    assert ledger.rejected == {}
    assert found["clicks"].to_list() == [[2], [], []]


def test_ids_without_address_are_reported(tmp_path: Path) -> None:
    ledger, found = ingest(tmp_path, {"log": _as_lines(PAGE)})
    assert (ledger.rejected, found.height) == ({"bad_url": 1}, 0)


CRAWL = [
    {"id": 12, "updated": 5, "title": "Eau", "abstract": "De l'eau."},
    {"id": 7, "updated": 6, "title": "Loi", "abstract": "Une loi."},
]
FIELDS = {"url": "id", "time": "updated", "text": "abstract"}


@pytest.mark.parametrize("write", [_as_lines, _as_parquet])
@pytest.mark.parametrize("text_format", ["plain", "html"])
def test_crawls_of_every_form(tmp_path: Path, write: Any, text_format: str) -> None:
    (tmp_path / "crawl").write_bytes(write(CRAWL))
    given = {"fields": FIELDS, "address": WORKS, "text_format": text_format}
    params = CrawlParameters.model_validate(given)
    source = Source(tmp_path / "crawl", "crawl")
    blocks = list(read_pages(source, Interval(0, 10), params, ResourceLimits(tmp_path, threads=1)))
    pages = pl.concat([block.pages for block in blocks])
    assert pages.select("url", "url_key", "title").rows() == [
        ("https://core.example/works/12", "https://core.example/works/12", "Eau"),
        ("https://core.example/works/7", "https://core.example/works/7", "Loi"),
    ]
    assert not any(block.rejects for block in blocks)


@pytest.mark.parametrize(
    ("cells", "names"),
    [
        (("12.0", "7"), ["12", "7"]),
        (("12.0", "7.5"), ["12.0", "7.5"]),
        (("12.0", "x"), ["12.0", "x"]),
    ],
)
@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_page_ids_written_as_floats(
    tmp_path: Path, cells: tuple[str, str], names: list[str], delimiter: str
) -> None:
    rows = ["url,timestamp,text", *(f"{cell},5,De l'eau." for cell in cells)]
    (tmp_path / "crawl").write_text("\n".join(rows).replace(",", delimiter) + "\n")
    source, params = Source(tmp_path / "crawl", "crawl"), CrawlParameters(address=WORKS)
    blocks = list(read_pages(source, Interval(0, 10), params, ResourceLimits(tmp_path, threads=1)))
    pages = pl.concat([block.pages for block in blocks])
    assert pages["url"].to_list() == [WORKS.format(id=name) for name in names]


def test_numbers_are_parsed_in_bulk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(checks, "make_impression")
    monkeypatch.delattr(json_lines, "parse_page")
    objects = [{"url": 12, "rank": 1}, {"url": 7, "rank": 2}]
    for number, fields in enumerate(({"results": [12, 7]}, {"results": objects}, {"query": 31})):
        folder = tmp_path / str(number)
        folder.mkdir()
        ledger, _ = ingest(folder, {"log": _as_lines([PAGE[0] | fields])})
        assert ledger.rows_in == 1
    test_crawls_of_every_form(tmp_path, _as_lines, "plain")


def test_invalid_field_name_is_reported(tmp_path: Path) -> None:
    crawl = [CRAWL[0] | {"id": value} for value in (True, 1.5, None, [1])]
    (tmp_path / "crawl").write_bytes(_as_lines(crawl))
    params = CrawlParameters.model_validate({"fields": FIELDS, "address": WORKS})
    source = Source(tmp_path / "crawl", "crawl")
    blocks = read_pages(source, Interval(0, 10), params, ResourceLimits(tmp_path, threads=1))
    rejects = [reason for block in blocks for _, reason in block.rejects]
    assert rejects == ["bad_url"] * 4


@pytest.mark.parametrize("write", [_as_lines, _as_parquet])
def test_of_several_texts_and_times_the_first_with_a_value_counts(
    tmp_path: Path, write: Any
) -> None:
    papers = [
        {"id": 1, "title": "T", "abstract": "A.", "fullText": "F.", "up": 3, "made": 4},
        {"id": 2, "title": "T", "abstract": "A.", "fullText": None, "up": None, "made": 4},
        {"id": 3, "title": "T", "abstract": "", "fullText": "", "up": None, "made": 4},
        {"id": 4, "title": "", "abstract": "", "fullText": "", "up": None, "made": 4},
        {"id": 5, "title": "T", "abstract": "A.", "fullText": None, "up": None, "made": None},
    ]
    (tmp_path / "crawl").write_bytes(write(papers))
    names = {"url": "id", "text": ["fullText", "abstract", "title"], "time": ["up", "made"]}
    params = CrawlParameters.model_validate({"fields": names, "address": WORKS})
    source = Source(tmp_path / "crawl", "crawl")
    (block,) = read_pages(source, Interval(0, 10), params, ResourceLimits(tmp_path, threads=1))
    assert block.pages["text"].to_list() == ["F.", "A.", "T"]
    assert block.pages["fetched_at"].to_list() == [3, 4, 4]
    assert block.rejects == [(5, "bad_time"), (4, "empty_text")]
