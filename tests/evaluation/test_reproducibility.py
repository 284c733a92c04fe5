"""Reproducibility on aligned documents, by hand."""

from pathlib import Path

import polars as pl
import pytest

from builder.errors import DataError, UsageError
from builder.evaluation.tables.reproducibility import (
    REPRODUCIBILITY,
    compare_runs_between_snapshots,
)


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


def three_months(folder: Path) -> tuple[dict[str, Path], Path, Path]:
    """Snapshots of three months that hold a, b and c, and runs `s` and `t` for two of them."""
    months = ["2022-06", "2022-07", "2022-08"]
    judged = [("q", "a", 1), ("r", "b", 1)]
    snapshots = {month: snapshot(folder / month, judged) for month in months}
    snapshots["2022-07"] = snapshot(folder / "other", [*judged, ("u", "a", 1)])
    documents = folder / "documents_map.parquet"
    held = [(document, months) for document in "abc"]
    pl.DataFrame(held, schema=["doc_id", "snapshots"], orient="row").write_parquet(documents)
    lists = {
        ("s", "2022-06"): {"q": "ab", "r": "ab", "only": "a"},
        ("s", "2022-07"): {"q": "ac", "r": "ba", "u": "ba"},
        ("s", "2022-08"): {"q": "cab"},
        ("t", "2022-07"): {"q": "a"},
        ("t", "2022-08"): {"q": "a"},
    }
    for (system, month), ranked in lists.items():
        path = folder / "runs" / system / f"{month}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            "".join(
                f"{query} Q0 {document} 1 {-rank} t\n"
                for query, documents in ranked.items()
                for rank, document in enumerate(documents)
            )
        )
    return snapshots, documents, folder / "runs"


def test_every_two_snapshots_are_compared_by_hand(tmp_path: Path) -> None:
    """A document that is missing from a list is at its end: q has the orders abc, acb and cab.

    Of three pairs, June and July agree on two, June and August on one, July and August on two. The
    orders ab and ba of r disagree on the only pair. `t` has a single document, without a tau.
    """
    snapshots, documents, runs = three_months(tmp_path)
    table = compare_runs_between_snapshots(
        snapshots, documents, [runs], ["P@1", "RR"], pivot="t", rbo_p=0.5
    )
    tau = table.filter(quantity="kendall_tau_b").drop("quantity")
    assert tau.rows() == [
        ("2022-06", "2022-07", "s", 2, pytest.approx(-1 / 3), None),
        ("2022-06", "2022-08", "s", 1, pytest.approx(-1 / 3), None),
        ("2022-07", "2022-08", "s", 1, pytest.approx(1 / 3), None),
        ("2022-07", "2022-08", "t", 0, None, None),
    ]
    # P@1 is 1, 0 in June, 1, 1 in July, 0, 0 in August (r is missing); u is judged in July alone
    precision = table.filter(quantity="rmse P@1").drop("quantity")
    assert precision.rows() == [
        ("2022-06", "2022-07", "s", 2, pytest.approx(0.5**0.5), None),
        ("2022-06", "2022-08", "s", 2, pytest.approx(0.5**0.5), None),
        ("2022-07", "2022-08", "s", 2, pytest.approx(1.0), 1.0),
        ("2022-07", "2022-08", "t", 2, 0.0, 0.0),
    ]
    assert table.select("from_snapshot", "to_snapshot", "system", "quantity").rows() == [
        (*pair, quantity)
        for pair in (
            ("2022-06", "2022-07", "s"),
            ("2022-06", "2022-08", "s"),
            ("2022-07", "2022-08", "s"),
            ("2022-07", "2022-08", "t"),
        )
        for quantity in ("kendall_tau_b", "rbo_ext", "rmse P@1", "rmse RR")
    ]
    assert table.schema == REPRODUCIBILITY


def test_only_the_first_documents_are_compared(tmp_path: Path) -> None:
    """With one document, `s` has the lists a and a for q, a and b for r; scores are of all."""
    snapshots, documents, runs = three_months(tmp_path)
    paths = [runs / "s" / "2022-06.txt", runs / "s" / "2022-07.txt"]
    table = compare_runs_between_snapshots(snapshots, documents, paths, ["RR"], depth=1, rbo_p=0.5)
    # of a and b, one is first in each list of r: the agreements are 0 and 1, times 1/2, 1/4, 1/4
    assert table.drop("from_snapshot", "to_snapshot", "system").rows() == [
        ("kendall_tau_b", 1, -1.0, None),
        ("rbo_ext", 2, pytest.approx((1 + 0.5) / 2), None),
        ("rmse RR", 2, pytest.approx((0.5**2 / 2) ** 0.5), None),
    ]


def test_a_hundred_documents_are_compared_unless_another_number_is_given(tmp_path: Path) -> None:
    """Only the documents at ranks 101 and 102 are swapped; the persistence is 0.9."""
    names = [f"{number:03}" for number in range(102)]
    months = ["2022-06", "2022-07"]
    snapshots = {month: snapshot(tmp_path / month, [("q", "000", 1)]) for month in months}
    documents = tmp_path / "documents_map.parquet"
    pl.DataFrame({"doc_id": names, "snapshots": [months] * 102}).write_parquet(documents)
    for month, ranked in zip(months, (names, [*names[:100], "101", "100"]), strict=True):
        lines = (f"q Q0 {name} 1 {-rank} t\n" for rank, name in enumerate(ranked))
        (tmp_path / f"s_{month}.txt").write_text("".join(lines))
    runs = sorted(tmp_path.glob("*.txt"))
    for depth, is_equal in (({}, True), ({"depth": 101}, False)):
        table = compare_runs_between_snapshots(snapshots, documents, runs, ["RR"], **depth)
        assert (table.filter(quantity="kendall_tau_b")["value"][0] == 1.0) is is_equal
