"""Attribution of a change between run files, by hand."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builder.errors import DataError, UsageError
from builder.evaluation.attribution import attribute_score_changes, unchanged_document_ids

CHANGES = {"from_snapshot": "2022-06", "to_snapshot": "2022-07"}


@pytest.fixture
def files(tmp_path: Path, make_qrels) -> tuple[dict[str, Path], Path, Path]:
    """In July, q1 prefers b, and q2 is new; documents and rankings are the same."""
    qrels = {}
    judgements = {
        "2022-06": [("q1", "a", 1)],
        "2022-07": [("q1", "a", 0), ("q1", "b", 1), ("q2", "b", 1)],
    }
    lines = {"2022-06": "q1 Q0 a 1 2 s\nq1 Q0 b 2 1 s\n"}
    lines["2022-07"] = lines["2022-06"] + "q2 Q0 b 1 1 s\n"
    (tmp_path / "s").mkdir()
    for name, rows in judgements.items():
        (tmp_path / name).mkdir()
        qrels[name] = tmp_path / name / "qrels.parquet"
        make_qrels(rows).write_parquet(qrels[name])
        (tmp_path / "s" / f"{name}.txt").write_text(lines[name])
    changes = tmp_path / "changes.parquet"
    rows = [
        {"doc_id": d, "status": s, **CHANGES}
        for d, s in (("a", "unchanged"), ("b", "unchanged"), ("c", "removed"))
    ]
    pl.DataFrame(rows).write_parquet(changes)
    return qrels, changes, tmp_path / "s"


def test_contributions_of_a_change(files: tuple[dict[str, Path], Path, Path]) -> None:
    """P@1 changes from 1 to (0 + 1) / 2; with q1 only by -1; with June's judgement of a by 0."""
    qrels, changes, runs = files
    (change,) = attribute_score_changes(qrels, changes, [runs], ["P@1"])
    expected = {"system": "s", "measure": "P@1", "from": "2022-06", "to": "2022-07", "change": -0.5}
    expected |= {"documents": 0, "queries": 0.25, "judgements": -0.75, "statistics_and_system": 0}
    assert change.to_row() == {**expected, "least_queries": 1}
    found = change.to_json()
    assert found["statistics_and_system"] == 0
    cells = {tuple(cell["held"]): cell for cell in found["cells"]}
    assert len(cells) == 8
    means = {"mean_from": 1.0, "mean_to": 0.5, "n_from": 1, "n_to": 2}
    assert cells[()] == {"held": [], **means}
    assert cells["queries",] == {"held": ["queries"], **means, "mean_to": 0.0, "n_to": 1}
    assert cells["judgements",]["mean_to"] == 1.0


def test_unchanged_documents(files: tuple[dict[str, Path], Path, Path]) -> None:
    _, changes, _ = files
    assert unchanged_document_ids(changes, ("2022-06", "2022-07")).to_list() == ["a", "b"]
    with pytest.raises(DataError) as caught:
        unchanged_document_ids(changes, ("2022-07", "2022-08"))
    assert str(caught.value) == (
        "no document changes are recorded from 2022-07 to 2022-08; without them, the contribution "
        "of documents cannot be computed"
    )


def test_a_system_needs_runs_for_consecutive_snapshots(
    files: tuple[dict[str, Path], Path, Path],
) -> None:
    qrels, changes, runs = files
    with pytest.raises(UsageError) as caught:
        attribute_score_changes(qrels, changes, [runs / "2022-06.txt"], ["P@1"])
    assert str(caught.value) == (
        "expected a system with runs for two consecutive snapshots among 2022-06, 2022-07, found "
        "only runs of s for 2022-06"
    )


def test_a_run_without_judged_queries_is_an_error(
    files: tuple[dict[str, Path], Path, Path],
) -> None:
    qrels, changes, runs = files
    path = runs / "2022-07.txt"
    path.write_text("z1 Q0 a 1 1 s\n")
    with pytest.raises(DataError, match="expected results for judged queries of 2022-07") as caught:
        attribute_score_changes(qrels, changes, [runs], ["P@1"])
    assert str(caught.value).startswith(f"{path}: ")


def test_a_run_with_earlier_statistics_splits_the_rest_of_a_change(
    files: tuple[dict[str, Path], Path, Path], tmp_path: Path
) -> None:
    """On q1 and June's judgements, P@1 is 1 in both months, and 0 for the run that prefers b."""
    qrels, changes, runs = files
    earlier = tmp_path / "earlier" / "s" / "2022-07.txt"
    earlier.parent.mkdir(parents=True)
    earlier.write_text("q1 Q0 b 1 2 s\nq1 Q0 a 2 1 s\nq2 Q0 b 1 1 s\n")
    (change,) = attribute_score_changes(
        qrels, changes, [runs], ["P@1"], earlier_statistics=[earlier.parent]
    )
    row = change.to_row()
    assert row == {
        "system": "s",
        "measure": "P@1",
        "from": "2022-06",
        "to": "2022-07",
        "change": -0.5,
        "documents": 0,
        "queries": 0.25,
        "judgements": -0.75,
        "statistics_and_system": 0,
        "statistics_part": 1.0,
        "system_part": -1.0,
        "least_queries": 1,
    }
    assert list(row)[-3:] == ["statistics_part", "system_part", "least_queries"]
    (earlier.parent / "2022-06.txt").write_text("q1 Q0 a 1 1 s\n")
    earlier.rename(earlier.with_name("other_2022-07.txt"))
    with pytest.raises(UsageError) as caught:
        attribute_score_changes(
            qrels, changes, [runs], ["P@1"], earlier_statistics=[earlier.parent]
        )
    assert str(caught.value) == (
        "expected a run of s for 2022-07, ranked with the statistics of the preceding snapshot, "
        "found only runs of other for 2022-07, s for 2022-06; the path of a run must name its "
        "system and snapshot"
    )


def test_changes_of_systems_measures_and_snapshots_are_sorted(
    files: tuple[dict[str, Path], Path, Path], make_qrels
) -> None:
    """RR of s is 1, 3/4, 1; r has no run for June. August has q2 alone, and its b is first."""
    qrels, changes, runs = files
    august = qrels["2022-06"].parents[1] / "2022-08" / "qrels.parquet"
    august.parent.mkdir()
    make_qrels([("q2", "b", 1)]).write_parquet(august)
    recorded = pl.read_parquet(changes)
    later = recorded.with_columns(from_snapshot=pl.lit("2022-07"), to_snapshot=pl.lit("2022-08"))
    pl.concat([recorded, later]).write_parquet(changes)
    (runs / "2022-08.txt").write_text("q2 Q0 b 1 1 s\n")
    other = runs.with_name("r")
    other.mkdir()
    for month in ("2022-07", "2022-08"):
        (other / f"{month}.txt").write_text("q2 Q0 b 1 1 r\n")
    found = attribute_score_changes(
        {**qrels, "2022-08": august}, changes, [runs, other], ["RR", "P@1"]
    )
    assert [(f.system, f.measure, f.pair, f.attribution.change) for f in found] == [
        ("r", "P@1", ("2022-07", "2022-08"), 0.5),
        ("r", "RR", ("2022-07", "2022-08"), 0.5),
        ("s", "P@1", ("2022-06", "2022-07"), -0.5),
        ("s", "P@1", ("2022-07", "2022-08"), 0.5),
        ("s", "RR", ("2022-06", "2022-07"), -0.25),
        ("s", "RR", ("2022-07", "2022-08"), 0.25),
    ]
    assert found[-1].to_row()["least_queries"] == 1


def test_the_depth_and_the_splits_of_an_attribution(
    files: tuple[dict[str, Path], Path, Path],
) -> None:
    """In July, b is second for q1: it counts for RR unless the depth is 1."""
    qrels, changes, runs = files

    def change(**options: Any) -> float:
        (found,) = attribute_score_changes(qrels, changes, [runs], ["RR"], **options)
        return found.attribution.change

    assert (change(), change(depth=2), change(depth=1)) == (-0.25, -0.25, -0.5)
    for path in qrels.values():
        queries = pl.DataFrame({"query_id": ["q1", "q2"], "split": ["test", "train"]})
        queries.write_parquet(path.with_name("queries.parquet"))
    assert change(splits=("test",)) == -0.5
    # of documents that did not change, b is left: June has no judgement of it, and at depth 1 the
    # run of July has a for q1 and b for q2
    pl.read_parquet(changes).filter(doc_id="b").write_parquet(changes)
    (found,) = attribute_score_changes(qrels, changes, [runs], ["RR"], depth=1)
    (cell,) = [cell for cell in found.to_json()["cells"] if cell["held"] == ["documents"]]
    assert cell == {
        "held": ["documents"],
        "mean_from": None,
        "mean_to": 0.5,
        "n_from": 0,
        "n_to": 2,
    }
    row = found.to_row()
    assert (row["least_queries"], row["documents"], row["statistics_and_system"]) == (0, None, None)
    (default,) = attribute_score_changes(qrels, changes, [runs])
    assert default.measure == "nDCG@10"
