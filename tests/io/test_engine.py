"""Engines are used again, and nobody can tell."""

from pathlib import Path

import duckdb
import polars as pl
import pytest

from builder.io import engine as engines
from builder.runtime.limits import ResourceLimits

NUMBERS = "SELECT count(*) FROM duckdb_tables()"


@pytest.fixture(autouse=True)
def none_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "_idle", [])


def _one(connection: duckdb.DuckDBPyConnection, sql: str) -> object:
    return connection.execute(sql).fetchall()[0][0]


def test_nothing_is_left_of_earlier_work(tmp_path: Path) -> None:
    limits = ResourceLimits(tmp_path, threads=1, memory=2**30)
    for _ in range(2):
        with limits.connect_to_duckdb() as connection:
            assert _one(connection, NUMBERS) == 0
            assert _one(connection, "SELECT count(*) FROM duckdb_variables()") == 0
            connection.execute("CREATE TABLE t AS SELECT 1 AS a")
            connection.execute("CREATE VIEW v AS FROM t")
            connection.execute("CREATE TEMP TABLE u AS FROM v")
            connection.execute("SET VARIABLE first = 3")
        assert len(engines._idle) == 1


def test_limits_are_those_of_now(tmp_path: Path) -> None:
    found = []
    for threads, memory in ((1, 2**30), (2, 2**31), (1, 2**29)):
        with ResourceLimits(tmp_path / str(memory), threads, memory).connect_to_duckdb(
            0.5
        ) as connection:
            asked = "SELECT current_setting('{}')"
            found.append(
                tuple(
                    _one(connection, asked.format(name))
                    for name in ("threads", "memory_limit", "temp_directory")
                )
            )
    assert found == [
        (1, "512.0 MiB", str(tmp_path / str(2**30) / "duckdb")),
        (2, "1.0 GiB", str(tmp_path / str(2**31) / "duckdb")),
        (1, "256.0 MiB", str(tmp_path / str(2**29) / "duckdb")),
    ]
    assert len(engines._idle) == 1


def test_connections_that_overlap_are_apart(tmp_path: Path) -> None:
    limits = ResourceLimits(tmp_path, threads=1, memory=2**30)
    with limits.connect_to_duckdb() as one, limits.connect_to_duckdb() as other:
        one.execute("CREATE TABLE t AS SELECT 1 AS a")
        assert _one(other, NUMBERS) == 0


def test_one_that_failed_or_spilled_is_not_used_again(tmp_path: Path) -> None:
    limits = ResourceLimits(tmp_path, threads=1, memory=2**28)
    with pytest.raises(duckdb.Error), limits.connect_to_duckdb() as connection:
        connection.execute("SELECT * FROM nothing")
    assert engines._idle == []
    with limits.connect_to_duckdb(0.5) as connection:
        connection.execute("CREATE TABLE t AS SELECT hash(i) AS h FROM range(30_000_000) r(i)")
    assert engines._idle == []


def test_a_file_that_was_written_again_is_read_again(tmp_path: Path) -> None:
    limits = ResourceLimits(tmp_path, threads=1, memory=2**30)
    path = tmp_path / "numbers.parquet"
    for number in range(3):
        with duckdb.connect() as writer:
            writer.execute(f"COPY (SELECT {number} AS n) TO '{path}' (FORMAT parquet)")
        with limits.connect_to_duckdb() as connection:
            connection.read_parquet(str(path)).create_view("numbers")
            assert _one(connection, "SELECT n FROM numbers") == number


def test_at_most_two_engines_are_kept(tmp_path: Path) -> None:
    limits = ResourceLimits(tmp_path, threads=1, memory=2**30)
    with (
        limits.connect_to_duckdb() as one,
        limits.connect_to_duckdb(),
        limits.connect_to_duckdb(),
    ):
        assert _one(one, "SELECT current_setting('autoinstall_known_extensions')") is False
        assert _one(one, "SELECT current_setting('autoload_known_extensions')") is False
        assert engines._idle == []
    assert len(engines._idle) == 2
    with limits.connect_to_duckdb():
        assert len(engines._idle) == 1


def test_a_setting_that_is_refused_closes_the_engine(tmp_path: Path) -> None:
    with engines.pooled_duckdb_connection({"threads": "1"}, tmp_path / "spill"):
        pass
    (idle,) = engines._idle
    with (
        pytest.raises(duckdb.Error),
        engines.pooled_duckdb_connection({"threads": "none"}, tmp_path / "spill"),
    ):
        pass
    assert engines._idle == []
    with pytest.raises(duckdb.ConnectionException):
        idle.execute("SELECT 1")


def test_rows_are_appended_by_position_and_variables_are_set() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (a INTEGER, b VARCHAR)")
        for number, text in ((1, "eau"), (2, None)):
            rows = pl.DataFrame({"x": [number], "y": [text]}, schema_overrides={"y": pl.String})
            engines.append_rows(connection, "t", rows)
        assert connection.sql("FROM t ORDER BY a").fetchall() == [(1, "eau"), (2, None)]
        assert _one(connection, "SELECT count(*) FROM duckdb_views() WHERE NOT internal") == 0
        engines.set_sql_variables(
            connection, k=5, share=0.5, word="eau", names=["a", "b"], yes=True
        )
        sql = "SELECT getvariable('k'), getvariable('share'), getvariable('word'), "
        found = connection.sql(sql + "getvariable('names'), getvariable('yes')").fetchall()
        assert found == [(5, 0.5, "eau", ["a", "b"], True)]
