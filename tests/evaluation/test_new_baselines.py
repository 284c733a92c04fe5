"""Dense search and the qrel boost, by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from builder.cli import app
from builder.errors import DataError, UsageError
from builder.evaluation.baselines import dense
from builder.evaluation.baselines.boost import qrel_boost
from builder.evaluation.baselines.dense import dense_search
from builder.trec.runs import read_run, write_run


def write(path: Path, column: str, vectors: dict[str, list[float]]) -> Path:
    pl.DataFrame({column: list(vectors), "vector": list(vectors.values())}).write_parquet(path)
    return path


def test_dense_search_by_hand(tmp_path: Path) -> None:
    documents = {"a": [1.0, 0.0], "b": [0.6, 0.8], "c": [0.0, 1.0]}
    paths = write(tmp_path / "d.parquet", "doc_id", documents), tmp_path / "q.parquet"
    write(paths[1], "query_id", {"q1": [1.0, 0.0], "q2": [0.0, 2.0]})
    run = dense_search(*paths, depth=2)
    rows = run.ranking.select("query_id", "doc_id").rows()
    assert rows == [("q1", "a"), ("q1", "b"), ("q2", "c"), ("q2", "b")]
    assert run.ranking["score"].to_list() == pytest.approx([1.0, 0.6, 2.0, 1.6], abs=1e-6)


def test_batches_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    vectors = {f"d{i:02}": rng.integers(-2, 3, 3).astype(float).tolist() for i in range(50)}
    paths = write(tmp_path / "d.parquet", "doc_id", vectors), tmp_path / "q.parquet"
    write(paths[1], "query_id", {"q": [1.0, 2.0, -1.0]})
    whole = dense_search(*paths, depth=7).ranking
    monkeypatch.setattr(dense, "BATCH_ROWS", 8)
    assert dense_search(*paths, depth=7).ranking.equals(whole)
    order = sorted(vectors, key=lambda d: (np.dot(vectors[d], [1, 2, -1]), d), reverse=True)
    assert whole["doc_id"].to_list() == order[:7]


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ({"a": [1.0]}, "expected vectors of length 2, found lengths"),
        ({"a": [1.0, 2.0], "b": [1.0]}, "expected vectors of length 2, found lengths"),
        ({"a": [float("nan"), 1.0]}, "expected an id and a vector of finite numbers in every row"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(
    tmp_path: Path, vectors: dict[str, list[float]], message: str
) -> None:
    paths = write(tmp_path / "d.parquet", "doc_id", vectors), tmp_path / "q.parquet"
    write(paths[1], "query_id", {"q": [1.0, 0.0]})
    with pytest.raises(DataError, match=message):
        dense_search(*paths)


@pytest.mark.parametrize("rows", [2, 4])
def test_documents_with_the_score_at_the_last_rank_are_ranked_by_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    """The batches of two have a, b and c, d: c ties with b, and d is the best."""
    monkeypatch.setattr(dense, "BATCH_ROWS", rows)
    documents = {"a": [0.0], "b": [1.0], "c": [1.0], "d": [2.0]}
    paths = write(tmp_path / "d.parquet", "doc_id", documents), tmp_path / "q.parquet"
    write(paths[1], "query_id", {"q": [1.0]})
    for depth, order in ((1, "d"), (2, "dc"), (3, "dcb"), (4, "dcba"), (5, "dcba")):
        run = dense_search(*paths, depth=depth)
        assert run.ranking["doc_id"].to_list() == list(order)
    assert (run.tag, run.depth, dense_search(*paths).depth) == ("dense", 5, 1000)


UNEQUAL = "q.parquet: expected vectors of the same length, found lengths"
NOT_FINITE = "d.parquet: expected an id and a vector of finite numbers in every row"


@pytest.mark.parametrize(
    ("documents", "queries", "message"),
    [
        ({"a": [1.0]}, {"q": [1.0], "p": [1.0, 2.0]}, f"{UNEQUAL} ['1', '2']"),
        ({"a": [1.0]}, {"q": []}, f"{UNEQUAL} ['0']"),
        ({"a": [1.0]}, {"q": None}, f"{UNEQUAL} ['None']"),
        (
            {"a": [1.0], "b": None},
            {"q": [1.0]},
            "d.parquet: expected vectors of length 1, found lengths ['1', 'None']",
        ),
        ({"a": [1.0, None]}, {"q": [1.0, 0.0]}, NOT_FINITE),
        ({None: [1.0]}, {"q": [1.0]}, NOT_FINITE),
        ({"a": [float("inf")]}, {"q": [1.0]}, NOT_FINITE),
        ({}, {"q": [1.0]}, "d.parquet: expected documents with unique ids, found no documents"),
    ],
)
def test_messages_about_vectors(
    tmp_path: Path, documents: dict[str, Any], queries: dict[str, Any], message: str
) -> None:
    paths = tmp_path / "d.parquet", tmp_path / "q.parquet"
    tables = {"doc_id": documents, "query_id": queries}
    for path, (column, vectors) in zip(paths, tables.items(), strict=True):
        columns = {column: list(vectors), "vector": list(vectors.values())}
        schema = {column: pl.String, "vector": pl.List(pl.Float32)}
        pl.DataFrame(columns, schema=schema).write_parquet(path)
    with pytest.raises(DataError) as caught:
        dense_search(*paths)
    assert str(caught.value) == f"{tmp_path}/{message}"


def test_ids_of_vectors_are_unique_and_a_file_may_have_no_queries(tmp_path: Path) -> None:
    paths = tmp_path / "d.parquet", tmp_path / "q.parquet"
    one = write(tmp_path / "one.parquet", "doc_id", {"a": [1.0]})
    write(paths[1], "query_id", {"q": [1.0]})
    pl.concat([pl.read_parquet(one)] * 2).write_parquet(paths[0])
    with pytest.raises(DataError) as caught:
        dense_search(*paths)
    assert str(caught.value) == (
        f"{paths[0]}: expected documents with unique ids, found duplicates"
    )
    queries = pl.read_parquet(paths[1])
    pl.concat([queries] * 2).write_parquet(paths[1])
    with pytest.raises(DataError) as caught:
        dense_search(one, paths[1])
    assert str(caught.value) == f"{paths[1]}: expected unique query ids, found duplicates"
    queries.clear().write_parquet(paths[1])
    assert dense_search(one, paths[1]).ranking.is_empty()
    with pytest.raises(UsageError, match="expected a run depth of at least 1, found 0"):
        dense_search(one, paths[1], depth=0)


def test_a_boost_ignores_negative_grades_and_keeps_the_depth(make_qrels, make_run) -> None:
    """Without the grade -1, a has a mean grade of 2, b of 1/2; scaled scores are 0 and 1."""
    run = make_run({"q": ["b", "a"]}, depth=7)
    judged = [
        make_qrels([("q", "a", 2), ("q", "b", 1)]),
        make_qrels([("q", "a", -1), ("q", "b", 0)]),
    ]
    boosted = qrel_boost(run, judged)
    assert (boosted.tag, boosted.depth) == ("boost", 7)
    assert boosted.ranking.select("doc_id", "score").rows() == [("a", 2.0), ("b", 1.5)]
    plain = qrel_boost(run, judged, weight=0, tag="t")
    assert plain.ranking.select("doc_id", "score").rows() == [("b", 1.0), ("a", 0.0)]
    with pytest.raises(UsageError) as caught:
        qrel_boost(run, judged, weight=-0.5)
    assert str(caught.value) == (
        "qrel boost: expected at least one table of judgements and a weight >= 0, found 2 tables "
        "and weight -0.5"
    )


def test_qrel_boost_by_hand(make_qrels, make_run) -> None:
    run = make_run({"q1": ["a", "b", "c"], "q2": ["a"]})
    june = make_qrels([("q1", "c", 2), ("q1", "b", 0), ("q1", "new", 1), ("q3", "a", 2)])
    july = make_qrels([("q1", "c", 1), ("q2", "a", 0)])
    boosted = qrel_boost(run, [june, july], weight=0.5).ranking
    found = {(q, d): score for q, d, _, score in boosted.iter_rows()}
    # scaled 1, 1/2, 0; c has a mean grade of 3/2; the run lacks `new`, which may be gone
    assert found == {
        ("q1", "a"): 1.0,
        ("q1", "c"): 0.75,
        ("q1", "b"): 0.5,
        ("q2", "a"): 1.0,
    }
    with pytest.raises(UsageError, match="expected at least one table of judgements"):
        qrel_boost(run, [])


def test_judgements_of_no_query_of_the_run_cannot_boost(make_qrels, make_run) -> None:
    run, other = make_run({"q1": ["a"]}), make_qrels([("1", "a", 2)])
    with pytest.raises(DataError, match=r"no query of run \w+ has judgements in the earlier"):
        qrel_boost(run, [other])


def test_judgements_of_no_document_of_the_run_cannot_boost(make_qrels, make_run) -> None:
    run, judged = make_run({"q1": ["doc1"], "q2": ["2"]}), make_qrels([("q1", "1", 2)])
    other = make_qrels([("q1", "2", 2)])
    with pytest.raises(DataError) as caught:
        qrel_boost(run, [judged, other])
    assert str(caught.value) == (
        "qrel boost: no document of run run was judged for the same query in the earlier "
        "snapshots; expected the same document ids in all snapshots"
    )
    judged = make_qrels([("q1", "doc1", 0)])
    assert qrel_boost(run, [judged]).ranking["score"].to_list() == [1.0, 1.0]


def test_boost_of_infinite_scores(tmp_path: Path, make_qrels) -> None:
    path = tmp_path / "run.txt"
    path.write_text("q1 Q0 a 1 1 t\nq1 Q0 b 2 -inf t\nq2 Q0 c 1 inf t\n")
    with pytest.raises(DataError) as caught:
        qrel_boost(read_run(path), [make_qrels([("q1", "a", 1)])])
    assert str(caught.value) == (
        "qrel boost: expected finite scores in run t, found -inf for query 'q1' and document 'b'; "
        "replace the score, or omit the document"
    )


def test_boost_converts_document_ids_as_evaluate_does(tmp_path: Path, make_qrels, make_run) -> None:
    """The documents of a release are `doc1` and `doc2`, its judgements are for `1` and `2`."""
    judged = tmp_path / "collection/snapshots/2022-06"
    judged.mkdir(parents=True)
    make_qrels([("q1", "2", 1)]).write_parquet(judged / "qrels.parquet")
    ids = {"kind": ["document"] * 2, "id": ["1", "2"], "key": ["a", "b"]}
    pl.DataFrame(ids).write_parquet(judged / "release_ids.parquet")
    boosted = []
    for name, documents in (("plain", ["1", "2", "3"]), ("prefixed", ["doc1", "doc2", "doc3"])):
        write_run(make_run({"q1": documents}), tmp_path / f"{name}.txt")
        out = tmp_path / f"{name}_boosted.txt"
        arguments = ["boost", tmp_path / f"{name}.txt", judged / "qrels.parquet", "--out", out]
        said = CliRunner().invoke(app, [*map(str, arguments), "--weight", "2"])
        assert said.exit_code == 0, said.output
        boosted.append(read_run(out, None).ranking)
    assert boosted[1].equals(boosted[0])
    assert boosted[1].select("doc_id", "score").rows() == [("2", 2.5), ("1", 1.0), ("3", 0.0)]
