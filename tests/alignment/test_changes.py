"""Queries and judgements over a pair of snapshots; many documents; bytes."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import builder.alignment.texts
from builder.text.keys import doc_id, key64, query_id
from schemas import QrelChanges, QueryChanges

Align = Callable[..., tuple[Any, dict[str, pl.DataFrame]]]


def query(text: str, impressions: int) -> dict[str, Any]:
    return {
        "query_id": query_id(key64(text)),
        "text": text,
        "topics": ["t"],
        "split": "test",
        "impressions": impressions,
        "users": 1,
        "clicks": 0,
        "judged": 1,
        "relevant": 0,
    }


def qrel(text: str, document: str, grade: int, examinations: int) -> dict[str, Any]:
    counts = {"impressions": examinations, "clicks": 0, "last_clicks": 0, "source": "click"}
    return {
        "query_id": query_id(key64(text)),
        "doc_id": doc_id(key64(document)),
        "grade": grade,
        "examinations": examinations,
        **counts,
    }


def test_queries_are_new_gone_or_kept(align: Align) -> None:
    _, tables = align(
        [], [], queries=([query("eau", 5), query("loi", 7)], [query("loi", 9), query("pain", 6)])
    )
    changes = tables["query_changes"]
    QueryChanges.validate(changes)
    columns = ("query_id", "status", "impressions_from", "impressions_to")
    assert sorted(changes.select(columns).iter_rows(), key=str) == sorted(
        [
            (query_id(key64("eau")), "gone", 5, None),
            (query_id(key64("loi")), "kept", 7, 9),
            (query_id(key64("pain")), "new", None, 6),
        ],
        key=str,
    )
    assert changes["query_id"].is_sorted()
    assert set(changes.select("from_snapshot", "to_snapshot").rows()) == {("2022-06", "2022-09")}


def test_judgements_on_either_side(align: Align) -> None:
    _, tables = align(
        [],
        [],
        qrels=(
            [qrel("eau", "a", 2, 10), qrel("eau", "b", 0, 4)],
            [qrel("eau", "a", 1, 12), qrel("eau", "c", 1, 3)],
        ),
    )
    changes = tables["qrel_changes"]
    QrelChanges.validate(changes)
    assert set(changes.select("from_snapshot", "to_snapshot").rows()) == {("2022-06", "2022-09")}
    columns = ("doc_id", "grade_from", "grade_to", "examinations_from", "examinations_to")
    assert set(changes.select(columns).iter_rows()) == {
        (doc_id(key64("a")), 2, 1, 10, 12),
        (doc_id(key64("b")), 0, None, 4, None),
        (doc_id(key64("c")), None, 1, None, 3),
    }


def test_judgements_are_sorted_by_query_and_document(align: Align) -> None:
    pairs = [(text, document) for text in ("eau", "loi", "mer") for document in "abc"]
    _, tables = align(
        [],
        [],
        qrels=(
            [qrel(*pair, 1, 2) for pair in reversed(pairs[:5])],
            [qrel(*pair, 1, 2) for pair in pairs[3:]],
        ),
    )
    rows = tables["qrel_changes"].select("query_id", "doc_id").rows()
    assert rows == sorted((query_id(key64(q)), doc_id(key64(d))) for q, d in pairs)
    grades = tables["qrel_changes"].select("grade_from", "grade_to").rows()
    assert sorted(grades, key=str) == [(1, 1)] * 2 + [(1, None)] * 3 + [(None, 1)] * 4


def many_pages(seed: int, count: int = 300) -> list[tuple[str, str, str]]:
    """Pages over many hosts; of any two seeds most are the same, some edited, some moved."""
    words = ["eau", "pain", "loi", "ville", "mer", "roue", "vent", "sel", "neige", "pierre"]
    rows = []
    for number in range(count):
        same, own = random.Random(number), random.Random((seed + 1) * 1000 + number)
        text = [same.choice(words) + str(same.randrange(50)) for _ in range(60)]
        fate = own.random()
        if fate < 0.1:
            continue
        if fate < 0.3:
            text[own.randrange(60)] = f"nouveau{seed}"
        path = f"moved{seed}/{number}" if 0.3 < fate < 0.4 else str(number)
        rows.append((f"https://site{number % 7}.fr/{path}", f"Titre {number}", " ".join(text)))
    return rows


def test_size_of_batches_does_not_matter(align: Align, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = many_pages(1), many_pages(2)
    _, whole = align(before, after)
    for name in ("builder.alignment.change_degree", "builder.alignment.moved_candidates"):
        monkeypatch.setattr(
            f"{name}.split_by_size",
            lambda rows, size, _=0: builder.alignment.texts.split_by_size(rows, size, 500),
        )
    _, pieces = align(before, after)
    assert whole["document_changes"].equals(pieces["document_changes"])
    matched = whole["document_changes"]["matched_by"].drop_nulls()
    assert set(matched) == {"moved"}
    assert len(matched) > 40


def test_same_input_same_bytes(align: Align, tmp_path: Path) -> None:
    align(many_pages(1), many_pages(2))
    align(many_pages(1), many_pages(2))
    for name in ("document_changes", "query_changes", "qrel_changes", "rejects"):
        first, second = (tmp_path / f"out-{run}" / f"{name}.parquet" for run in (1, 2))
        assert first.read_bytes() == second.read_bytes()


def test_degrees_equal_those_of_python_sets(align: Align) -> None:
    before, after = many_pages(1), many_pages(2)
    changes = align(before, after)[1]["document_changes"]
    texts = [
        {url: f"{title}\n{text}".lower().split() for url, title, text in pages}
        for pages in (before, after)
    ]
    by_id = {doc_id(key64(url)): url for url in texts[0]}
    updated = changes.filter(pl.col("status") == "updated")
    assert updated.height > 30
    for row in updated.iter_rows(named=True):
        a, b = (side[by_id[row["doc_id"]]] for side in texts)
        assert row["dice"] == 2 * len({*a} & {*b}) / (len({*a}) + len({*b}))
        first, second = ({tuple(t[i : i + 5]) for i in range(len(t) - 4)} for t in (a, b))
        assert row["shingle_jaccard"] == len(first & second) / len(first | second)
