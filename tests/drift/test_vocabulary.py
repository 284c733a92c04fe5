"""Vocabulary of two snapshots against counters."""

import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

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
from schemas import Documents, LostWords, WordCounts
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


def listed(tmp_path: Path, rows: list[tuple[str, int, int]]) -> dict[str, Any]:
    """The comparison of words from their counts before and after."""
    path = tmp_path / "joined.parquet"
    schema = {"token": pl.String, "all_0": pl.Int64, "all_1": pl.Int64}
    counts = pl.DataFrame(rows, schema=schema, orient="row")
    is_word = pl.col("token").str.contains("^[a-z]{2,}$")
    counts.with_columns(is_word=is_word).write_parquet(path)
    return compare_words(path, 0, 1, IN_ALL, list_words=True)


def test_the_twenty_words_that_rose_most_are_listed(tmp_path: Path) -> None:
    """Tokens that are no words are not listed; of words with equal counts, the first are."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    rows = [("base", 1000, 1000), ("fall", 100, 20), ("gone", 40, 0), ("half", 12, 6)]
    rows += [("42", 0, 90), ("first", 0, 80), ("second", 10, 60)]
    rows += [(f"m{letter}", 0, 3) for letter in reversed(letters)]
    rows += [("never", 0, 0)]
    found = listed(tmp_path, rows)
    assert found["rising"] == [
        {"word": "first", "n_from": 0, "n_to": 80},
        {"word": "second", "n_from": 10, "n_to": 60},
        *({"word": f"m{letter}", "n_from": 0, "n_to": 3} for letter in letters[:18]),
    ]
    assert [row["word"] for row in found["falling"]] == ["fall", "gone", "base", "half"]
    assert (found["types_from"], found["types_to"], found["types_common"]) == (5, 32, 4)
    assert (found["tokens_from"], found["tokens_to"]) == (1162, 1334)
    assert (found["oov_share"], found["oov_share_back"]) == (248 / 1334, 40 / 1162)


def test_words_that_keep_their_share_neither_rise_nor_fall(tmp_path: Path) -> None:
    found = listed(tmp_path, [("one", 1, 2), ("two", 2, 4), ("ten", 10, 20)])
    assert (found["rising"], found["falling"], found["js_bits"]) == ([], [], 0.0)


def test_twenty_words_of_the_groups_that_rose_most_are_enough(tmp_path: Path) -> None:
    """20 words rise from 0 to 9: those that rise to 8 are not listed, but of 19 they were."""
    names = [f"{a}{b}" for a in "xy" for b in "abcdefghij"]
    less = [("za", 0, 8), ("zb", 0, 8)]
    rows = [("base", 100, 100), *((name, 0, 9) for name in names)]
    assert [row["word"] for row in listed(tmp_path, [*rows, *less])["rising"]] == names
    fewer = listed(tmp_path, [*rows[:-1], *less])["rising"]
    assert [row["word"] for row in fewer] == [*names[:-1], "za"]


def test_statistics_of_two_vocabularies() -> None:
    """Three words twice and twice, two words 4 times and never, one never and 5 times."""
    assert vocabulary_statistics({(2, 2): 3, (4, 0): 2, (0, 5): 1}) == {
        "types_from": 5,
        "types_to": 4,
        "types_common": 3,
        "tokens_from": 14,
        "tokens_to": 11,
        "jaccard": 0.5,
        "js_bits": pytest.approx(0.51806, abs=1e-5),
        "oov_share": 5 / 11,
        "oov_share_back": 8 / 14,
    }


def test_words_of_documents_that_left_are_subtracted_from_the_core(tmp_path: Path) -> None:
    counts = {}
    for name, rows in (
        ("06", [("eau", 5, 5), ("loi", 2, 2)]),
        ("07", [("eau", 4, 3), ("mer", 1, 0)]),
    ):
        path = tmp_path / f"{name}.parquet"
        write_frame(pl.DataFrame(rows, WordCounts.dtypes(), orient="row"), path, WordCounts)
        counts[name] = Table((path,), WordCounts)
    path = tmp_path / "lost.parquet"
    lost = pl.DataFrame([("eau", 2, "06"), ("eau", 1, "07")], LostWords.dtypes(), orient="row")
    write_frame(lost, path, LostWords)
    with duckdb.connect() as connection:
        target = tmp_path / "joined.parquet"
        join_word_counts(connection, counts, [Table((path,), LostWords)], target)
    columns = ("token", "is_word", "all_0", "core_0", "all_1", "core_1")
    assert sorted(pl.read_parquet(target).select(columns).iter_rows()) == [
        ("eau", True, 5, 3, 4, 2),
        ("loi", True, 2, 2, 0, 0),
        ("mer", True, 0, 0, 1, 0),
    ]


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
