"""Rows of the long form: users, wrong types, and files without any row."""

import io
import json
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builder.ingest.logs.long_form import _count_complete_rows
from tests.ingest.logs.log_files import ingest, seen

ROW = {"time": 5, "user": "u", "query": "eau", "url": "https://a.example/1"}
COLUMNS = {name: pa.string() for name in ("time", "user", "query", "url", "rank", "clicked")}


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
    assert _count_complete_rows(np.zeros(rows, dtype=np.uint64)) == complete
    two = np.repeat(np.array([3, 9], dtype=np.uint64), [rows, 5])
    assert _count_complete_rows(two) == rows


def test_empty_row_groups(tmp_path: Path) -> None:
    file = io.BytesIO()
    table = pa.Table.from_pylist([ROW])
    with pq.ParquetWriter(file, table.schema) as writer:
        for part in (table.slice(0, 0), table, table.slice(0, 0)):
            writer.write_table(part)
    ledger, _ = ingest(tmp_path, {"log": file.getvalue()})
    assert (ledger.rows_in, ledger.rows_out) == (1, 1)
