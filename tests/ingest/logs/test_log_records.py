"""Records of logs under other names, with other times, results and clicks."""

import io
import json
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from builder.ingest.logs.json_lines import chunk_size
from builder.io.sources import Source
from builder.parameters import LogParameters
from tests.ingest.logs.log_files import INTERVAL, ingest, read_impressions, seen

ONE, TWO = "https://a.example/1", "https://a.example/2"


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
        t for piece in records for batch in [piece.impressions] for t in batch["time"].to_pylist()
    ]
    assert times == ([] if second is None else [second])
    assert found.height == len(times)


@pytest.mark.parametrize("rows", ["wide", "long"])
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("time", [19700102, 19700102.0])
def test_numbers_in_a_given_form(tmp_path: Path, rows: str, form: str, time: float) -> None:
    results = {"results": [ONE], "clicks": [1]} if rows == "wide" else {"url": ONE, "clicked": 1}
    frame = pl.DataFrame([{"time": time, "user": "ada", "query": "eau", **results}])
    if rows == "wide" and form == "csv":
        frame = frame.with_columns(pl.lit(ONE).alias("results"), pl.lit("1").alias("clicks"))
    path = tmp_path / "log"
    write = {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}
    write[form](path)
    params = LogParameters(time_format="%Y%m%d")
    (records,) = read_impressions(Source(path, "log"), INTERVAL, params)
    assert records.impressions["time"].to_pylist() == [86_400]


def test_click_times_in_a_given_form(tmp_path: Path) -> None:
    """As numbers, the times 03.01. and 21.01. are in the opposite order, 3011970 and 21011970."""
    clicks = [{"rank": 1, "time": 21011970}, {"rank": 2, "time": 3021970}]
    record = {"time": 2011970, "query": "eau", "results": [ONE, TWO], "clicks": clicks}
    data = {
        "log": b"".join(
            orjson.dumps(record | {"time": time}) + b"\n" for time in (2011970, 3011970)
        )
    }
    ledger, found = ingest(tmp_path, data, time_format="%d%m%Y")
    assert ledger.rejected == {}
    assert found["clicks"].to_list() == [[1, 2]] * 2


@pytest.mark.parametrize("time_format", ["%", "%Q", "%d/%m %"])
def test_forms_of_times_that_are_none(time_format: str) -> None:
    with pytest.raises(ValidationError, match="strptime"):
        LogParameters(time_format=time_format)


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
        ([ONE, TWO], [f"{TWO}?utm_source=a", "HTTPS://A.example:443/1#top"], [2, 1]),
        ([ONE, TWO], [{"url": f"{TWO}/"}], "click_not_shown"),
        ([ONE, TWO], [{"rank": 2, "time": 9.5}, {"rank": 1, "time": 9.25}], [1, 2]),
        ([ONE, TWO], [{"rank": 2, "time": 9}, {"rank": 1, "time": None}], [2, 1]),
        ([ONE, TWO], [{"rank": 2, "time": 3}, {"rank": 1, "time": 4}], [2, 1]),
        ([ONE, TWO], [{"rank": 2, "time": "noon"}], "bad_time"),
        ([ONE, TWO], ["https://a.example/3"], "click_not_shown"),
        ([ONE, TWO], ["two"], "bad_clicks"),
        ([{"url": ONE, "rank": 1}, {"url": TWO, "rank": 1}], [1], "bad_rank"),
        ([{"url": ONE, "rank": 1}, {"url": TWO}], [1], "bad_rank"),
        ([{"url": ONE}, {"link": TWO}], [1], "bad_results"),
        ([{"url": ONE, "clicked": 3}, {"url": TWO}], None, [1]),
        ([{"url": ONE, "clicked": 2}, {"url": TWO, "clicked": 1}], None, [2, 1]),
        ([{"url": ONE, "clicked": -1}], None, "bad_clicks"),
        ([{"url": ONE, "rank": 1.0}, {"url": TWO, "rank": 2.0}], [2.0], [2]),
        ([{"url": ONE, "rank": 1.5}, {"url": TWO, "rank": 2.0}], [1], "bad_rank"),
        ([{"url": ONE, "rank": 5}], [1], "click_not_shown"),
        ([{"url": ONE, "rank": 1, "clicked": True}, {"url": TWO, "rank": -1}], None, "bad_rank"),
        ([{"url": ONE, "clicked": False}, {"url": TWO, "clicked": True}], [], [2]),
        ([{"url": ONE, "clicked": False}, {"url": TWO, "clicked": True}], [1], [1]),
        ([{"url": ONE, "clicked": "x"}, {"url": TWO}], [], "bad_clicks"),
    ],
)
def test_result_objects(
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


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
@pytest.mark.parametrize(
    ("results", "address", "is_list"),
    [
        ([f"{ONE},{TWO}"], None, True),
        (["www.a.fr/x;www.b.fr/y"], None, True),
        (["12;7;9"], "https://core.example/works/{id}", True),
        (["12, 7"], "https://core.example/works/{id}", True),
        (["12", "7;9"], "https://core.example/works/{id}", False),
        (["10.1002/1096;2-1"], "https://doi.org/{id}", False),
        ([f"{ONE}?to={TWO}"], None, False),
        ([f"{ONE};a,b|c"], None, False),
    ],
)
def test_one_result_is_not_a_list(
    tmp_path: Path, form: str, results: list[str], address: str | None, *, is_list: bool
) -> None:
    """A list in a list: of several results, one may have a separator by itself."""
    record = {"time": 5, "user": "ada", "query": "eau", "results": results, "clicks": [1]}
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([record]), file)
    data = file.getvalue() if form == "parquet" else orjson.dumps(record)
    ledger, found = ingest(tmp_path, {"log": data}, address=address)
    assert seen(found) == ([] if is_list else [("eau", [1])])
    assert ledger.rejected == ({"bad_list": 1} if is_list else {})


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
    assert seen(found) == [("loi", []), ("eau", []), ("mer", [])]
    assert found["user"].is_null().to_list() == [False, False, True]
    (tmp_path / "ms").mkdir()
    number = b'{"time": 9999999000, "query": "eau", "results": ["https://a.example/"]}\n'
    ledger, _ = ingest(tmp_path / "ms", {"a.jsonl": number}, time_unit="ms")
    assert ledger.rows_out == 1
    with pytest.raises(ValidationError, match="expected a time zone"):
        LogParameters(time_zone="Mars/Olympus")


SESSIONS = (
    "1,test,0,eau,1970-01-01 00:00:05,\"[12, 7, 9]\",\"[('7', 'works'), ('12', 'author')]\"\n"
    '2,test,0,loi,1970-01-01 00:00:09,"[3]",[]\n'
    "1,test,1,mer,1970-01-01 00:00:07,\"[4, 12]\",\"[('5', 'works')]\"\n"
)
"""Sessions in the form in which LongEval publishes them: no header, clicks as tuples of ids."""


def test_clicks_that_are_tuples_begin_with_an_id(tmp_path: Path) -> None:
    names = ["place", "who", "session", "query", "time", "results", "clicks"]
    ledger, found = ingest(
        tmp_path,
        {"log.csv": SESSIONS.encode()},
        columns=names,
        fields={"user": "session"},
        address="https://core.example/works/{id}",
    )
    assert seen(found) == [("eau", [2, 1]), ("loi", [])]
    assert ledger.rejected == {"bad_clicks": 1}


RANKED = [{"url": TWO, "rank": 2}, {"url": ONE, "rank": 1}]


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
@pytest.mark.parametrize(
    ("click_form", "results", "clicks", "expected"),
    [
        ("flags", [ONE, TWO], [0, 1], [2]),
        ("flags", [ONE, TWO], [3, 1], [1, 2]),
        ("flags", [ONE, TWO], [0, 0], []),
        ("flags", [ONE, TWO], [True, False], [1]),
        ("flags", [ONE, TWO], [0.0, 1.0], [2]),
        ("flags", [ONE, TWO], None, []),
        ("flags", RANKED, [1, 0], [2]),
        ("flags", [ONE, TWO], [1], "bad_clicks"),
        ("flags", [ONE, TWO], [0, 1, 0, 0], [2]),
        ("flags", [ONE, TWO], [0, 1, 0, 1], "click_not_shown"),
        ("flags", [ONE, TWO], [0, -1], "bad_clicks"),
        ("flags", [ONE, TWO], ["0", "1"], [2]),
        ("flags", [ONE, TWO], ["no", "perhaps"], "bad_clicks"),
        ("ids", [7, 2], [2, 7], [2, 1]),
        ("ids", ["7", "2"], [2], [2]),
        ("ids", [7, 2], ["2"], [2]),
        ("ids", [7, 2], [[2, 5]], [2]),
        ("ids", [7, 2], [1], "click_not_shown"),
        ("ids", [7, 2], [{"rank": 2}], [2]),
        ("ids", [7, 2], [None], "bad_clicks"),
        ("ids", [7, 2], 2, [2]),
        ("ids", ["7", "2"], "2", [2]),
        ("ids", [7, 2], 9, "click_not_shown"),
        ("ranks", [ONE, TWO], TWO, [2]),
        ("ranks", [ONE, TWO], 2, "bad_clicks"),
        ("ranks", [ONE, TWO], "two", "bad_clicks"),
        ("ranks", [ONE, TWO], [[2, 9]], [2]),
        ("ranks", [ONE, TWO], [[]], "bad_clicks"),
    ],
)
def test_numbers_in_clicks_are_ranks_or_ids(
    tmp_path: Path, form: str, click_form: str, results: Any, clicks: Any, expected: Any
) -> None:
    record = {"time": 5, "user": "ada", "query": "eau", "results": results, "clicks": clicks}
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([record]), file)
    data = file.getvalue() if form == "parquet" else orjson.dumps(record)
    address = "https://core.example/works/{id}"
    ledger, found = ingest(tmp_path, {"log": data}, click_form=click_form, address=address)
    if isinstance(expected, str):
        assert ledger.rejected == {expected: 1}
    else:
        assert seen(found) == [("eau", expected)]


def test_click_log_rows_are_clicked_results(tmp_path: Path) -> None:
    rows = "time\tuser\tquery\turl\tclicked\n5\tada\teau\thttps://a.example/1\t0\n"
    rows += "5\tada\teau\thttps://a.example/2\t1\n"
    for click_form in ("ranks", "ids", "flags"):
        folder = tmp_path / click_form
        folder.mkdir()
        _, found = ingest(folder, {"log.tsv": rows.encode()}, click_form=click_form)
        assert seen(found) == [("eau", [2])]


def test_padded_flags_are_parsed_in_bulk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from builder.ingest.logs import checks

    monkeypatch.delattr(checks, "make_impression")
    record = {"time": 5, "user": "ada", "query": "eau", "results": [ONE, TWO], "clicks": [0, 1]}
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([record]), file)
    for name, data in (("lines", orjson.dumps(record)), ("parquet", file.getvalue())):
        folder = tmp_path / name
        folder.mkdir()
        _, found = ingest(folder, {"log": data}, click_form="flags")
        assert seen(found) == [("eau", [2])]


def test_chunks_of_lines_are_a_share_of_the_memory() -> None:
    """A 32nd of the limit, of at least 4 and at most 64 MiB."""
    sizes = [chunk_size(memory * 2**20) for memory in (1, 128, 129, 512, 2048, 4096)]
    assert sizes == [size * 2**15 for size in (128, 128, 129, 512, 2048, 2048)]
