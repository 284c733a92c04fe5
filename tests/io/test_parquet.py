"""Names of files are names, whatever signs are in them."""

import random
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

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
