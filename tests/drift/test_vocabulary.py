"""Vocabulary of two snapshots against counters."""

import math
import re
from collections import Counter
from pathlib import Path

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import builder.drift.words
from builder.drift.vocabulary import (
    IN_ALL,
    IN_CORE,
    compare_words,
    join_word_counts,
    vocabulary_statistics,
)
from builder.drift.words import read_row_groups, write_word_counts
from builder.io.tables import Table, write_frame
from schemas import Documents, WordCounts
from tests.drift.worlds import frame, page


def counted(folder: Path, name: str, texts: list[str], core: list[int]) -> Path:
    rows = [page(f"https://site.fr/{n}", "Titre", text) for n, text in enumerate(texts)]
    path = folder / f"{name}-documents.parquet"
    write_frame(frame(rows, Documents), path, Documents)
    ids = pl.LazyFrame(
        {"doc_id": sorted(rows[n]["doc_id"] for n in core)}, schema={"doc_id": pl.String}
    )
    target = folder / f"{name}.parquet"
    with duckdb.connect() as connection:
        write_word_counts(connection, read_row_groups(Table((path,), Documents)), ids, target, 2)
    return target


def beside(folder: Path, *files: Path) -> Path:
    counts = {f"2022-0{n + 1}": Table((path,), WordCounts) for n, path in enumerate(files)}
    with duckdb.connect() as connection:
        join_word_counts(connection, counts, (), folder / "beside.parquet")
    return folder / "beside.parquet"


TEXTS = (["Le pain, le sel. 42", "l'eau du puits"], ["Le pain frais", "l'eau du puits", "neige !"])


def python_counts(texts: list[str]) -> Counter[str]:
    return Counter(re.findall(r"\w+", " ".join(f"titre {text}" for text in texts).lower()))


def test_words_are_counted(tmp_path: Path) -> None:
    rows = pl.read_parquet(counted(tmp_path, "a", TEXTS[0], core=[1]))
    assert dict(rows.select("token", "n").iter_rows()) == python_counts(TEXTS[0])
    core = dict(rows.filter(pl.col("core") > 0).select("token", "core").iter_rows())
    assert core == python_counts(TEXTS[0][1:])
    assert rows["token"].is_sorted()


def test_measures_equal_plain_python(tmp_path: Path) -> None:
    files = [counted(tmp_path, name, t, [0]) for name, t in zip("ab", TEXTS, strict=True)]
    first, second = (python_counts(texts) for texts in TEXTS)
    together = beside(tmp_path, *files)
    found = compare_words(together, 0, 1, IN_ALL, list_words=True)
    core = compare_words(together, 0, 1, IN_CORE, list_words=False)
    assert found["types_common"] == len(first.keys() & second.keys())
    assert found["jaccard"] == len(first.keys() & second.keys()) / len(first.keys() | second.keys())
    unknown = sum(n for word, n in second.items() if word not in first)
    assert found["oov_share"] == unknown / second.total()
    assert found["js_bits"] == pytest.approx(divergence(first, second), abs=1e-9)
    assert {row["word"] for row in found["rising"]} == {"frais", "neige", "titre"}
    assert found["rising"][0] == {"word": "frais", "n_from": 0, "n_to": 1}
    assert [row["word"] for row in found["falling"]] == ["sel", "le"]
    assert (core["tokens_from"], core["tokens_to"]) == (6, 4)
    assert "rising" not in core


def test_words_that_rise_are_in_any_letters(tmp_path: Path) -> None:
    files = [
        counted(tmp_path, name, [text], []) for name, text in (("a", "x"), ("b", "पानी 42 a1"))
    ]
    found = compare_words(beside(tmp_path, *files), 0, 1, IN_ALL, list_words=True)
    assert [row["word"] for row in found["rising"]] == ["पानी"]


def divergence(first: Counter[str], second: Counter[str]) -> float:
    total = 0.0
    for word in first.keys() | second.keys():
        p, q = first[word] / first.total(), second[word] / second.total()
        m = (p + q) / 2
        total += sum(x / 2 * math.log2(x / m) for x in (p, q) if x)
    return total


def test_pieces_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"mot{n % 7} mot{n % 3} fin" for n in range(50)]
    whole = counted(tmp_path, "whole", texts, [])
    monkeypatch.setattr(builder.drift.words, "ROWS_BEFORE_FLUSH", 1)
    pieces = counted(tmp_path, "pieces", texts, [])
    assert pl.read_parquet(whole).equals(pl.read_parquet(pieces))


def test_no_document(tmp_path: Path) -> None:
    empty, full = counted(tmp_path, "a", [], []), counted(tmp_path, "b", ["un"], [])
    found = compare_words(beside(tmp_path, empty, full), 0, 1, IN_ALL, list_words=True)
    assert found["js_bits"] is None
    assert found["jaccard"] == 0.0
    assert found["oov_share"] == 1.0
    assert found["oov_share_back"] is None


@given(st.dictionaries(st.tuples(st.integers(0, 5), st.integers(0, 5)), st.integers(1, 9)))
def test_shares_are_shares(classes: dict[tuple[int, int], int]) -> None:
    found = vocabulary_statistics({pair: n for pair, n in classes.items() if any(pair)})
    for name in ("jaccard", "js_bits", "oov_share", "oov_share_back"):
        assert found[name] is None or 0 <= found[name] <= 1
