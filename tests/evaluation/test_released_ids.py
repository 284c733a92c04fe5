"""Ids of a release and keys that all snapshots share: in runs, judgements and tables."""

from pathlib import Path

import polars as pl
import pytest

from builder.trec.released import (
    read_query_keys,
    read_release_ids,
    read_snapshot_run,
    replace_ids_with_keys,
    replace_keys_with_ids,
    strip_doc_prefix,
    to_release_ids,
)
from builder.trec.runs import Run

IDS = [
    ("document", "7", "dk7", None),
    ("document", "8", "dk8", None),
    ("document", "doc9", "dk9", None),
    ("query", "7", "qk7", "t"),
    ("query", "8", "qk8", "t"),
    ("query", "x", "qk8", "t"),
]


def _snapshot(folder: Path, rows: list[tuple[str, str, str, str | None]]) -> Path:
    columns = dict.fromkeys(("kind", "id", "key", "text_key"), pl.String)
    pl.DataFrame(rows, columns, orient="row").write_parquet(folder / "release_ids.parquet")
    return folder


@pytest.mark.parametrize(
    ("own", "stripped"),
    [("doc12", "12"), ("12", "12"), ("doc", "doc"), ("doc1a", "doc1a"), ("xdoc1", "xdoc1")],
)
def test_the_prefix_of_a_number_is_removed(own: str, stripped: str) -> None:
    assert strip_doc_prefix(own) == stripped


def test_documents_of_a_run_get_the_ids_of_the_judgements(tmp_path: Path) -> None:
    """A document that is known with its prefix keeps it; of two names, the higher rank counts."""
    path = tmp_path / "run.txt"
    path.write_text(
        "7 Q0 doc8 1 9 t\n7 Q0 8 2 8 t\n7 Q0 doc9 3 7 t\n7 Q0 doc10 4 6 t\n7 Q0 docx 5 5 t\n"
        "8 Q0 8 1 4 t\n8 Q0 doc8 2 3 t\n"
    )
    snapshot = _snapshot(tmp_path, IDS)
    expected = [
        ("7", "8", 1, 9.0),
        ("7", "doc9", 2, 7.0),
        ("7", "10", 3, 6.0),
        ("7", "docx", 4, 5.0),
        ("8", "8", 1, 4.0),
    ]
    assert read_snapshot_run(path, None, snapshot).ranking.rows() == expected
    cut = read_snapshot_run(path, 2, snapshot)
    assert (cut.ranking.rows(), cut.depth, cut.tag) == ([*expected[:2], expected[4]], 2, "t")
    for folder in (None, tmp_path / "none"):
        plain = read_snapshot_run(path, 1, folder)
        assert plain.ranking["doc_id"].to_list() == ["doc8", "8"]
        assert plain.depth == 1


@pytest.mark.parametrize(
    ("ids", "documents"),
    [
        ([("query", "7", "qk7", None), ("document", "a7", "dk", None)], ["doc8", "doc9"]),
        ([("document", "doc8", "dk", None)], ["doc8", "doc9"]),
        (IDS, ["a8", "b9"]),
    ],
)
def test_runs_stay_as_they_are_where_no_id_is_a_number(
    ids: list[tuple[str, str, str, str | None]], documents: list[str], tmp_path: Path
) -> None:
    scores = pl.DataFrame({"query_id": ["1", "1"], "doc_id": documents, "score": [2.0, 1.0]})
    run = Run.from_scores(scores, "t", 5)
    assert to_release_ids(run, _snapshot(tmp_path, ids)) is run
    assert to_release_ids(run, tmp_path / "none") is run


def test_ids_and_keys_of_queries_and_documents_are_not_mixed(tmp_path: Path) -> None:
    columns = ["query_id", "doc_id", "grade"]
    rows = [("8", "8", 1), ("7", "7", 2), ("9", "9", 0), ("7", "8", 0)]
    judged = pl.DataFrame(rows, columns, orient="row")
    snapshot = _snapshot(tmp_path, IDS)
    keyed = replace_ids_with_keys(judged, snapshot)
    assert keyed.columns == columns
    expected = [("qk8", "dk8", 1), ("qk7", "dk7", 2), ("9", "9", 0), ("qk7", "dk8", 0)]
    assert keyed.rows() == expected
    assert replace_keys_with_ids(keyed, snapshot).rows() == [
        ("8", "8", 1),
        ("x", "8", 1),
        ("7", "7", 2),
        ("9", "9", 0),
        ("7", "8", 0),
    ]
    assert read_query_keys(snapshot) == {"7": "qk7", "8": "qk8", "x": "qk8"}


def test_a_snapshot_that_was_not_imported_has_no_other_ids(tmp_path: Path) -> None:
    judged = pl.DataFrame({"query_id": ["7"], "doc_id": ["8"]})
    assert read_release_ids(tmp_path) is None
    assert read_query_keys(tmp_path) == {}
    assert replace_ids_with_keys(judged, tmp_path) is judged
    assert replace_keys_with_ids(judged, tmp_path) is judged
