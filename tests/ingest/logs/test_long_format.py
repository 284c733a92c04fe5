"""Rows of the long format: users, wrong types, and files without any row."""

import io
import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builder.ingest.logs.grouped_rows import (
    _count_rows_of_complete_impressions,
    build_impressions,
)
from builder.text.keys import key64
from tests.ingest.logs.log_files import ingest, seen

ROW = {"time": 5, "user": "u", "query": "eau", "url": "https://a.example/1"}
COLUMNS = {name: pa.string() for name in ("time", "user", "query", "url", "rank", "clicked")}


Pages = list[tuple[list[int], list[int]]]


def _csv(*rows: str) -> bytes:
    """Results as `user,page,rank,clicked` of one query and time."""
    lines = [
        f"5,{u},eau,https://a.example/{n},{r},{c}" for u, n, r, c in (x.split(",") for x in rows)
    ]
    return "\n".join(["time,user,query,url,rank,clicked", *lines, ""]).encode()


def _pages(impressions: pl.DataFrame) -> Pages:
    """Numbers of the pages shown in each impression, and the clicked ranks."""
    numbers = {key64(f"https://a.example/{n}"): n for n in range(10)}
    rows = impressions.select("results", "clicks").iter_rows()
    return [([numbers[key] for key in results], clicks) for results, clicks in rows]


def _parquet(table: pa.Table) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


def test_float_users_of_parquet_are_numbers_and_nan_is_no_user(tmp_path: Path) -> None:
    rows = [{**ROW, "time": n, "user": user} for n, user in enumerate((7.0, None, None, 7.0))]
    table = pl.DataFrame(rows).with_columns(pl.col("user").fill_null(float("nan"))).to_arrow()
    ledger, found = ingest(
        tmp_path, {"a.parquet": _parquet(table), "b.jsonl": json.dumps({**ROW, "user": 7}).encode()}
    )
    assert (ledger.rows_out, dict(ledger.rejected)) == (5, {})
    users = found["user"].to_list()
    assert users[1:3] == [None, None]
    assert users[0] == users[3] == users[4] is not None


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"time": True}, "bad_time"),
        ({"user": 1.5}, "bad_user"),
        ({"user": ["u"]}, "bad_user"),
        ({"query": 1.5}, "bad_query"),
        ({"query": {}}, "bad_query"),
        ({"query": None}, "bad_query"),
        ({"url": 1.5}, "bad_results"),
        ({"url": []}, "bad_results"),
        ({"url": ""}, "bad_results"),
        ({"rank": True}, "bad_rank"),
        ({"rank": [1]}, "bad_rank"),
        ({"clicked": [1]}, "bad_clicks"),
        ({"clicked": {}}, "bad_clicks"),
    ],
)
def test_wrong_types_of_objects(tmp_path: Path, changed: dict[str, object], reason: str) -> None:
    lines = [ROW, {**ROW, "query": "loi", **changed}]
    ledger, found = ingest(tmp_path, {"log": "\n".join(map(json.dumps, lines)).encode()})
    assert seen(found) == [("eau", [])]
    assert dict(ledger.rejected) == {reason: 1}


EMPTY = {
    "no bytes": b"",
    "a header": b"time,user,query,url,rank,clicked\n",
    "a header without line end": b"time\tuser\tquery\tresults\tclicks",
    "no rows": _parquet(pa.table({name: pa.array([], kind) for name, kind in COLUMNS.items()})),
    "no rows, wide": _parquet(
        pa.table(
            {
                "time": pa.array([], pa.int64()),
                "query": pa.array([], pa.string()),
                "results": pa.array([], pa.list_(pa.string())),
                "clicks": pa.array([], pa.list_(pa.int8())),
            }
        )
    ),
}


@pytest.mark.parametrize("name", EMPTY)
def test_files_without_rows_have_no_records(tmp_path: Path, name: str) -> None:
    ledger, found = ingest(tmp_path, {"a": EMPTY[name], "b.jsonl": json.dumps(ROW).encode()})
    assert (ledger.rows_in, ledger.rows_out) == (1, 1)
    assert found["impression"].to_list() == [0]


@pytest.mark.parametrize(
    ("rows", "complete"), [(2**16 - 1, 0), (2**16, 2**16), (2**16 + 1, 2**16 + 1)]
)
def test_impressions_that_do_not_end_are_bounded(rows: int, complete: int) -> None:
    """Rows of one impression are kept in memory up to 65,536; then it is taken as it is."""
    assert _count_rows_of_complete_impressions(np.zeros(rows, dtype=np.uint64)) == complete
    two = np.repeat(np.array([3, 9], dtype=np.uint64), [rows, 5])
    assert _count_rows_of_complete_impressions(two) == rows


def _grouped(*rows: tuple[Any, ...]) -> pa.RecordBatch:
    """Rows of `first, rank, url, click order, is later click` of one query."""
    first, rank, url, order, is_later = zip(*rows, strict=True)
    return pa.record_batch(
        {
            "first": pa.array(first, pa.uint64()),
            "time": [str(number) for number in first],
            "user": pa.nulls(len(rows), pa.string()),
            "query": ["eau"] * len(rows),
            "rank": pa.array(rank, pa.float64()),
            "url": url,
            "click_order": pa.array(order, pa.float64()),
            "is_later_click": is_later,
        }
    )


GROUPS = [
    (3, 1, "a", 2, False),
    (3, 1, "a", 7, True),
    (3, 2, "b", 0, False),
    (3, 3, "c", 1, False),
    (4, 11, "d", None, False),
    (4, 12, "e", 1, False),
    (9, 1, "f", 0, False),
]


@pytest.mark.parametrize("cuts", [(0, 7), (0, 1, 7), (0, 2, 4, 5, 7), tuple(range(8))])
def test_impressions_do_not_depend_on_how_their_rows_are_batched(cuts: tuple[int, ...]) -> None:
    """A click without a valid order is null; ranks are places in the list of results."""
    batches = [_grouped(*GROUPS[start:stop]) for start, stop in pairwise(cuts)]
    by_rank, by_size = Counter[float](), Counter[int]()
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    tables = list(build_impressions(reader, by_rank, by_size, row_is_click=False))
    assert pa.concat_tables(tables).to_pylist() == [
        {"record": number, "time": str(number), "user": None, "query": "eau"}
        | {"results": results, "clicks": clicks}
        for number, results, clicks in (
            (3, ["a", "b", "c"], [3, 1, 1]),
            (4, ["d", "e"], [2, None]),
            (9, ["f"], []),
        )
    ]
    assert (by_rank, by_size) == (Counter({1.0: 2, 11.0: 1}), Counter({3: 1, 2: 1, 1: 1}))


def test_rows_without_a_click_of_a_click_log_are_impressions_without_results() -> None:
    rows = [
        (3, 0, "", 0, False),
        (3, 1, "a", 1, False),
        (3, 4, "b", 1, False),
        (5, 0, "", 0, False),
    ]
    by_rank, by_size = Counter[float](), Counter[int]()
    reader = pa.RecordBatchReader.from_batches(_grouped(*rows).schema, [_grouped(*rows)])
    (first, second) = build_impressions(reader, by_rank, by_size, row_is_click=True)
    assert first.select(["record", "results", "clicks"]).to_pylist() == [
        {"record": 3, "results": ["a", "b"], "clicks": [1, 2]}
    ]
    assert second.select(["record", "results", "clicks"]).to_pylist() == [
        {"record": 5, "results": [], "clicks": []}
    ]
    assert (by_rank, by_size) == (Counter({0.0: 2}), Counter({2: 1, 0: 1}))


def test_empty_row_groups(tmp_path: Path) -> None:
    file = io.BytesIO()
    table = pa.Table.from_pylist([ROW])
    with pq.ParquetWriter(file, table.schema) as writer:
        for part in (table.slice(0, 0), table, table.slice(0, 0)):
            writer.write_table(part)
    ledger, _ = ingest(tmp_path, {"log": file.getvalue()})
    assert (ledger.rows_in, ledger.rows_out) == (1, 1)


@pytest.mark.parametrize(
    ("rows", "pages", "rejected"),
    [
        (["u,1,1,0", "u,2,2,0", "u,9,,0", "u,3,3,1", "u,4,4,0"], [([1, 2, 3, 4], [3])], 1),
        ([",1,1,0", ",9,,1", ",9,NaN,0", ",2,2,1"], [([1, 2], [2])], 2),
        (["u,9,,0", "v,1,1,0"], [([9], []), ([1], [])], 0),
        (["u,1,,0", "u,2,,1"], [([1, 2], [2])], 0),
        (["u,1,1,1", "u,2,2,0", "u,9,-1,0"], [([1, 2], [1])], 1),
        (["u,1,0,1", "u,2,1,0", "u,9,-0.5,0"], [([1, 2], [1])], 1),
        (["u,2,,0", "u,9,-1,0", "u,3,,1"], [([2, 3], [2])], 1),
    ],
)
def test_results_without_a_rank_among_others_are_rejected(
    tmp_path: Path, rows: list[str], pages: Pages, rejected: int
) -> None:
    ledger, found = ingest(tmp_path, {"log.csv": _csv(*rows)})
    assert _pages(found) == pages
    assert ledger.rejected == ({"bad_rank": rejected} if rejected else {})
    assert ledger.rows_in == len(pages) + rejected


def test_rows_of_a_click_log_without_a_click_need_no_rank(tmp_path: Path) -> None:
    """As in the log of AOL, if a query was logged before its clicks and within their second."""
    lines = ["5,u,eau,,,", "5,u,eau,https://a.example/1,1,", "5,u,eau,https://a.example/3,3,"]
    data = "\n".join(["time,user,query,url,rank,clicked", *lines]).encode()
    ledger, found = ingest(tmp_path, {"log.csv": data}, click_form="rows")
    assert _pages(found) == [([1, 3], [1, 2])]
    assert (ledger.rows_in, ledger.rows_out) == (1, 1)


@pytest.mark.parametrize(
    ("rows", "pages"),
    [
        ([",1,1,1", ",1,1,1", ",2,2,0"], [([1, 2], [1])]),
        ([",1,1,0", ",2,2,0", ",1,1,2", ",3,3,1"], [([1, 2, 3], [3, 1])]),
        ([",1,1,3", ",1,1,1", ",1,1,0", ",2,2,2"], [([1, 2], [1, 2, 1])]),
        ([",1,1,50", ",1,1,5", ",2,2,0", ",3,3,9"], [([1, 2, 3], [1, 3, 1])]),
        ([",2,4,7", ",1,0,3", ",2,4,9", ",1,0,8", ",3,9,0"], [([1, 2, 3], [1, 2, 1, 2])]),
        ([",1,1,1", ",2,2,0", ",1,1,0", ",2,2,1"], [([1, 2], [1]), ([1, 2], [2])]),
        ([",1,1,1", ",2,2,0", ",1,1,0", ",3,2,1"], [([1, 2], [1]), ([1, 3], [2])]),
        ([",1,1,1", ",2,2,0", ",3,2,1", ",2,3,0"], [([1, 2, 2], [1]), ([3], [1])]),
        ([",1,,1", ",1,,1", ",2,,0"], [([1, 1, 2], [1, 2])]),
    ],
)
def test_results_joined_with_their_clicks(tmp_path: Path, rows: list[str], pages: Pages) -> None:
    """A page shown once is not shown again; two whole pages are, and so are other results."""
    ledger, found = ingest(tmp_path, {"log.csv": _csv(*rows)})
    assert (_pages(found), dict(ledger.rejected)) == (pages, {})


def test_bad_clicks_of_a_result_joined_with_its_clicks(tmp_path: Path) -> None:
    data = _csv(",1,1,1", ",1,1,maybe", ",2,2,0")
    ledger, found = ingest(tmp_path, {"log.csv": data})
    assert (_pages(found), dict(ledger.rejected)) == ([], {"bad_clicks": 1})


def _lines(*rows: str) -> bytes:
    """The same results as objects."""
    names, *cells = (line.split(",") for line in _csv(*rows).decode().splitlines())
    return "\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in cells).encode()


@pytest.mark.parametrize("user", ["u", ""])
def test_impressions_in_several_files(tmp_path: Path, user: str) -> None:
    parts = {
        "part-0.csv": _csv(f"{user},1,1,1", f"{user},3,3,0", "x,9,x,0", "w,5,1,1"),
        "part-1.jsonl": _lines("w,6,x,1", f"{user},2,2,1", "x,7,1,0"),
    }
    ledger, found = ingest(tmp_path, parts)
    assert _pages(found) == [([1, 2, 3], [1, 2]), ([5], [1]), ([7], [])]
    rejects = pl.read_parquet(tmp_path / "out/rejects.parquet").select("reason", "file", "line")
    assert rejects.rows() == [("bad_rank", "part-0.csv", 4), ("bad_rank", "part-1.jsonl", 1)]
    assert (ledger.rows_in, ledger.rows_out) == (5, 3)


def test_impressions_between_files_of_another_form_are_not_joined(tmp_path: Path) -> None:
    wide = b"time,user,query,results,clicks\n6,u,eau,https://a.example/4,1\n"
    rows: dict[str, Any] = {"a.csv": _csv(",1,1,1"), "b.csv": wide, "c.csv": _csv(",2,2,0")}
    _, found = ingest(tmp_path, rows)
    assert _pages(found) == [([1], [1]), ([2], []), ([4], [1])]


def test_rejects_are_in_the_file_of_the_first_row(tmp_path: Path) -> None:
    parts = {"a.csv": _csv("u,1,1,0"), "b.csv": _csv("v,2,1,0", "v,3,2,maybe", "u,4,2,maybe")}
    ledger, _ = ingest(tmp_path, parts)
    rejects = pl.read_parquet(tmp_path / "out/rejects.parquet").select("file", "line").rows()
    assert sorted(rejects) == [("a.csv", 2), ("b.csv", 2)]
    assert dict(ledger.rejected) == {"bad_clicks": 2}
