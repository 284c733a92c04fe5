"""Names of files are names, whatever signs are in them."""

import random
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builder.errors import FormatError, UsageError
from builder.io import parquet

BUILDER = Path(parquet.__file__).parents[1]


@pytest.mark.parametrize("name", ["a[1]", "a*", "a?", "[[", "x=1", "ü {1,2}", "it's; --", "%20~"])
def test_a_name_is_no_pattern(tmp_path: Path, name: str) -> None:
    for number, folder in enumerate((name, "a1", "ab", "a")):
        (tmp_path / folder).mkdir()
        pl.DataFrame({"n": [number]}).write_parquet(tmp_path / folder / "t.parquet")
    files = parquet.list_files(tmp_path / name)
    assert parquet.read(files[0]).rows() == parquet.scan(*files).collect().rows() == [(0,)]
    assert parquet.check_and_scan(*files).collect().rows() == [(0,)]
    other = tmp_path / "ab/t.parquet"
    with duckdb.connect() as connection:
        found = parquet.read_parquet_relation(connection, *files, other)
        assert found.columns == ["n"]
        assert found.order("n").to_arrow_table().to_pydict() == {"n": [0, 2]}


def test_columns_that_are_asked_for(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1], "b": [2]}).write_parquet(tmp_path / "t.parquet")
    assert parquet.read(tmp_path / "t.parquet", ["b"]).to_dicts() == [{"b": 2}]


def test_memory_does_not_grow_with_a_file_that_is_read_in_batches(tmp_path: Path) -> None:
    """Arrow kept the bytes of all row groups: a log of 20 million impressions took 1.7 GB more."""
    path, group = tmp_path / "t.parquet", 2**20
    draw = random.Random(1)
    with pq.ParquetWriter(path, pa.schema({"n": pa.binary()}), compression="none") as writer:
        for _ in range(24):
            writer.write_table(pa.table({"n": [draw.randbytes(group)]}))
    assert path.stat().st_size > 24 * group
    before = pa.total_allocated_bytes()
    with parquet.open_file(path) as file:
        held = [pa.total_allocated_bytes() - before for _ in file.iter_batches(1)]
    assert len(held) == 24
    assert max(held) < 6 * group


def test_every_parquet_file_is_opened_here() -> None:
    opened = {p for p in BUILDER.rglob("*.py") if "pq.ParquetFile(" in p.read_text("utf-8")}
    assert opened == {BUILDER / "io/parquet.py"}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    pl.DataFrame({"query": ["eau", "7"], "grade": [1, 2]}).write_parquet(tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def test_a_truncated_file_does_not_end_as_parquet(table: Path, tmp_path: Path) -> None:
    assert parquet.ends_with_magic(table)
    for name, data in (
        ("cut", table.read_bytes()[:-1]),
        ("short", b"AR1"),
        ("empty", b""),
        ("more", table.read_bytes() + b"\n"),
    ):
        (tmp_path / name).write_bytes(data)
        assert not parquet.ends_with_magic(tmp_path / name)
    (tmp_path / "only").write_bytes(b"PAR1")
    assert parquet.ends_with_magic(tmp_path / "only")


def test_a_file_that_is_missing_or_not_parquet_is_named(table: Path, tmp_path: Path) -> None:
    none, text, pointer = (tmp_path / name for name in ("none", "text", "pointer"))
    text.write_bytes(b"query\teau\n" * 9)
    pointer.write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    for use in (parquet.check_readable, parquet.check_and_scan, parquet.read):
        for missing in (none, tmp_path):
            with pytest.raises(UsageError) as usage:
                use(missing)
            assert str(usage.value) == f"{missing}: expected a Parquet file, found none"
        with pytest.raises(FormatError) as other:
            use(text)
        assert str(other.value).startswith(f"{text}: expected a Parquet table: ")
        assert not str(other.value).endswith(": ")
        assert "\n" not in str(other.value)
        with pytest.raises(FormatError) as fault:
            use(pointer)
        assert str(fault.value) == (
            f"{pointer}: expected a Parquet table: the file is a Git LFS pointer; fetch the file "
            "with `git lfs pull`; in GitHub Actions, check out with `lfs: true`"
        )
    with pytest.raises(FormatError, match="expected a Parquet table:"):
        parquet.check_readable(table, text)


def test_a_missing_column_is_an_error_with_the_columns_that_were_expected(table: Path) -> None:
    with pytest.raises(FormatError) as caught:
        parquet.read(table, ["query", "doc"])
    assert str(caught.value).startswith(f"{table}: expected a Parquet table with query, doc: ")
    with pytest.raises(FormatError) as caught:
        parquet.read_columns(table, {"query": pl.String, "doc": pl.String}, "a sheet")
    assert f"{table}: expected a" in str(caught.value)


def test_columns_get_the_types_that_are_asked_for(table: Path) -> None:
    found = parquet.read_columns(table, {"grade": pl.UInt8, "query": pl.String}, "a sheet")
    assert found.schema == {"grade": pl.UInt8, "query": pl.String}
    assert found.rows() == [(1, "eau"), (2, "7")]
    with pytest.raises(FormatError) as caught:
        parquet.read_columns(table, {"query": pl.UInt8}, "a sheet")
    assert str(caught.value).startswith(f"{table}: expected a sheet with query: ")


def test_a_file_that_declares_far_more_rows_than_bytes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"n": pl.repeat(0, 10_000, eager=True)}).write_parquet(path)
    size = path.stat().st_size
    assert size < 9_999
    monkeypatch.setattr(parquet, "MAX_ROWS", 10_000)
    assert parquet.read_unless_too_many_rows(path).height == 10_000
    monkeypatch.setattr(parquet, "MAX_ROWS", 9_999)
    with pytest.raises(FormatError) as caught:
        parquet.read_unless_too_many_rows(path)
    assert str(caught.value) == (
        f"{path}: the file declares 10,000 rows but has only {size:,} bytes; expected at most one "
        "row per byte"
    )
    monkeypatch.setattr(parquet, "MAX_ROWS", 1)
    pl.DataFrame({"n": [0, 1], "m": [2, 3]}).write_parquet(path)
    assert parquet.read_unless_too_many_rows(path, ["m"]).rows() == [(2,), (3,)]


def test_the_sql_that_users_copy_reads_the_files_as_they_are_named(tmp_path: Path) -> None:
    paths = [Path("/data/it's [2]/a*?.parquet"), Path("/data/b.parquet")]
    assert parquet.render_read_parquet_call(*paths) == (
        "read_parquet(['/data/it''s [[]2]/a[*][?].parquet', '/data/b.parquet'], "
        "hive_partitioning = false)"
    )
    (tmp_path / "x=[1]").mkdir()
    path = tmp_path / "x=[1]/t.parquet"
    pl.DataFrame({"n": [7]}).write_parquet(path)
    with duckdb.connect() as connection:
        found = connection.sql(f"FROM {parquet.render_read_parquet_call(path)}")
        assert (found.columns, found.fetchall()) == (["n"], [(7,)])


def test_the_parquet_files_of_a_folder_are_listed_by_name(tmp_path: Path) -> None:
    for name in ("b.parquet", "a.parquet", "c.txt", "10.parquet"):
        (tmp_path / name).touch()
    listed = [path.name for path in parquet.list_files(tmp_path)]
    assert listed == ["10.parquet", "a.parquet", "b.parquet"]
