"""The sanity check on two tiny snapshots, by hand."""

from pathlib import Path

import polars as pl
import pytest

from builder.cli.evaluation import format_sanity_rows
from builder.collection.read import Snapshot
from builder.evaluation.baselines.sanity import SanityCheckRow, rotate_judgements, run_sanity_check

pytest.importorskip("bm25s")
pytest.importorskip("pytrec_eval")


def write_snapshot(root: Path, name: str, english: list[str | None]) -> Snapshot:
    snapshot = Snapshot(root, name, 3)
    (snapshot.folder / "documents").mkdir(parents=True)
    words = ["chat", "chien", "lapin"]
    documents = {"doc_id": ["d1", "d2", "d3"], "title": words, "text": words}
    documents |= {"title_en": ["cat", "dog", "rabbit"], "text_en": ["cat", "dog", "rabbit"]}
    pl.DataFrame(documents).write_parquet(snapshot.folder / "documents/part-00000.parquet")
    queries = {"query_id": ["q1", "q2", "q3"], "text": words, "text_en": english}
    schema = dict.fromkeys(queries, pl.String)
    pl.DataFrame(queries, schema=schema).write_parquet(snapshot.folder / "queries.parquet")
    qrels = {"query_id": ["q1", "q2", "q3"], "doc_id": ["d1", "d2", "d3"], "grade": [1, 1, 1]}
    pl.DataFrame(qrels).write_parquet(snapshot.folder / "qrels.parquet")
    return snapshot


def test_bm25_finds_every_document_and_no_document_of_another_query(tmp_path: Path) -> None:
    june = write_snapshot(tmp_path, "2022-06", ["cat", "dog", "rabbit"])
    july = write_snapshot(tmp_path, "2022-07", ["cat", None, "rabbit"])
    assert run_sanity_check([june, july], {"fr": "", "en": "_en"}) == [
        SanityCheckRow("fr", "2022-06", 3, 1.0, pytest.approx(0.1), 0.0),
        SanityCheckRow("fr", "2022-07", 3, 1.0, pytest.approx(0.1), 0.0),
        SanityCheckRow("en", "2022-06", 3, 1.0, pytest.approx(0.1), 0.0),
    ]


def test_means_of_a_snapshot_by_hand(tmp_path: Path) -> None:
    """q1 (chat) finds d1 and d4, of which d4 is ranked first; q2 (chien) finds nothing judged.

    The rank 2 of d1 has the gain 1 / log2(3), the ideal is 1. With the judgements of q1, q2 finds
    nothing; with those of q2, q1 finds d4 first.
    """
    june = write_snapshot(tmp_path, "2022-06", ["cat", "dog", "rabbit"])
    documents = pl.read_parquet(june.document_files()[0])
    more = documents.head(1).with_columns(doc_id=pl.lit("d4"))
    pl.concat([documents, more]).write_parquet(june.document_files()[0])
    qrels = {"query_id": ["q1", "q2"], "doc_id": ["d1", "d4"], "grade": [1, 1]}
    pl.DataFrame(qrels).write_parquet(june.folder / "qrels.parquet")
    (row,) = run_sanity_check([june], {"fr": ""})
    ndcg = 0.6309297536 / 2
    assert row == SanityCheckRow(
        "fr", "2022-06", 2, pytest.approx(ndcg), pytest.approx(0.05), pytest.approx(0.5)
    )


def test_a_snapshot_without_queries_is_not_searched(tmp_path: Path) -> None:
    june = write_snapshot(tmp_path, "2022-06", ["cat", "dog", "rabbit"])
    queries = june.folder / "queries.parquet"
    pl.read_parquet(queries).clear().write_parquet(queries)
    assert run_sanity_check([june], {"fr": ""}) == []


def test_progress_of_a_sanity_check_counts_documents(tmp_path: Path) -> None:
    told: list[object] = []

    class Listener:
        def start(self, label: str, total: int | None, unit: str) -> None:
            told.append((label, total, unit))

        def advance(self, count: int) -> None:
            told.append(count)

        def finish(self) -> None:
            told.append("end")

    june = write_snapshot(tmp_path, "2022-06", ["cat", None, "rabbit"])
    run_sanity_check([june], {"fr": "", "en": "_en"}, progress=Listener())
    assert told == [("index", None, "documents"), 3, "end"]


def test_a_snapshot_without_judgements_has_no_means(tmp_path: Path) -> None:
    june = write_snapshot(tmp_path, "2022-06", ["cat", "dog", "rabbit"])
    path = june.folder / "qrels.parquet"
    pl.read_parquet(path).head(0).write_parquet(path)
    rows = run_sanity_check([june], {"fr": ""})
    assert rows == [SanityCheckRow("fr", "2022-06", 0, None, None, None)]
    assert format_sanity_rows(rows).splitlines()[1].split() == ["fr", "2022-06", "0", "-", "-", "-"]


def test_judgements_move_to_the_next_query(make_qrels) -> None:
    qrels = make_qrels([("q1", "a", 1), ("q2", "b", 2), ("q3", "c", 0), ("q3", "d", 1)])
    assert rotate_judgements(qrels).rows() == [
        ("q1", "c", 0),
        ("q1", "d", 1),
        ("q2", "a", 1),
        ("q3", "b", 2),
    ]
