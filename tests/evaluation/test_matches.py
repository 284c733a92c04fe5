"""Judgements of a folder, and runs that match none of them."""

import gzip
from pathlib import Path

import pytest

from builder.cli.evaluation import find_qrels
from builder.errors import DataError, UsageError
from builder.evaluation import EvaluationParameters, evaluate_paths
from builder.evaluation.reports.summary import summary_rows, zero_score_warnings
from tests.cli.test_cli import run

PARAMETERS = EvaluationParameters(("nDCG@10",), resamples=0)


def write(folder: Path, runs: dict[str, str], first: str = "q1 0 d1 1\n") -> dict[str, Path]:
    """Write judgements of two months and runs, and return the paths of the judgements."""
    files = {"2022-06.qrels": first, "2022-07.qrels": "q1 0 d1 1\nq2 0 d2 0\n", **runs}
    for name, text in files.items():
        (folder / name).write_text(text)
    return {name: folder / f"{name}.qrels" for name in ("2022-06", "2022-07")}


@pytest.mark.parametrize(
    ("text", "others"),
    [("Q1 Q0 d1 1 1 x\n9 Q0 d1 1 1 x\n", 2), ("", 0), ("map\tq7\t0.5\nndcg_cut_10\tq7\t1\n", 1)],
)
def test_a_run_without_judged_queries_is_an_error(tmp_path: Path, text: str, others: int) -> None:
    qrels = write(tmp_path, {"a_2022-06.txt": "q1 Q0 d1 1 1 x\n", "a_2022-07.txt": text})
    files = [tmp_path / "a_2022-06.txt", tmp_path / "a_2022-07.txt"]
    assert evaluate_paths(qrels, files[:1], PARAMETERS).systems == ("a",)
    with pytest.raises(DataError) as error:
        evaluate_paths(qrels, files, PARAMETERS)
    assert str(error.value) == (
        f"{files[1]}: expected results for judged queries of 2022-07, such as 'q1', found "
        f"only {others} other queries; correct the query ids, or omit the file"
    )


def test_no_judgements_are_an_error(tmp_path: Path) -> None:
    qrels = write(tmp_path, {"a_2022-06.txt": "q1 Q0 d1 1 1 x\n"}, first="")
    files = [tmp_path / "a_2022-06.txt"]
    assert evaluate_paths(qrels, files, PARAMETERS).effectiveness["queries"].to_list() == [0, 0]
    qrels["2022-07"].write_text("\n")
    with pytest.raises(DataError) as error:
        evaluate_paths(qrels, files, PARAMETERS)
    assert str(error.value) == "expected judged queries in at least one snapshot, found none"


def test_scores_of_0_have_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = {"a": "q1 Q0 doc1 1 1 x\n", "b": "q1 Q0 d1 1 1 x\n"}
    runs = {f"{s}_{m}.txt": text for s, text in lines.items() for m in ("2022-06", "2022-07")}
    qrels = write(tmp_path, runs, first="q1 0 d1 0\n")
    files = [tmp_path / name for name in runs]
    irrelevant = "no judged document is relevant"
    not_found = (
        "no relevant document was retrieved; "
        "check that the run and the judgements use the same document ids"
    )
    reasons = {"a, 2022-06": irrelevant, "b, 2022-06": irrelevant, "a, 2022-07": not_found}
    warnings = [f"{key}: all scores are 0, because {reason}" for key, reason in reasons.items()]
    assert zero_score_warnings(evaluate_paths(qrels, files, PARAMETERS)) == warnings
    assert run("evaluate", tmp_path, *files, "--measures", "nDCG@10") == 0
    assert capsys.readouterr().err.splitlines() == [f"warning: {text}" for text in warnings]


def test_a_folder_of_judgements(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain, packed = tmp_path / "2022-06.qrels", tmp_path / "2022-07.qrels.gz"
    plain.write_text("q1 0 d1 1\n")
    packed.write_bytes(gzip.compress(b"q1 0 d1 1\n"))
    unread = ("2022-08.qrels.md5", "2022-08.qrels~", "2022-08_qrels.txt", "qrels.2022-08.txt")
    for name in ("._2022-06.qrels", *unread):
        (tmp_path / name).write_bytes(b"\0")
    (tmp_path / "qrels").mkdir()
    assert find_qrels(tmp_path) == {"2022-06": plain, "2022-07": packed}
    expected = (
        "was not read; expected a name such as 2022-06.qrels, .qrels.txt, .qrels.gz or .qrels.zst"
    )
    assert capsys.readouterr().err.splitlines() == [
        f"warning: {tmp_path / name} {expected}" for name in unread
    ]
    text = tmp_path / "2022-09.qrels.txt"
    text.write_text("q1 0 d1 1\n")
    assert find_qrels(tmp_path) == {"2022-06": plain, "2022-07": packed, "2022-09": text}
    text.unlink()
    run_file = tmp_path / "a_2022-07.txt"
    run_file.write_text("q1 Q0 d1 1 1 x\n")
    assert run("evaluate", tmp_path, run_file, "--measures", "AP") == 0
    (tmp_path / "2022-07.qrels").write_text("q1 0 d1 0\n")
    with pytest.raises(UsageError) as error:
        find_qrels(tmp_path)
    assert str(error.value) == (
        f"{packed.with_suffix('')} and {packed} are both qrels of 2022-07; remove one of them"
    )


def test_numbers_in_names_of_snapshots_are_ordered_by_value(tmp_path: Path) -> None:
    """`round10` was the second of ten rounds."""
    for name in ("round1", "round2", "round10"):
        (tmp_path / f"{name}.qrels").write_text("q1 0 d1 1\n")
        (tmp_path / f"a_{name}.txt").write_text("q1 Q0 d1 1 1 x\n")
    files = sorted(tmp_path.glob("*.txt"))
    evaluation = evaluate_paths(find_qrels(tmp_path), files, PARAMETERS)
    assert evaluation.snapshots == ("round1", "round2", "round10")
    rows = [row["snapshot"] for row in summary_rows(evaluation)]
    assert rows == ["round1", "round2", "round10"]


@pytest.mark.parametrize(
    ("names", "ordered"),
    [
        (["train", "short", "long"], "long, short, train"),
        (["06-2022", "01-2023"], "01-2023, 06-2022"),
        (["2022-06", "heldout"], "2022-06, heldout"),
        (["lag6", "lag8", "lag10"], None),
        (["2022-06", "2022-07-15"], None),
        (["round", "round1"], None),
        (["a1b1", "a2b1"], None),
        (["a1b1", "a2b2"], "a1b1, a2b2"),
        (["short"], None),
    ],
)
def test_names_without_an_order_in_time_are_named(
    names: list[str], ordered: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`long` was the first snapshot, to which `train` was compared."""
    for name in names:
        (tmp_path / f"{name}.qrels").write_text("q1 0 d1 1\n")
    find_qrels(tmp_path)
    warning = (
        f"warning: snapshots are compared in the order of their names ({ordered}); if this order "
        "is not chronological, name the files after dates, such as 2022-06.qrels\n"
    )
    assert capsys.readouterr().err == (warning if ordered else "")
