"""The one writer, ledgers and rejects."""

import hashlib
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.errors import LedgerError
from builder.io.tables import Table, TableWriter, table_at, write_frame
from builder.runtime.ledger import RejectWriter, RowLedger
from schemas import LogUrls, Rejects

ROWS = pl.DataFrame(
    {
        "doc": pl.Series(range(300), dtype=pl.UInt64),
        "url_key": ["x" * (i * 37 % 101) + "é" for i in range(300)],
        "url": ["y"] * 300,
    }
)


def _written(folder: Path, sizes: list[int], **limits: Any) -> tuple[str, list[int]]:
    path = folder / "t.parquet"
    with TableWriter(path, LogUrls, **limits) as writer:
        start, turn = 0, 0
        while start < ROWS.height:
            size = sizes[turn % len(sizes)]
            writer.write(ROWS[start : start + size].to_arrow())
            start, turn = start + size, turn + 1
    meta = pq.read_metadata(path)
    groups = [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]
    return hashlib.sha256(path.read_bytes()).hexdigest(), groups


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 120), min_size=1, max_size=5))
def test_bytes_do_not_depend_on_batches(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("w")
    limits = {"rows_per_group": 70, "bytes_per_group": 2000}
    assert _written(folder, sizes, **limits) == _written(folder, [300], **limits)


def test_row_groups_are_bounded_by_rows_and_by_bytes(tmp_path: Path) -> None:
    assert _written(tmp_path, [300], rows_per_group=128)[1] == [128, 128, 44]
    _, groups = _written(tmp_path, [300], bytes_per_group=500)
    assert sum(groups) == 300
    sizes = [len(f"{k}{u}".encode()) for k, u in ROWS.select("url_key", "url").iter_rows()]
    start = 0
    for rows in groups:
        assert sum(sizes[start : start + rows]) <= 500
        if start + rows < 300:
            assert sum(sizes[start : start + rows + 1]) > 500
        start += rows


def test_a_row_larger_than_a_group_is_written(tmp_path: Path) -> None:
    _, groups = _written(tmp_path, [300], bytes_per_group=1)
    assert groups == [1] * 300


@pytest.mark.parametrize(("name", "stored"), [("zstd", "ZSTD"), ("lz4", "LZ4")])
@pytest.mark.parametrize("use_dictionary", [False, True])
def test_how_columns_are_stored(
    tmp_path: Path, name: str, stored: str, use_dictionary: bool
) -> None:
    _written(tmp_path, [300], compression=name, use_dictionary=use_dictionary)
    group = pq.read_metadata(tmp_path / "t.parquet").row_group(0)
    columns = [group.column(place) for place in range(group.num_columns)]
    assert {column.compression for column in columns} == {stored}
    assert {column.has_dictionary_page for column in columns} == {use_dictionary}
    assert pl.read_parquet(tmp_path / "t.parquet").equals(ROWS)


def test_write_frame_sorts_and_casts(tmp_path: Path) -> None:
    rows = pl.DataFrame({"doc": [3, 1, 2], "url": ["c", "a", "b"], "url_key": ["c", "a", "b"]})
    write_frame(rows, tmp_path / "log_urls.parquet", LogUrls)
    table = table_at(tmp_path, "log_urls", LogUrls)
    assert table.scan().collect()["doc"].to_list() == [1, 2, 3]
    assert pq.read_schema(table.paths[0]).field("url").type == "string"


def test_parts_are_read_in_order(tmp_path: Path) -> None:
    (tmp_path / "log_urls").mkdir()
    for number in (1, 0):
        rows = ROWS[number * 10 : number * 10 + 10]
        write_frame(rows, tmp_path / "log_urls" / f"part-{number:05d}.parquet", LogUrls)
    table = table_at(tmp_path, "log_urls", LogUrls)
    assert table.scan().collect()["doc"].to_list() == list(range(20))
    assert sum(batch.num_rows for batch in table.iter_batches(["doc"], batch_size=7)) == 20


def test_ledger_must_balance() -> None:
    ledger = RowLedger("rows", rows_in=3, rows_out=2)
    with pytest.raises(LedgerError, match="read 3 rows, but kept 2 and rejected 0"):
        ledger.check("stage")
    ledger.rejected["too_long"] = 1
    ledger.check("stage")


def test_rejects_are_written_in_order_and_counted(tmp_path: Path) -> None:
    ledger = RowLedger("lines", rows_in=6)
    with RejectWriter(tmp_path, "log", ledger) as rejects:
        rejects.add("not_json", file="b", line=7)
        rejects.add("not_json", file="a", line=9)
        rejects.add("empty", rows=4)
        rejects.add("never", rows=0)
    ledger.check("log")
    rows = Table((tmp_path / "rejects.parquet",), Rejects).scan().collect()
    assert rows.rows() == [
        ("log", "empty", None, None, None, 4),
        ("log", "not_json", "a", 9, None, 1),
        ("log", "not_json", "b", 7, None, 1),
    ]


def test_rejects_of_one_kind_are_listed_up_to_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builder.runtime.ledger.MAX_LISTED_REJECTS", 2)
    ledger = RowLedger("lines")
    with RejectWriter(tmp_path, "log", ledger) as rejects:
        for line in range(1, 6):
            rejects.add("not_json", file="a", line=line)
        rejects.add("not_json", file="b", line=9)
    rows = pl.read_parquet(tmp_path / "rejects.parquet").select("file", "line", "rows").rows()
    assert rows == [("a", 1, 1), ("a", 2, 1), ("a", 3, 3), ("b", 9, 1)]
    assert ledger.rejected == {"not_json": 6}
