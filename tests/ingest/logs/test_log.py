"""Query logs: each rule by its name, and nothing lost."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from builder.errors import DataError
from builder.ingest import ingest_crawl, ingest_log
from builder.ingest.logs import strings
from builder.ingest.logs.keys import KeyEncoder
from builder.ingest.logs.strings import StringTableWriter
from builder.io.sources import Interval, Source
from builder.parameters import CrawlParameters, LogParameters
from builder.runtime.ledger import RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from builder.text.keys import key64

INTERVAL = Interval(1000, 2000)
GOOD = {
    "time": 1500,
    "user": "ada",
    "query": "Pâte à  crêpes",
    "results": ["https://a.example/1", "https://a.example/2"],
    "clicks": [2, 1],
}


def ingest(folder: Path, *lines: object, packed: bool = False) -> tuple[RowLedger, Path]:
    """Ingest lines (objects become JSON); returns the ledger and the output folder."""
    raw = b"".join(
        (line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines
    )
    path = folder / "log.jsonl"
    path.write_bytes(gzip.compress(raw) if packed else raw)
    out, scratch = folder / "out", folder / "scratch"
    out.mkdir()
    scratch.mkdir()
    ledger = ingest_log(
        out,
        files=[Source(path, "logs/log.jsonl")],
        interval=INTERVAL,
        params=LogParameters(
            max_query_chars=40,
            max_results=5,
            max_line_bytes=2000,
            repeats="keep",
            encoding="utf-8",
            empty="allow",
            clickless="allow",
        ),
        limits=ResourceLimits(scratch, threads=1),
        progress=NoProgress(),
    )
    ledger.check("log")
    return ledger, out


def test_an_impression_in_keys(tmp_path: Path) -> None:
    _, out = ingest(tmp_path, GOOD, packed=True)
    (row,) = pl.read_parquet(out / "impressions").iter_rows(named=True)
    assert row == {
        "impression": 0,
        "user": row["user"],
        "query": key64("pate a crepes"),
        "surface": key64("Pâte à crêpes"),
        "results": [key64("https://a.example/1"), key64("https://a.example/2")],
        "clicks": [2, 1],
    }
    assert row["user"] not in (None, key64("ada"))
    queries = pl.read_parquet(out / "log_queries.parquet")
    assert queries.rows() == [
        (key64("Pâte à crêpes"), key64("pate a crepes"), "Pâte à crêpes", "pate a crepes")
    ]
    urls = pl.read_parquet(out / "log_urls.parquet")
    assert set(urls["url"]) == {"https://a.example/1", "https://a.example/2"}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"time": None}, "bad_time"),
        ({"time": "yesterday"}, "bad_time"),
        ({"time": True}, "bad_time"),
        ({"time": 1e300}, "bad_time"),
        ({"time": 2000}, "outside_interval"),
        ({"time": -5}, "outside_interval"),
        ({"user": ["ada"]}, "bad_user"),
        ({"user": True}, "bad_user"),
        ({"user": 1.5}, "bad_user"),
        ({"query": 7.5}, "bad_query"),
        ({"query": True}, "bad_query"),
        ({"query": None}, "bad_query"),
        ({"query": " \t"}, "empty_query"),
        ({"query": "x" * 41}, "query_too_long"),
        ({"query": "?!"}, "query_without_letters"),
        ({"query": "?!", "results": ["x"], "clicks": []}, "query_without_letters"),
        ({"query": "?!", "results": ["www.a.fr|www.b.fr"], "clicks": []}, "query_without_letters"),
        ({"results": ["www.a.fr|www.b.fr"], "clicks": []}, "bad_list"),
        ({"results": "https://a.example/1"}, "bad_results"),
        ({"results": [1.5]}, "bad_results"),
        ({"results": [True]}, "bad_results"),
        ({"results": ["https://a.example/1", ""]}, "bad_results"),
        ({"results": ["https://a.example/1", None]}, "bad_results"),
        ({"results": ["https://a.example/1", {"url": "https://a.example/2"}]}, "bad_results"),
        ({"results": [{"url": "https://a.example/"}] * 6, "clicks": []}, "too_many_results"),
        ({"results": ["https://a.example/1", "x"], "clicks": [1]}, "bad_url"),
        ({"results": [1], "clicks": []}, "bad_url"),
        ({"results": []}, "no_results"),
        ({"results": ["https://a.example/"] * 6, "clicks": []}, "too_many_results"),
        ({"results": ["javascript:alert(1)"], "clicks": []}, "bad_url"),
        ({"clicks": 2}, "bad_clicks"),
        ({"clicks": ["2"]}, "bad_clicks"),
        ({"clicks": [True]}, "bad_clicks"),
        ({"clicks": [None]}, "bad_clicks"),
        ({"clicks": [1.5]}, "bad_clicks"),
        ({"clicks": {"rank": 1}}, "bad_clicks"),
        ({"clicks": [{"time": 5}]}, "bad_clicks"),
        ({"clicks": [1, -1]}, "click_not_shown"),
        ({"clicks": [3]}, "click_not_shown"),
        ({"clicks": [0]}, "click_not_shown"),
        ({"clicks": [{"url": "https://a.example/9"}]}, "click_not_shown"),
        ({"padding": "x" * 3000}, "line_too_long"),
    ],
)
def test_rules_by_name(tmp_path: Path, changed: dict[str, Any], reason: str) -> None:
    ledger, out = ingest(tmp_path, GOOD, {**GOOD, **changed}, GOOD)
    assert dict(ledger.rejected) == {reason: 1}
    assert (ledger.rows_in, ledger.rows_out) == (3, 2)
    rejects = pl.read_parquet(out / "rejects.parquet")
    assert rejects.select("reason", "file", "line").row(0) == (reason, "logs/log.jsonl", 2)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "not_json"),
        (b'{"time": NaN}', "not_json"),
        (b'{"query": "\xff"}', "not_utf8"),
        (b"[" * 10_0 + b"]" * 10_0, "not_an_object"),
        (b"null", "not_an_object"),
        (b"", "blank_line"),
        (b" \t\r", "blank_line"),
    ],
)
def test_lines_that_are_not_records(tmp_path: Path, line: bytes, reason: str) -> None:
    ledger, _ = ingest(tmp_path, line, GOOD)
    assert dict(ledger.rejected) == {reason: 1}


def test_accepted_lists(tmp_path: Path) -> None:
    by_url = [{"url": "https://a.example/2", "time": 1}, {"rank": 1}]
    ledger, out = ingest(
        tmp_path,
        {**GOOD, "time": "1970-01-01T00:25:00Z"},
        {**GOOD, "time": "1970-01-01T01:25:00+01:00", "user": None},
        {**GOOD, "time": 1500.9, "user": 7},
        {**GOOD, "clicks": by_url},
        {k: v for k, v in GOOD.items() if k not in ("user", "clicks")},
    )
    assert ledger.rejected == {}
    table = pl.read_parquet(out / "impressions")
    assert table["clicks"].to_list() == [[2, 1]] * 4 + [[]]
    assert table["user"].is_null().to_list() == [False, True, False, False, True]


def test_blank_users_are_anonymous_and_numbers_are_users(tmp_path: Path) -> None:
    users = ("", "  ", None, 0, "0", " 0")
    lines = [{**GOOD, "user": user, "query": f"eau {n}"} for n, user in enumerate(users)]
    (tmp_path / "other").mkdir()
    for folder, more in (
        (tmp_path, {}),
        (tmp_path / "other", {"clicks": [{"url": GOOD["results"][0]}]}),
    ):
        _, out = ingest(folder, *({**line, **more} for line in lines))
        found = pl.read_parquet(out / "impressions")["user"].to_list()
        assert found[:3] == [None] * 3
        assert found[3] == found[4] != found[5]
        assert None not in found[3:]


class _Counted(NoProgress):
    """Progress that is added up."""

    records = 0

    def advance(self, count: int) -> None:
        self.records += count


def test_progress_is_told_in_records_whether_kept_or_rejected(tmp_path: Path) -> None:
    page = {"url": "https://a.example/", "timestamp": 1500, "text": "Un"}
    for work, lines, params in (
        (ingest_log, [GOOD, {}, {**GOOD, "query": "loi"}, 1], LogParameters()),
        (ingest_crawl, [page, {}, {**page, "timestamp": 1501}, 1], CrawlParameters()),
    ):
        folder = tmp_path / work.__name__
        folder.mkdir()
        (folder / "f").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        progress = _Counted()
        ledger = work(
            folder,
            files=[Source(folder / "f", "f")],
            interval=INTERVAL,
            params=params,
            limits=ResourceLimits(folder, threads=1),
            progress=progress,
        )
        assert (progress.records, ledger.rows_in) == (4, 4)


def test_forms_of_one_query_and_addresses_of_one_page(tmp_path: Path) -> None:
    other = {
        **GOOD,
        "query": "PATE A CREPES",
        "results": ["https://A.example:443/1?utm_source=x#top", "https://a.example/2"],
    }
    _, out = ingest(tmp_path, GOOD, other)
    table = pl.read_parquet(out / "impressions")
    assert table["query"].n_unique() == 1
    assert table["surface"].n_unique() == 2
    assert table["results"].n_unique() == 1
    urls = pl.read_parquet(out / "log_urls.parquet")
    assert urls.height == 2
    assert "https://A.example:443/1?utm_source=x#top" in urls["url"].to_list()


def test_clearing_the_cache_does_not_change_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [{**GOOD, "query": f"q{i % 7}", "user": f"u{i % 5}"} for i in range(40)]
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    _, first = ingest(tmp_path / "a", *lines)
    monkeypatch.setattr(strings, "BYTES_PER_KEY", 2**50)
    _, second = ingest(tmp_path / "b", *lines)
    for name in ("impressions/part-00000", "log_queries", "log_urls"):
        assert (first / f"{name}.parquet").read_bytes() == (second / f"{name}.parquet").read_bytes()


@pytest.mark.parametrize(
    "lines",
    [
        [{**GOOD, "results": ["HTTP://A.example/1", "https://b.example/%7Ex"], "clicks": []}],
        [GOOD, {**GOOD, "query": "ail"}],
    ],
)
def test_hash_collision_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[dict[str, object]]
) -> None:
    monkeypatch.setattr(
        KeyEncoder, "_hash_texts", lambda _, __, texts, ___: np.full(len(texts), 5, np.uint64)
    )
    with pytest.raises(DataError, match="two distinct strings of a log have the same key"):
        ingest(tmp_path, *lines)


def test_a_hash_collision_between_batches_is_an_error(tmp_path: Path) -> None:
    """The second of two strings with one key is new, although its key is not."""
    queries = pl.DataFrame(
        {"surface": [5], "query": [6], "text": ["eau"], "folded": ["eau"]},
        schema_overrides={"surface": pl.UInt64, "query": pl.UInt64},
    )
    urls = pl.DataFrame(
        {"key": [7], "url_key": ["a.example/"], "url": ["a.example/"]},
        schema_overrides={"key": pl.UInt64},
    )
    other_query = queries.with_columns(text=pl.lit("Eau"))
    other_url = urls.with_columns(url_key=pl.lit("b.example/"), url=pl.lit("b.example/"))
    surface = pl.lit(8, pl.UInt64)
    other_fold = queries.with_columns(surface=surface, text=pl.lit("loi"), folded=pl.lit("loi"))
    for number, second in enumerate(
        ((other_query, urls), (queries, other_url), (other_fold, urls))
    ):
        scratch = tmp_path / str(number)
        scratch.mkdir()
        with StringTableWriter(ResourceLimits(scratch)) as writer:
            writer.add(queries, urls)
            writer.add(*second)
            with pytest.raises(DataError, match="two distinct strings of a log have the same key"):
                writer.write_tables(scratch)


def test_of_several_addresses_of_a_page_the_first_by_letters_is_kept(tmp_path: Path) -> None:
    """Of one key; the canonical address comes from another batch than the two others."""
    keys, address = {"key": pl.UInt64}, "https://a.example/"
    queries = pl.DataFrame(
        {"surface": [9, 2], "query": [6, 5], "text": ["Eau", "loi"], "folded": ["eau", "loi"]},
        schema_overrides={"surface": pl.UInt64, "query": pl.UInt64},
    )
    with StringTableWriter(ResourceLimits(tmp_path)) as writer:
        for url in (f"{address}#b", address, f"{address}#a", "HTTPS://a.example", address):
            rows = {"key": [7, 3], "url_key": [address, "https://b.example/"]}
            urls = pl.DataFrame({**rows, "url": [url, "https://b.example/"]}, schema_overrides=keys)
            writer.add(queries, urls)
        writer.write_tables(tmp_path)
    assert pl.read_parquet(tmp_path / "log_urls.parquet").rows() == [
        (3, "https://b.example/", "https://b.example/"),
        (7, address, "HTTPS://a.example"),
    ]
    assert pl.read_parquet(tmp_path / "log_queries.parquet").rows() == [
        (2, 5, "loi", "loi"),
        (9, 6, "Eau", "eau"),
    ]


def test_addresses_and_queries_that_are_refused_are_in_no_table(tmp_path: Path) -> None:
    lines = ({"query": "?!"}, {"results": ["x", "https://a.example/3"], "clicks": []})
    _, out = ingest(tmp_path, GOOD, *({**GOOD, **changed} for changed in lines))
    queries = pl.read_parquet(out / "log_queries.parquet")
    assert queries["text"].to_list() == ["Pâte à crêpes"]
    urls = pl.read_parquet(out / "log_urls.parquet")
    assert sorted(urls["url"]) == [f"https://a.example/{n}" for n in (1, 2, 3)]


def test_impressions_are_in_the_order_of_the_log_however_they_are_checked(tmp_path: Path) -> None:
    """The second and the fourth are checked by themselves, as is the reject between them."""
    times = (1500, "1970-01-01T00:25", 1500, "1970-01-01T00:25", 1500)
    lines = [{**GOOD, "time": time, "clicks": [1 + n % 2]} for n, time in enumerate(times)]
    lines[2] = {**GOOD, "time": "x"}
    _, out = ingest(tmp_path, *lines)
    assert pl.read_parquet(out / "impressions")["clicks"].to_list() == [[1], [2], [2], [1]]
    assert pl.read_parquet(out / "rejects.parquet")["line"].to_list() == [3]


def test_limits_of_queries_results_and_lines_are_inclusive(tmp_path: Path) -> None:
    results = [f"https://a.example/{n}" for n in range(5)]
    long = {**GOOD, "query": "x" * 40, "results": results, "padding": ""}
    fill = "x" * (2000 - len(json.dumps(long)))
    objects = [{"url": url} for url in results]
    lines = [{**long, "padding": fill}, {**GOOD, "query": "é " * 19 + "éé"}]
    lines += [
        {**GOOD, "query": "e\u0301" * 40},
        {**GOOD, "results": objects},
        {**GOOD, "time": 1000},
    ]
    ledger, _ = ingest(tmp_path, *lines, {**GOOD, "time": 1999.9})
    assert (ledger.rows_out, ledger.rejected) == (6, {})


def test_no_user_query_or_time_in_impressions(tmp_path: Path) -> None:
    _, out = ingest(tmp_path, {**GOOD, "user": "ada-lovelace-1815"})
    for path in out.glob("*.parquet"):
        assert b"ada-lovelace" not in path.read_bytes()
    table = pl.read_parquet(out / "impressions")
    assert "time" not in table.columns
    assert not any(dtype == pl.String for dtype in table.dtypes)
