"""The one writer, ledgers and rejects."""

import hashlib
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.errors import LedgerError
from builder.io.tables import (
    Table,
    TableWriter,
    arrow_schema,
    create_union_view,
    table_at,
    to_plain_arrow_type,
    write_frame,
    write_query_result,
)
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
    assert _written(tmp_path, [300])[1] == [300]
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


def test_rows_without_bytes_are_in_one_group(tmp_path: Path) -> None:
    rows = ROWS[:3].with_columns(url_key=pl.lit(""), url=pl.lit(""))
    with TableWriter(tmp_path / "t.parquet", LogUrls, bytes_per_group=1) as writer:
        writer.append(rows)
    assert writer.group_rows == [3]
    assert pq.read_metadata(tmp_path / "t.parquet").num_row_groups == 1


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


def test_rows_end_a_group_where_either_bound_is_reached(tmp_path: Path) -> None:
    """Rows of 1, 2, 3, 4, 5, 1, 1 and 1 bytes; at most 3 rows and 6 bytes each."""
    sizes = [1, 2, 3, 4, 5, 1, 1, 1]
    rows = pl.DataFrame(
        {
            "doc": pl.Series(range(8), dtype=pl.UInt64),
            "url_key": ["é"[: size // 4] + "x" * (size - 2 * (size // 4)) for size in sizes],
            "url": [None] * 8,
        },
        schema_overrides={"url": pl.String},
    )
    assert [len(key.encode()) for key in rows["url_key"]] == sizes
    path = tmp_path / "new/folder/t.parquet"
    with TableWriter(path, LogUrls, rows_per_group=3, bytes_per_group=6) as writer:
        writer.append(rows[:1])
        writer.write(rows[1:].with_columns(more=pl.lit(1)).to_arrow())
    assert writer.rows == 8
    assert writer.group_rows == [3, 1, 2, 2]
    meta = pq.read_metadata(path)
    assert [meta.row_group(i).num_rows for i in range(meta.num_row_groups)] == [3, 1, 2, 2]
    assert pl.read_parquet(path).equals(rows)


def test_a_table_without_rows_has_its_columns_and_no_group(tmp_path: Path) -> None:
    with TableWriter(tmp_path / "t.parquet", LogUrls) as writer:
        writer.append(ROWS[:0])
    assert (writer.rows, writer.group_rows) == (0, [])
    assert pl.read_parquet(tmp_path / "t.parquet").equals(ROWS[:0])


def test_types_in_files_are_plain() -> None:
    text, number = pa.string(), pa.uint64()
    assert arrow_schema(LogUrls) == pa.schema([("doc", number), ("url_key", text), ("url", text)])
    for given_, plain in (
        (pa.large_string(), text),
        (pa.string_view(), text),
        (pa.dictionary(pa.uint32(), pa.large_string()), text),
        (pa.large_list(pa.string_view()), pa.list_(text)),
        (pa.list_(pa.large_string()), pa.list_(text)),
        (pa.float32(), pa.float32()),
    ):
        assert to_plain_arrow_type(given_) == plain


def test_tables_are_views_in_sql_alone_and_together(tmp_path: Path) -> None:
    tables = []
    for number in (0, 1):
        path = tmp_path / f"{number}.parquet"
        assert write_frame(ROWS[number : number + 1], path, LogUrls) == 1
        tables.append(Table((path,), LogUrls))
    with duckdb.connect() as connection:
        tables[1].create_view(connection, "second")
        assert connection.sql("SELECT doc FROM second").fetchall() == [(1,)]
        create_union_view([table.relation(connection) for table in tables], "joined")
        assert connection.sql("SELECT doc FROM joined ORDER BY doc").fetchall() == [(0,), (1,)]
        create_union_view([], "none")
        names = connection.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal")
        assert sorted(names.fetchall()) == [("joined",), ("second",)]


@pytest.mark.parametrize(("name", "stored"), [("zstd", "ZSTD"), ("lz4", "LZ4")])
def test_the_result_of_a_query_is_written_in_its_order(
    tmp_path: Path, name: str, stored: str
) -> None:
    sql = "SELECT i AS doc, 'u' || i AS url, 'k' AS url_key, 0 AS x FROM range(3) r(i) ORDER BY -i"
    path = tmp_path / "t.parquet"
    with duckdb.connect() as connection:
        assert write_query_result(connection, sql, path, LogUrls, name) == 3
    found = pl.read_parquet(path)
    assert found.columns == ["doc", "url_key", "url"]
    assert found.rows() == [(2, "k", "u2"), (1, "k", "u1"), (0, "k", "u0")]
    assert pq.read_metadata(path).row_group(0).column(0).compression == stored


def test_published_tables_are_compressed_with_zstd(tmp_path: Path) -> None:
    frame, result = tmp_path / "frame.parquet", tmp_path / "result.parquet"
    write_frame(ROWS[:2], frame, LogUrls)
    with duckdb.connect() as connection:
        sql = "SELECT 1 AS doc, 'k' AS url_key, 'u' AS url"
        write_query_result(connection, sql, result, LogUrls)
    for path in (frame, result):
        column = pq.read_metadata(path).row_group(0).column(1)
        assert (column.compression, column.has_dictionary_page) == ("ZSTD", True)


def test_write_frame_sorts_and_casts(tmp_path: Path) -> None:
    rows = pl.DataFrame({"doc": [3, 1, 2], "url": ["c", "a", "b"], "url_key": ["c", "a", "b"]})
    write_frame(rows, tmp_path / "log_urls.parquet", LogUrls)
    table = table_at(tmp_path, "log_urls", LogUrls)
    assert table.scan().collect()["doc"].to_list() == [1, 2, 3]
    assert pq.read_schema(table.paths[0]).field("url").type == "string"


def test_rows_without_a_value_precede_the_others(tmp_path: Path) -> None:
    rows = [
        ("s", "r", "b", 2, None, 1),
        ("s", "r", "b", None, None, 1),
        ("s", "r", None, 1, "k", 1),
    ]
    write_frame(
        pl.DataFrame(rows, list(Rejects.dtypes()), orient="row"), tmp_path / "t.parquet", Rejects
    )
    assert pl.read_parquet(tmp_path / "t.parquet").rows() == rows[::-1]


def test_parts_are_read_in_order(tmp_path: Path) -> None:
    (tmp_path / "log_urls").mkdir()
    for number in (1, 0):
        rows = ROWS[number * 10 : number * 10 + 10]
        write_frame(rows, tmp_path / "log_urls" / f"part-{number:05d}.parquet", LogUrls)
    table = table_at(tmp_path, "log_urls", LogUrls)
    assert table.scan().collect()["doc"].to_list() == list(range(20))
    batches = list(table.iter_batches(["doc"], batch_size=7))
    assert [batch.num_rows for batch in batches] == [7, 3, 7, 3]
    assert batches[0].schema.names == ["doc"]
    assert next(table.iter_batches()).schema.names == ["doc", "url_key", "url"]
    write_frame(ROWS[:1], tmp_path / "log_urls.parquet", LogUrls)
    assert table_at(tmp_path, "log_urls", LogUrls).paths == (tmp_path / "log_urls.parquet",)
    assert table_at(tmp_path, "none", LogUrls).paths == ()


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
