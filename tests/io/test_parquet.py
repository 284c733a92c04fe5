"""Names of files are names, whatever signs are in them."""

from pathlib import Path

import duckdb
import polars as pl
import pytest

from builder.io import parquet


@pytest.mark.parametrize("name", ["a[1]", "a*", "a?", "[[", "x=1", "ü {1,2}", "it's; --", "%20~"])
def test_a_name_is_no_pattern(tmp_path: Path, name: str) -> None:
    for number, folder in enumerate((name, "a1", "ab", "a")):
        (tmp_path / folder).mkdir()
        pl.DataFrame({"n": [number]}).write_parquet(tmp_path / folder / "t.parquet")
    files = parquet.list_files(tmp_path / name)
    assert parquet.read(files[0]).rows() == parquet.scan(*files).collect().rows() == [(0,)]
    assert parquet.scan_checked(*files).collect().rows() == [(0,)]
    other = tmp_path / "ab/t.parquet"
    with duckdb.connect() as connection:
        found = parquet.relation(connection, *files, other)
        assert found.columns == ["n"]
        assert found.order("n").to_arrow_table().to_pydict() == {"n": [0, 2]}


def test_columns_that_are_asked_for(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1], "b": [2]}).write_parquet(tmp_path / "t.parquet")
    assert parquet.read(tmp_path / "t.parquet", ["b"]).to_dicts() == [{"b": 2}]
