"""Logs in every format, under other names, in other zones; programs and repeats; nothing lost."""

import gzip
import io
import json
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from builder.errors import FormatError
from builder.ingest import ingest_log
from builder.ingest.impressions import detect_format, read_impressions
from builder.keys import key64
from builder.parameters import LogParameters
from builder.progress import Silent
from builder.resources import Limits
from builder.sources import Interval, Source
from builder.tables import Ledger

INTERVAL = Interval(0, 10_000_000)
Rows = list[tuple[str, list[int]]]


def ingest(folder: Path, files: dict[str, bytes], **params: Any) -> tuple[Ledger, pl.DataFrame]:
    """Ingest files; the ledger and the impressions with their rejects as attribute."""
    sources = []
    for name, data in files.items():
        (folder / name).write_bytes(data)
        sources.append(Source(folder / name, name))
    out, scratch = folder / "out", folder / "scratch"
    out.mkdir()
    scratch.mkdir()
    ledger = ingest_log(
        out,
        files=sources,
        interval=INTERVAL,
        params=LogParameters.model_validate(params),
        limits=Limits(scratch, threads=1),
        progress=Silent(),
    )
    ledger.check("log")
    assert pl.read_parquet(out / "rejects.parquet")["rows"].sum() == sum(ledger.rejected.values())
    return ledger, pl.read_parquet(out / "impressions.parquet")


def seen(impressions: pl.DataFrame) -> Rows:
    """Query and clicks of each impression, by the texts of the test."""
    texts = {key64(text): text for text in ("eau", "loi", "mer", "17", "18")}
    return [(texts[q], c) for q, c in impressions.select("query", "clicks").iter_rows()]


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


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("time", "time_format", "second"),
    [
        ("02/01/1970 01:00:05", "%d/%m/%Y %H:%M:%S", 86_405),
        ("19700102000005", "%Y%m%d%H%M%S", 86_405 - 3600),
        ("Jan 2 1970 12:00:05 AM +0000", "%b %d %Y %I:%M:%S %p %z", 86_405),
        ("1970-01-02T01:00:05", "%d/%m/%Y %H:%M:%S", None),
        ("31/02/1970 01:00:05", "%d/%m/%Y %H:%M:%S", None),
    ],
)
def test_times_in_a_given_form(
    tmp_path: Path, form: str, time: str, time_format: str, second: int | None
) -> None:
    record = {"time": time, "user": "ada", "query": "eau", "results": [ONE], "clicks": [1]}
    if form == "csv":
        data = f"time,user,query,results,clicks\n{time},ada,eau,{ONE},1\n".encode()
    else:
        data = orjson.dumps(record)
    params = {"time_format": time_format, "time_zone": "Europe/Paris"}
    ledger, found = ingest(tmp_path, {f"log.{form}": data}, **params)
    assert ledger.rejected == ({"bad_time": 1} if second is None else {})
    source = Source(tmp_path / f"log.{form}", "log")
    records = read_impressions(source, INTERVAL, LogParameters.model_validate(params), 1)
    times = [
        t for piece in records for batch in piece.impressions for t in batch["time"].to_pylist()
    ]
    assert times == ([] if second is None else [second])
    assert found.height == len(times)


@pytest.mark.parametrize("time_format", ["%", "%Q", "%d/%m %"])
def test_forms_of_times_that_are_none(time_format: str) -> None:
    with pytest.raises(ValidationError, match="strptime"):
        LogParameters(time_format=time_format)


ONE, TWO = "https://a.example/1", "https://a.example/2"


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
@pytest.mark.parametrize(
    ("results", "clicks", "expected"),
    [
        ([{"url": ONE}, {"url": TWO}], [2], [2]),
        ([{"url": TWO, "rank": 12}, {"url": ONE, "rank": 11}], [12], [2]),
        ([{"url": TWO, "rank": 2}, {"url": ONE, "rank": 1}], [{"url": TWO}], [2]),
        ([{"url": ONE, "clicked": False}, {"url": TWO, "clicked": True}], None, [2]),
        ([{"url": TWO, "rank": 1, "clicked": 1}, {"url": ONE, "rank": 0, "clicked": 0}], None, [2]),
        ([ONE, TWO], [TWO, ONE], [2, 1]),
        ([ONE, TWO], ["https://a.example/3"], "click_not_shown"),
        ([ONE, TWO], ["two"], "bad_clicks"),
        ([{"url": ONE, "rank": 1}, {"url": TWO, "rank": 1}], [1], "bad_rank"),
        ([{"url": ONE, "rank": 1}, {"url": TWO}], [1], "bad_rank"),
        ([{"url": ONE}, {"link": TWO}], [1], "bad_results"),
        ([{"url": ONE, "clicked": 3}], None, "bad_clicks"),
        ([{"url": ONE, "rank": 5}], [1], "click_not_shown"),
    ],
)
def test_results_that_are_objects(
    tmp_path: Path, form: str, results: Any, clicks: Any, expected: Any
) -> None:
    record = {"time": 5, "user": "ada", "query": "eau", "results": results, "clicks": clicks}
    if form == "jsonl":
        data = b"".join(orjson.dumps(line) + b"\n" for line in (record, record | {"time": 7}))
    else:
        file = io.BytesIO()
        pq.write_table(pa.Table.from_pylist([record, record | {"time": 7}]), file)
        data = file.getvalue()
    ledger, found = ingest(tmp_path, {f"log.{form}": data})
    if isinstance(expected, str):
        assert ledger.rejected == {expected: 2}
    else:
        assert seen(found) == [("eau", expected)] * 2
        urls = pl.read_parquet(tmp_path / "out/log_urls.parquet")
        names = dict(urls.select("doc", "url").iter_rows())
        assert [[names[doc] for doc in row] for row in found["results"]] == [[ONE, TWO]] * 2


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


def test_one_row_a_result(tmp_path: Path) -> None:
    ledger, found = ingest(tmp_path, {"long.tsv": LONG.encode()})
    assert seen(found) == [("eau", [2]), ("loi", [2]), ("eau", [])]
    assert found["results"].list.len().to_list() == [2, 2, 1]
    assert dict(ledger.rejected) == {"bad_rank": 1}


def test_one_row_a_result_in_parquet(tmp_path: Path) -> None:
    frame = pl.read_csv(LONG.encode(), separator="\t").filter(pl.col("rank") != "x")
    typed = frame.with_columns(
        pl.col("rank").cast(pl.Int32), pl.col("clicked").is_in(["1", "true"]).alias("clicked")
    )
    typed.write_parquet(tmp_path / "rows.parquet")
    data = (tmp_path / "rows.parquet").read_bytes()
    _, found = ingest(tmp_path, {"long.parquet": data})
    assert seen(found) == [("eau", [2]), ("loi", [2]), ("eau", [])]


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
    assert seen(found) == [("17", [2, 1]), ("18", [1]), ("17", [1])]
    assert found["user"].n_unique() == 2
    assert dict(ledger.rejected) == {"click_not_shown": 1, "bad_action": 1}
    (tmp_path / "late").mkdir()
    late = {"session_start": "2022-06-01T00:00:00+00:00"}
    ledger, _ = ingest(tmp_path / "late", {"train": YANDEX.encode()}, **late)
    assert ledger.rejected["outside_interval"] == 3


def test_other_names_zones_and_units(tmp_path: Path) -> None:
    rows = [
        {
            "ts": "1970-01-02T00:00:00",
            "who": {"id": "ada"},
            "q": "eau",
            "shown": ["https://a.example/"],
        },
        {
            "ts": "1970-01-01T23:59:59",
            "who": {"id": "ada"},
            "q": "loi",
            "shown": ["https://a.example/"],
        },
        {"ts": "1970-01-02T00:00:01", "who": {}, "q": "mer", "shown": ["https://a.example/"]},
    ]
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    fields = {"time": "ts", "user": "who.id", "query": "q", "results": "shown"}
    params: dict[str, Any] = {"fields": fields, "time_zone": "Europe/Paris"}
    _, found = ingest(tmp_path, {"a.jsonl": data}, **params)
    assert seen(found) == [("eau", []), ("loi", []), ("mer", [])]
    assert found["user"].is_null().to_list() == [False, False, True]
    (tmp_path / "ms").mkdir()
    number = b'{"time": 9999999000, "query": "eau", "results": ["https://a.example/"]}\n'
    ledger, _ = ingest(tmp_path / "ms", {"a.jsonl": number}, time_unit="ms")
    assert ledger.rows_out == 1
    with pytest.raises(ValidationError, match="expected a time zone"):
        LogParameters(time_zone="Mars/Olympus")


def shown(user: str | None, query: str, time: float, clicks: list[int], results: int = 3) -> bytes:
    urls = [f"https://a.example/{n}" for n in range(results)]
    row = {"time": time, "user": user, "query": query, "results": urls, "clicks": clicks}
    return json.dumps(row).encode() + b"\n"


def test_programs_and_repeats_are_left_out_by_name(tmp_path: Path) -> None:
    lines = [
        *(shown("hasty", f"eau {n}", 3600 + n, [1]) for n in range(30)),
        *(shown("alike", f"loi {n}", 10_000 * n, [1, 2, 3]) for n in range(8)),
        *(shown("person", f"mer {n}", 10_000 * n, [1]) for n in range(8)),
        shown("person", "mer 0", 0.7, [2]),
        shown(None, "mer 0", 0, [2]),
        shown(None, "mer 0", 0, [2]),
        shown("other", "mer 0", 0, [2]),
    ]
    params = {"bot_rate": 30, "bot_alike": 8}
    ledger, found = ingest(tmp_path, {"a.jsonl": b"".join(lines)}, **params)
    assert dict(ledger.rejected) == {
        "bot_rate": 30,
        "bot_no_variation": 8,
        "repeated_impression": 1,
    }
    assert found.height == 11
    assert found["impression"].is_sorted()
    rejects = pl.read_parquet(tmp_path / "out/rejects.parquet")
    again = rejects.filter(pl.col("reason") == "repeated_impression")
    assert again.select("file", "line").rows() == [("a.jsonl", 47)]
    (tmp_path / "kept").mkdir()
    ledger, _ = ingest(
        tmp_path / "kept", {"a.jsonl": b"".join(lines)}, bots="keep", repeats="keep", **params
    )
    assert ledger.rejected == {}


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ada", "bob", None]),
            st.sampled_from(["eau", "loi"]),
            st.integers(0, 4),
            st.lists(st.integers(1, 3), max_size=3),
        ),
        max_size=25,
    )
)
def test_rules_against_plain_python(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str | None, str, int, list[int]]]
) -> None:
    data = b"".join(shown(u, q, t * 3600, c) for u, q, t, c in rows)
    folder = tmp_path_factory.mktemp("log")
    ledger, found = ingest(folder, {"a.jsonl": data}, bot_rate=4, bot_alike=3)
    kept, before = [], set()
    for number, (user, query, time, clicks) in enumerate(rows):
        mine = [row for row in rows if user is not None and row[0] == user]
        if max((sum(r[2] == hour for r in mine) for hour in range(5)), default=0) >= 4:
            continue
        if len(mine) >= 3 and len(clicks) >= 2 and all(row[3] == clicks for row in mine):
            continue
        if user is not None and (user, query, time) in before:
            continue
        before.add((user, query, time))
        kept.append(number)
    assert found["impression"].to_list() == kept
    assert ledger.rows_out == len(kept)


def test_damage_keeps_what_was_before_it(tmp_path: Path) -> None:
    whole = zstandard.compress(b"".join(shown(f"u{n}", f"eau {n}", n, []) for n in range(3000)))
    ledger, found = ingest(tmp_path, {"a.jsonl.zst": whole[: len(whole) // 2]})
    assert ledger.rejected["file_truncated"] == 1
    assert ledger.rows_in == ledger.rows_out + 1 + ledger.rejected.get("not_json", 0)
    frames = [zstandard.compress(shown("a", q, n, [])) for n, q in enumerate(("eau", "loi"))]
    two = b"".join(frames)
    (tmp_path / "two").mkdir()
    ledger, found = ingest(tmp_path / "two", {"a.jsonl.zst": two})
    assert seen(found) == [("eau", []), ("loi", [])]
    assert ledger.rejected == {}


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
def test_formats_are_told_by_their_first_bytes(tmp_path: Path, data: bytes, kind: str) -> None:
    (tmp_path / "f").write_bytes(data)
    assert detect_format(Source(tmp_path / "f", "f")) == kind


@pytest.mark.parametrize(
    ("name", "data"),
    [("a.csv", b"time,results\n1,x\n"), ("a.tsv", b"query\ttime\tclicks\n"), ("b.csv", b"\n\n")],
)
def test_a_header_without_what_is_needed(tmp_path: Path, name: str, data: bytes) -> None:
    with pytest.raises(FormatError, match="expected a header with time, query and results"):
        ingest(tmp_path, {name: data}, format=name[-3:])
