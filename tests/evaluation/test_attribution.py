"""Attribution of a change between run files, by hand."""

from pathlib import Path

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
