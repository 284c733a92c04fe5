"""Reproducibility on aligned documents, by hand."""

from pathlib import Path

import polars as pl
import pytest

from builder.errors import DataError, UsageError
from builder.evaluation.tables.reproducibility import compare_runs_between_snapshots


def snapshot(folder: Path, qrels: list[tuple[str, str, int]]) -> Path:
    folder.mkdir(parents=True)
    schema = {"query_id": pl.String, "doc_id": pl.String, "grade": pl.Int32}
    pl.DataFrame(qrels, schema=schema, orient="row").write_parquet(folder / "qrels.parquet")
    return folder


def run(path: Path, documents: str, query: str = "q") -> None:
    path.parent.mkdir(exist_ok=True, parents=True)
    lines = (f"{query} Q0 {d} {r} {-r} t\n" for r, d in enumerate(documents, start=1))
    path.write_text("".join(lines))


def test_lists_are_compared_over_documents_of_both_snapshots(tmp_path: Path) -> None:
    judged = [("q", "a", 1)]
    snapshots = {month: snapshot(tmp_path / month, judged) for month in ("2022-06", "2022-07")}
    both = ["2022-06", "2022-07"]
    held = [("a", both), ("b", both), ("c", both), ("x", both[:1]), ("y", both[1:])]
    documents = tmp_path / "documents_map.parquet"
    pl.DataFrame(held, schema=["doc_id", "snapshots"], orient="row").write_parquet(documents)
    runs = tmp_path / "runs"
    for system, lists in {"same": ("xabc", "abyc"), "turned": ("abc", "cba")}.items():
        for month, ranked in zip(both, lists, strict=True):
            run(runs / system / f"{month}.txt", ranked)
    table = compare_runs_between_snapshots(
        snapshots, documents, [runs], ["RR"], pivot="same", rbo_p=0.5
    )
    found = {(r["system"], r["quantity"]): r for r in table.iter_rows(named=True)}
    # x and y are left out: the lists of `same` are equal; RR 1/2 against 1
    assert found["same", "kendall_tau_b"]["value"] == 1.0
    assert found["same", "rbo_ext"]["value"] == pytest.approx(1.0)
    assert found["same", "rmse RR"]["value"] == pytest.approx(0.5)
    assert found["turned", "kendall_tau_b"]["value"] == -1.0
    # agreements of abc and cba: 0, 1/2, 1, each with (1 - p) / p * p^d, and the last with p^3
    assert found["turned", "rbo_ext"]["value"] == pytest.approx(0.25 / 2 + 0.125 + 0.125)
    assert found["turned", "rmse RR"]["value"] == pytest.approx(2 / 3)
    assert found["turned", "kendall_tau_b"]["over_pivot"] == -2.0
    assert found["same", "kendall_tau_b"]["over_pivot"] == 0.0
    with pytest.raises(UsageError, match="two snapshots"):
        compare_runs_between_snapshots(
            snapshots, documents, [runs / "same" / "2022-06.txt"], ["RR"]
        )
    run(runs / "same" / "2022-07.txt", "ab", query="Q")
    with pytest.raises(DataError, match="expected results for judged queries of 2022-07"):
        compare_runs_between_snapshots(snapshots, documents, [runs], ["RR"])
