"""Every number of the page of a query and of a page is that of the Python API."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.types import ASGIApp

import builder
from builder.collection.read import Collection
from builder.explore import CollectionSource
from tests.explore.client import Reader, ask, number
from tests.thorough import examples

EXAMPLES = examples(200)


class Truth:
    """The tables of a collection, read by the Python API."""

    def __init__(self, path: Path) -> None:
        self.collection = builder.open_collection(path)
        c = self.collection
        self.names = c.snapshots
        self.queries = self._all(c, "queries")
        self.qrels = self._all(c, "qrels")
        self.documents = self._all(c, "documents")
        self.queries_map = c.table("queries_map").collect()
        self.documents_map = c.table("documents_map").collect()
        self.changes = c.table("document_changes").collect()
        self.qrel_changes = c.table("qrel_changes").collect()

    @staticmethod
    def _all(collection: Collection, name: str) -> pl.DataFrame:
        frames = [
            getattr(collection.snapshot(n), name).collect().with_columns(snapshot=pl.lit(n))
            for n in collection.snapshots
        ]
        return pl.concat(frames)


@pytest.fixture(scope="module")
def truth(explored: Path) -> Truth:
    """The tables."""
    return Truth(explored)


def close(text: str, value: float | None, digits: int = 3) -> bool:
    """Whether a cell shows a value."""
    found = number(text)
    if value is None or found is None:
        return value is None and found is None
    return abs(found - value) <= 0.51 * 10**-digits


@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_a_query(data: Any, truth: Truth, app: ASGIApp) -> None:
    key = data.draw(st.sampled_from(truth.queries_map["query_id"].to_list()))
    read = Reader(ask(app, f"/query/{key}").text)
    own = truth.queries.filter(query_id=key)
    judged = truth.qrels.filter(query_id=key)
    life = {r["Snapshot"]: r for r in read.table("The query in each snapshot").records()}
    assert list(life) == list(truth.names)
    for name, row in life.items():
        listed = own.filter(snapshot=name)
        graded = judged.filter(snapshot=name)
        assert row["Listed"] == ("listed" if listed.height else "not listed")
        for column in ("impressions", "users", "clicks"):
            expected = listed[column].item() if listed.height else None
            assert number(row[column.capitalize()]) == expected
        if listed.height:
            assert row["Split"] == listed["split"].item()
            assert row["Typed as"] == listed["text"].item()
        assert number(row["Judged"]) == graded.height
        for grade, label in enumerate(("Not relevant", "Relevant", "Highly relevant")):
            assert number(row[label]) == graded.filter(grade=grade).height
    _grades(read, judged, truth)
    moved = truth.qrel_changes.filter(query_id=key).filter(
        pl.col("grade_from").ne_missing(pl.col("grade_to"))
    )
    caption = "Grades that differ between consecutive snapshots"
    shown = read.table(caption).records() if moved.height else []
    assert len(shown) == moved.height
    for row, change in zip(
        shown, moved.sort("from_snapshot", "doc_id").iter_rows(named=True), strict=True
    ):
        assert row["From"] == change["from_snapshot"]
        assert number(row["Examined before"]) == change["examinations_from"]
        assert number(row["Examined after"]) == change["examinations_to"]
        before = change["grade_from"]
        assert row["Grade before"] == ("not judged" if before is None else str(before))


def _grades(read: Reader, judged: pl.DataFrame, truth: Truth) -> None:
    """The matrix, and the evidence behind each of its grades."""
    if judged.is_empty():
        return
    copied = next(c for c in read.copies if c["caption"] == "Grades of judged pages")
    rows = pl.read_csv(copied["CSV"].encode(), infer_schema=False)
    assert rows.height == judged.height
    expected = judged.sort("doc_id", "snapshot")
    for column in ("grade", "impressions", "examinations", "clicks", "last_clicks"):
        assert rows[column].cast(pl.UInt32).to_list() == expected[column].to_list()
    for column in ("score", "score_low", "score_high", "stability"):
        assert rows[column].cast(pl.Float64).to_list() == expected[column].to_list()
    matrix = next(t for t in read.tables if t.caption == "Grades of judged pages by snapshot")
    cells = [cell for row in matrix.rows[1:] for cell in row[1:]]
    assert sum("not judged" not in cell for cell in cells) == judged.height
    assert sum(cell.startswith("2") for cell in cells) == judged.filter(grade=2).height
    assert len(matrix.rows) - 1 == judged["doc_id"].n_unique()


@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_a_page(data: Any, truth: Truth, app: ASGIApp) -> None:
    key = data.draw(st.sampled_from(truth.documents_map["doc_id"].to_list()))
    read = Reader(ask(app, f"/page/{key}").text)
    own = truth.documents.filter(doc_id=key).sort("snapshot")
    shown = read.table("The page in each snapshot").records()
    assert [row["Snapshot"] for row in shown] == own["snapshot"].to_list()
    for row, version in zip(shown, own.iter_rows(named=True), strict=True):
        assert number(row["Words"]) == version["tokens"]
        assert row["Title"] == version["title"]
        assert row["Shown"] == ("yes" if version["shown"] else "no")
        assert row["Sampled"] == ("yes" if version["sampled"] else "no")
    changes = truth.changes.filter(doc_id=key).sort("from_snapshot")
    happened = read.table("What happened between snapshots").records() if changes.height else []
    assert len(happened) == changes.height
    for row, change in zip(happened, changes.iter_rows(named=True), strict=True):
        assert close(row["Dice"], change["dice"])
        assert close(row["5-word sequences"], change["shingle_jaccard"])
        assert number(row["Words before"]) == change["tokens_from"]
        assert number(row["Words after"]) == change["tokens_to"]
    _judgements(read, truth.qrels.filter(doc_id=key))


def _judgements(read: Reader, judged: pl.DataFrame) -> None:
    shown = read.table("Judgements of the page").records() if judged.height else []
    assert len(shown) == judged.height
    ordered = judged.sort("query_id", "snapshot")
    for row, qrel in zip(shown, ordered.iter_rows(named=True), strict=True):
        for column in ("grade", "impressions", "examinations", "clicks"):
            assert number(row[column.capitalize()]) == qrel[column]
        assert close(row["Score"], qrel["score"])
        assert row["Source"] == qrel["source"]


def _scores(source: CollectionSource) -> Iterator[tuple[str, str, str, float]]:
    from builder.explore.statements import Statement

    for row in source.fetch_rows(Statement("SELECT * FROM scores WHERE measure = 'nDCG@10'")):
        yield row["system"], row["snapshot"], row["query_key"], row["score"]


def test_scores_are_those_of_evaluate(source: CollectionSource, explored: Path, runs: Path) -> None:
    from builder.evaluation import EvaluationParameters, evaluate_paths

    collection = builder.open_collection(explored)
    qrels = {n: collection.snapshot(n).folder / "qrels.parquet" for n in collection.snapshots}
    found = evaluate_paths(qrels, [runs], EvaluationParameters(measures=("nDCG@10",), resamples=0))
    expected = found.query_scores.select("system", "snapshot", "query_id", "score").rows()
    assert sorted(_scores(source)) == sorted(expected)
