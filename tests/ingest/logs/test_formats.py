"""Crawls as WARC and as Parquet."""

import io
import json
import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from builder import SimulationParameters, simulate
from builder.errors import FormatError
from builder.ingest import ingest_crawl, ingest_log
from builder.ingest.crawls.formats import read_pages
from builder.ingest.logs import checks
from builder.io.sources import Interval, Source
from builder.parameters import CrawlParameters, LogParameters
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from tests.crawled import read_crawled
from tests.ingest.logs.log_files import read_impressions

ANY = CrawlParameters(interval="ignore")
INTERVAL = Interval(0, 2**40)
HERE = ResourceLimits(Path(), threads=1)
PAGE = (
    "<html><head>{head}<title>Les crêpes</title></head><body><nav>Menu Accueil Contact</nav>"
    "<main><article><h1>Les crêpes</h1><p>Il faut de la farine, du lait et trois œufs pour "
    "préparer la pâte à crêpes bretonnes.</p><p>On laisse reposer la pâte une heure avant la "
    "cuisson, puis on beurre la poêle très chaude.</p></article></main></body></html>"
)


def _archive(path: Path, records: list[tuple[str, str, str, bytes]], *, gzip: bool = True) -> Path:
    """A WARC of (address, status, content type, body)."""
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=gzip)
        for url, status, kind, body in records:
            headers = StatusAndHeaders(status, [("Content-Type", kind)], protocol="HTTP/1.1")
            record = writer.create_warc_record(
                url,
                "response",
                payload=io.BytesIO(body),
                http_headers=headers,
                warc_headers_dict={"WARC-Date": "2022-06-15T12:00:00Z"},
            )
            writer.write_record(record)
            writer.write_record(writer.create_warc_record(url, "metadata", io.BytesIO(b"x")))
    return path


def _by_hand(path: Path, ends: tuple[bytes, bytes], kind: bytes = b"response") -> Path:
    """An archive of two records; line ends of its own headers, and of those of HTTP."""
    records = []
    for number in range(2):
        http = ends[1].join([b"HTTP/1.1 200 OK", b"Content-Type: text/html", b"", b""])
        http += PAGE.format(head="").encode()
        head = [
            b"WARC/1.0",
            b"WARC-Type: " + kind,
            b"WARC-Date: 2022-06-15T12:00:00Z",
            b"WARC-Target-URI: https://a.example/%d" % number,
            b"Content-Type: application/http; msgtype=response",
            b"Content-Length: %d" % len(http),
            b"",
            http,
            b"",
            b"",
        ]
        records.append(ends[0].join(head))
    path.write_bytes(b"".join(records))
    return path


@pytest.mark.parametrize("ends", [(b"\r\n", b"\r\n"), (b"\r\n", b"\n"), (b"\n", b"\n")])
def test_lines_of_headers_may_end_with_lf_alone(tmp_path: Path, ends: tuple[bytes, bytes]) -> None:
    found = _read(_by_hand(tmp_path / "a.warc", ends))
    assert [(number, page.url) for number, page in found] == [
        (1, "https://a.example/0"),
        (2, "https://a.example/1"),
    ]
    assert found[0][1].text.startswith("Les crêpes")


def test_records_of_other_kinds_are_none_unless_their_header_is_damaged(tmp_path: Path) -> None:
    ends = (b"\r\n", b"\r\n")
    assert _read(_by_hand(tmp_path / "a.warc", ends, b"screenshot")) == []
    archive = _by_hand(tmp_path / "b.warc", ends, b"screenshot")
    archive.write_bytes(re.sub(rb"Content-Length: \d+\r\n", b"", archive.read_bytes(), count=1))
    assert _read(archive) == [(1, "bad_header"), (2, "file_damaged")]


def _read(path: Path) -> list[tuple[int, Any]]:
    """Number of each record, and its page (columns as attributes) or why it is none."""
    found: list[tuple[int, Any]] = []
    for block in read_pages(Source(path, path.name), INTERVAL, ANY, HERE):
        found += [(row["line"], SimpleNamespace(**row)) for row in block.pages.to_dicts()]
        found += block.rejects
        assert block.records == block.pages.height + len(block.rejects)
    return sorted(found, key=lambda record: record[0])


@pytest.mark.parametrize("gzip", [True, False])
@pytest.mark.parametrize(
    ("kind", "head", "encoding"),
    [
        ("text/html; charset=utf-8", "", "utf-8"),
        ("text/html; charset=iso-8859-15", "", "iso-8859-15"),
        ("text/html; charset=windows-1252", "", "cp1252"),
        ("text/html", '<meta charset="utf-8">', "utf-8"),
        ("text/html", '<meta charset="windows-1252">', "cp1252"),
        ("text/html; charset=iso-8859-1", "", "utf-8-sig"),
        ("text/html; charset=nonsense", '<meta charset="utf-8">', "utf-8"),
    ],
)
def test_pages_in_many_charsets(
    tmp_path: Path, gzip: bool, kind: str, head: str, encoding: str
) -> None:
    body = PAGE.format(head=head).encode(encoding)
    path = _archive(tmp_path / "w", [("https://a.example/x", "200 OK", kind, body)], gzip=gzip)
    ((number, page),) = _read(path)
    assert number == 1
    assert page.title == "Les crêpes"
    assert page.fetched_at == 1655294400
    text = page.text
    assert "trois œufs pour préparer la pâte" in text
    assert "Contact" not in text


def test_other_responses_are_rejects_by_reason(tmp_path: Path) -> None:
    html, body = "text/html; charset=utf-8", PAGE.format(head="").encode()
    records = [
        ("https://a.example/1", "404 Not Found", html, body),
        ("https://a.example/2", "301 Moved Permanently", html, b""),
        ("https://a.example/3", "200 OK", "image/png", b"\x89PNG"),
        ("https://a.example/4", "200 OK", html, b"<html></html>"),
        ("ftp://a.example/5", "200 OK", html, body),
        ("https://a.example/6", "200 OK", html, body),
    ]
    found = _read(_archive(tmp_path / "w.warc.gz", records))
    reasons = [page for _, page in found[:5]]
    assert reasons == ["http_404", "http_301", "not_html", "empty_text", "bad_url"]
    assert not isinstance(found[5][1], str)
    assert [number for number, _ in found] == [1, 2, 3, 4, 5, 6]


def test_records_without_an_http_header_and_without_a_type(tmp_path: Path) -> None:
    html = PAGE.format(head="").encode()
    text = "La météo de la semaine.\nIl fera beau à Brest.".encode()
    records = [
        ("resource", "text/html; charset=UTF-8", html),
        ("resource", "image/png", b"\x89PNG"),
        ("conversion", "text/plain", text),
        ("conversion", "application/json", b"{}"),
        ("response", None, b"\n <!DOCTYPE html>" + html),
        ("response", None, b"%PDF-1.4 <html>"),
        ("response", None, b"<article>not a tag that tells</article>"),
    ]
    path = tmp_path / "w.warc.gz"
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        for number, (record_type, kind, body) in enumerate(records):
            is_response = record_type == "response"
            http = StatusAndHeaders("200 OK", [], protocol="HTTP/1.1") if is_response else None
            writer.write_record(
                writer.create_warc_record(
                    f"https://a.example/{number}",
                    record_type,
                    payload=io.BytesIO(body),
                    http_headers=http,
                    warc_content_type="" if is_response else kind,
                    warc_headers_dict={"WARC-Date": "2022-06-15T12:00:00Z"},
                )
            )
    found = dict(_read(path))
    assert [found[n] for n in (2, 4, 6, 7)] == ["not_html"] * 4
    for n in (1, 5):
        assert found[n].title == "Les crêpes"
        assert "trois œufs" in found[n].text
    assert (found[3].title, found[3].text) == ("", text.decode())
    assert {found[n].fetched_at for n in (1, 3, 5)} == {1655294400}


def test_pages_of_which_an_archive_has_a_part_are_flagged(tmp_path: Path) -> None:
    payloads = {"long": PAGE.format(head=""), "whole": PAGE.format(head="")}
    path = tmp_path / "w.warc"
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=False)
        for name, html in payloads.items():
            headers = {"WARC-Date": "2022-06-15T12:00:00Z"}
            if name == "long":
                headers["WARC-Truncated"] = "length"
            writer.write_record(
                writer.create_warc_record(
                    f"https://a.example/{name}",
                    "resource",
                    payload=io.BytesIO(html.encode()),
                    warc_content_type="text/html",
                    warc_headers_dict=headers,
                )
            )
    (block,) = read_pages(Source(path, "w"), INTERVAL, CrawlParameters(), HERE)
    assert block.pages.select("url", "truncated").rows() == [
        ("https://a.example/long", True),
        ("https://a.example/whole", False),
    ]


def test_a_truncated_archive_keeps_what_came_before(tmp_path: Path) -> None:
    body = PAGE.format(head="").encode()
    records = [(f"https://a.example/{n}", "200 OK", "text/html", body) for n in range(20)]
    whole = _archive(tmp_path / "w.warc.gz", records).read_bytes()
    (tmp_path / "w.warc.gz").write_bytes(whole[: len(whole) // 2])
    found = _read(tmp_path / "w.warc.gz")
    pages = [page for _, page in found if not isinstance(page, str)]
    assert 5 <= len(pages) <= 11


def test_a_simulated_archive_is_the_simulated_crawl(tmp_path: Path) -> None:
    params = {"documents": 60, "queries": 3, "impressions": 20, "snapshots": 1, "refetched": 0}
    texts = {}
    for kind in ("jsonl", "warc"):
        world = tmp_path / kind
        simulate(world, SimulationParameters(crawl_format=kind, malformed_rate=0, **params))  # type: ignore[arg-type]
        (path,) = (world / "crawls").iterdir()
        out, scratch = tmp_path / f"{kind}-out", tmp_path / f"{kind}-scratch"
        out.mkdir()
        scratch.mkdir()
        ledger = ingest_crawl(
            out,
            files=[Source(path, path.name)],
            interval=INTERVAL,
            params=ANY,
            limits=ResourceLimits(scratch),
            progress=NoProgress(),
        )
        ledger.check("crawl")
        rows = read_crawled(out).sort("doc_id")
        texts[kind] = rows.select("doc_id", "url", "title", "fetched_at")
    assert texts["jsonl"].equals(texts["warc"])


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_crawls_under_other_names(tmp_path: Path, form: str) -> None:
    record = {
        "page_url": "https://a.example/1",
        "crawl_date": "15/06/2022 14:00:00",
        "headline": "Un",
        "body": "Texte un",
        "text": "not this one",
    }
    path = tmp_path / "crawl"
    if form == "jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for _ in range(3)))
    else:
        pl.DataFrame([record] * 3).write_parquet(path)
    fields = {"url": "page_url", "time": "crawl_date", "title": "headline", "text": "body"}
    options = {"time_format": "%d/%m/%Y %H:%M:%S", "time_zone": "Europe/Paris"}
    params = CrawlParameters.model_validate({"fields": fields, **options})
    blocks = list(read_pages(Source(path, "crawl"), Interval(0, 2**40), params, HERE))
    rows = pl.concat([block.pages for block in blocks]).select("title", "text", "fetched_at")
    assert rows.rows() == [("Un", "Texte un", 1655294400)] * 3
    assert not any(block.rejects for block in blocks)


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("days", [[20220603] * 2, [20220603, None]])
def test_crawls_with_compact_dates(tmp_path: Path, form: str, days: list[int | None]) -> None:
    urls = [f"https://a.example/{n}" for n in range(2)]
    frame = pl.DataFrame({"url": urls, "timestamp": days, "text": "Un"})
    frame = frame if all(days) else frame.cast({"timestamp": pl.Float64})
    path = tmp_path / "crawl"
    write = {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}
    write[form](path)
    params = CrawlParameters(time_format="%Y%m%d", undated="start")
    (block,) = read_pages(Source(path, "crawl"), Interval(0, 2**40), params, HERE)
    found = [1_654_214_400 if day else 0 for day in days]
    assert block.pages["fetched_at"].to_list() == found


def test_crawls_of_nested_fields_and_milliseconds(tmp_path: Path) -> None:
    path = tmp_path / "crawl.jsonl"
    pages = [{"uri": f"https://a.example/{n}", "ts": 1655294400123 + n} for n in range(3)]
    lines = [{"doc": page, "content": "Un"} for page in pages]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    fields = {"url": "doc.uri", "time": "doc.ts"}
    params = CrawlParameters.model_validate({"fields": fields, "time_unit": "ms"})
    (block,) = read_pages(Source(path, "crawl"), Interval(0, 2**40), params, HERE)
    assert block.pages["fetched_at"].to_list() == [1655294400] * 3
    assert block.pages["url"].to_list() == [page["uri"] for page in pages]


def test_parquet_crawls(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "url": ["https://a.example/1", None, "https://a.example/2"],
            "timestamp": [5, 6, 7],
            "title": ["Un", None, None],
            "text": ["Texte un", "x", ""],
        }
    )
    frame.write_parquet(tmp_path / "c.parquet")
    found = _read(tmp_path / "c.parquet")
    assert [page for _, page in found[1:]] == ["bad_url", "empty_text"]
    assert found[0][1].text == "Texte un"
    frame.rename({"text": "body"}).write_parquet(tmp_path / "d.parquet")
    with pytest.raises(FormatError, match="found url, timestamp, title, body"):
        _read(tmp_path / "d.parquet")
    whole = (tmp_path / "c.parquet").read_bytes()
    (tmp_path / "e.parquet").write_bytes(whole[:4] + b"\xff" * len(whole) + whole[-4:])
    with pytest.raises(FormatError, match="cannot be read as Parquet"):
        _read(tmp_path / "e.parquet")


def test_real_archives(shared: Path) -> None:
    found = _read(shared / "warc/pages_mixed_charsets.warc.gz")
    assert len(found) == 1327
    reasons = Counter(page for _, page in found if isinstance(page, str))
    assert reasons["http_404"] == 24
    pages = [page for _, page in found if not isinstance(page, str)]
    assert len(pages) == 1327 - sum(reasons.values()) >= 1300
    assert not [p.url for p in pages if "\ufffd" in p.title + p.text]


def test_parquet_logs_are_read_like_json_lines(tmp_path: Path) -> None:
    tables = {}
    for kind in ("jsonl", "parquet"):
        world = tmp_path / kind
        options = {"documents": 60, "queries": 10, "impressions": 500, "snapshots": 1}
        simulate(world, SimulationParameters(log_format=kind, malformed_rate=0, **options))  # type: ignore[arg-type]
        (path,) = (world / "logs").iterdir()
        out, scratch = tmp_path / f"{kind}-out", tmp_path / f"{kind}-scratch"
        out.mkdir()
        scratch.mkdir()
        ledger = ingest_log(
            out,
            files=[Source(path, path.name)],
            interval=INTERVAL,
            params=LogParameters(),
            limits=ResourceLimits(scratch),
            progress=NoProgress(),
        )
        ledger.check("log")
        assert (ledger.rows_in, ledger.rows_out) == (500, 500)
        tables[kind] = pl.read_parquet(out / "impressions").drop("user")
    assert tables["jsonl"].equals(tables["parquet"])


def test_integers_of_parquet_logs_are_converted_by_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ids of users and queries that are numbers need no row of their own in Python."""
    monkeypatch.delattr(checks, "make_impression")
    urls = ["https://a.example/1"]
    rows = [{"time": 5, "user": 7, "query": 17, "results": urls, "clicks": [1]}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "log")
    (records,) = read_impressions(Source(tmp_path / "log", "log"), Interval(0, 10), LogParameters())
    (impression,) = records.impressions.to_pylist()
    assert (impression["user"], impression["query"]) == ("7", "17")


def test_rows_of_parquet_logs_are_checked(tmp_path: Path) -> None:
    rows = {
        "time": [5, None, 7],
        "query": ["un", "deux", "trois"],
        "results": [["https://a.example/1"], ["https://a.example/1"], []],
    }
    pl.DataFrame(rows).write_parquet(tmp_path / "l.parquet")
    source = Source(tmp_path / "l.parquet", "l.parquet")
    (records,) = read_impressions(source, INTERVAL, LogParameters())
    assert [batch["record"].to_pylist() for batch in [records.impressions]] == [[1]]
    assert records.rejects == [(2, "bad_time"), (3, "no_results")]
    pl.DataFrame(rows).drop("results").write_parquet(tmp_path / "l.parquet")
    with pytest.raises(FormatError, match="missing: results; found time, query"):
        list(read_impressions(source, INTERVAL, LogParameters()))
