"""Logs in every format: as lines, tables, rows of results and actions; how formats are told."""

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard

from builder.errors import FormatError
from builder.ingest.crawls.formats import read_pages
from builder.ingest.decompression import CHUNK
from builder.ingest.logs.formats import detect_format
from builder.io.sources import Interval, Source
from builder.parameters import CrawlParameters, LogParameters
from builder.runtime.limits import ResourceLimits
from tests.ingest.logs.log_files import Rows, ingest, read_impressions, seen

WIDE = [
    ("5", "ada", "eau", "https://a.example/1 https://a.example/2", "2"),
    ("6", "", "loi", "https://a.example/3", ""),
]
EXPECTED: Rows = [("eau", [2]), ("loi", [])]


@pytest.mark.parametrize(
    ("name", "delimiter"), [("log.tsv", "\t"), ("log.csv", ","), ("log.csv", ";"), ("log.csv", "|")]
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_tables_of_text(tmp_path: Path, name: str, delimiter: str, pack: Any) -> None:
    lines = [("time", "user", "query", "results", "clicks"), *WIDE]
    data = "\r\n".join(delimiter.join(cells) for cells in lines) + "\r\n"
    ledger, found = ingest(tmp_path, {name: pack(data.encode())})
    assert (ledger.rows_in, ledger.rows_out) == (2, 2)
    assert seen(found) == EXPECTED
    assert found["user"].is_null().to_list() == [False, True]


def test_semicolons_with_commas_in_cells(tmp_path: Path) -> None:
    text = 'query;time;user;url;clicked\n"eau";5;"a, b";https://a.example/1,2;1\n'
    ledger, found = ingest(tmp_path, {"log.csv": text.encode()})
    assert (ledger.rows_in, ledger.rows_out) == (1, 1)
    assert seen(found) == [("eau", [1])]


def test_lists_as_json_quotes_and_faulty_rows(tmp_path: Path) -> None:
    results = json.dumps(["https://a.example/1", "https://a.example/2"]).replace('"', '""')
    data = (
        "query,time,results,clicks\n"
        f'eau,5,"{results}","[2, 1]"\n'
        'loi,6,"https://a.example/1\n'
        "loi,6\n"
        "mer,7,https://a.example/1,2\n"
        '"eau",8,https://a.example/1,"[1"\n'
        "eau,9,https://a.example/1,x\n"
    )
    ledger, found = ingest(tmp_path, {"a.csv": data.encode()})
    assert seen(found) == [("eau", [2, 1])]
    assert dict(ledger.rejected) == {
        "bad_quotes": 1,
        "wrong_number_of_cells": 1,
        "click_not_shown": 1,
        "bad_list": 1,
        "bad_clicks": 1,
    }


LONG = """time\tuser\tquery\turl\trank\tclicked
5\tada\teau\thttps://a.example/1\t1\t0
5\tada\teau\thttps://a.example/2\t2\t1
6\tada\tloi\thttps://a.example/3\t1\tfalse
6\tada\tloi\thttps://a.example/4\tx\tfalse
6\tada\tloi\thttps://a.example/4\t2\ttrue
7\tbob\teau\thttps://a.example/1\t1\t
"""


def test_one_row_per_result(tmp_path: Path) -> None:
    ledger, found = ingest(tmp_path, {"long.tsv": LONG.encode()})
    assert seen(found) == [("eau", [2]), ("loi", [2]), ("eau", [])]
    assert found["results"].list.len().to_list() == [2, 2, 1]
    assert dict(ledger.rejected) == {"bad_rank": 1}


def test_one_row_per_result_in_parquet(tmp_path: Path) -> None:
    frame = pl.read_csv(LONG.encode(), separator="\t").filter(pl.col("rank") != "x")
    typed = frame.with_columns(
        pl.col("rank").cast(pl.Int32), pl.col("clicked").is_in(["1", "true"]).alias("clicked")
    )
    typed.write_parquet(tmp_path / "rows.parquet")
    data = (tmp_path / "rows.parquet").read_bytes()
    _, found = ingest(tmp_path, {"long.parquet": data})
    assert seen(found) == [("eau", [2]), ("loi", [2]), ("eau", [])]


def test_one_object_per_result(tmp_path: Path) -> None:
    names = ("time", "user", "query", "url", "rank", "clicked")
    rows = [line.split("\t") for line in LONG.splitlines()[1:]]
    typed = [
        dict(zip(names, (int(r[0]), *r[1:4], r[4], r[5] in {"1", "true"}), strict=True))
        for r in rows
    ]
    lines = [json.dumps(row) for row in typed]
    lines[1:1] = ["", "{", "[]"]
    ledger, found = ingest(tmp_path, {"long.jsonl": "\r\n".join(lines).encode()})
    assert seen(found) == [("eau", [2]), ("loi", [2]), ("eau", [])]
    faults = ("bad_rank", "blank_line", "not_an_object", "not_json")
    assert dict(ledger.rejected) == dict.fromkeys(faults, 1)


def test_objects_under_other_names(tmp_path: Path) -> None:
    """Users that differ within an object are different pages."""
    rows = [
        {"at": 5, "who": {"id": user}, "q": "eau", "hit": {"link": f"https://a.example/{n}"}}
        for user in ("ada", "bob")
        for n in (1, 2)
    ]
    fields = {"time": "at", "user": "who.id", "query": "q", "url": "hit.link"}
    data = "\n".join(map(json.dumps, rows)).encode()
    _, found = ingest(tmp_path, {"long.jsonl": data}, fields=fields)
    assert seen(found) == [("eau", []), ("eau", [])]
    assert found["user"].n_unique() == 2
    assert found["results"].list.len().to_list() == [2, 2]


YANDEX = """0\t0\tQ\t17\t0\t101\t102\t103
0\t5\tC\t102
0\t9\tQ\t18\t0\t103\t104
0\t12\tC\t103
0\t14\tC\t101
0\t15\tC\t999
1\t0\tQ\t17\t0\t101
not an action
1\t3\tC\t101
"""


def test_actions_of_sessions(tmp_path: Path) -> None:
    ledger, found = ingest(tmp_path, {"train": YANDEX.encode()})
    assert seen(found) == [("17", [2, 1]), ("17", [1]), ("18", [1])]
    assert found["user"].n_unique() == 2
    assert dict(ledger.rejected) == {"click_not_shown": 1, "bad_action": 1}
    (tmp_path / "late").mkdir()
    late = {"session_start": "2022-06-01T00:00:00+00:00"}
    ledger, _ = ingest(tmp_path / "late", {"train": YANDEX.encode()}, **late)
    assert ledger.rejected["outside_interval"] == 3


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b'{"a": 1}\n', "jsonl"),
        (b"\n\n  [1]\n", "jsonl"),
        (b"time\tquery\n", "tsv"),
        (b"time,query\n", "csv"),
        (YANDEX.encode(), "yandex"),
        (b"PAR1....", "parquet"),
        (b"", "jsonl"),
        (b"nothing", "jsonl"),
    ],
)
def test_formats_are_detected_by_first_bytes(tmp_path: Path, data: bytes, kind: str) -> None:
    (tmp_path / "f").write_bytes(data)
    assert detect_format(Source(tmp_path / "f", "f")) == kind


def test_blank_lines_before_the_first_do_not_hide_the_format(tmp_path: Path) -> None:
    """However many there are: more than one block of them."""
    (tmp_path / "f").write_bytes(b"\n" * (CHUNK + 1) + b"time,query\n")
    assert detect_format(Source(tmp_path / "f", "f")) == "csv"


@pytest.mark.parametrize(
    ("name", "data"),
    [("a.csv", b"time,results\n1,x\n"), ("a.tsv", b"query\ttime\tclicks\n"), ("b.csv", b"\n\n")],
)
def test_header_without_required_columns(tmp_path: Path, name: str, data: bytes) -> None:
    with pytest.raises(FormatError, match="expected a header with time, query and either results"):
        ingest(tmp_path, {name: data}, format=name[-3:])


@pytest.mark.parametrize("start", [b"[{", b"\xef\xbb\xbf [\n  {"])
def test_json_array_of_records_is_reported(tmp_path: Path, start: bytes) -> None:
    (tmp_path / "log.json").write_bytes(start + b'"query": "eau"}]')
    source = Source(tmp_path / "log.json", "log.json")
    with pytest.raises(FormatError, match=r"a JSON array; convert it with jq -c '\.\[\]'"):
        list(read_impressions(source, None, LogParameters(), 1))
    with pytest.raises(FormatError, match="found a JSON array"):
        list(read_pages(source, Interval(0, 9), CrawlParameters(), ResourceLimits(tmp_path)))
