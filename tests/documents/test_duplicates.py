"""Pages with the same text, or nearly the same, and what becomes of them."""

import random
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from builder.documents.duplicates import _components
from builder.documents.sketch import BINS, similarity, sketch
from builder.keys import doc_id, key64
from tests.documents.snapshots import gather_documents

WORDS = [f"mot{n}" for n in range(5000)]
DRAW = random.Random(7)


def text(words: int = 200) -> list[str]:
    return [DRAW.choice(WORDS) for _ in range(words)]


def edited(words: list[str], places: list[int]) -> list[str]:
    return [f"autre{n}" if n in places else word for n, word in enumerate(words)]


BASE, OTHER = text(), text()
URL = "https://a.example/{}".format
TEXTS = {
    URL("same1"): " ".join(BASE),
    URL("same2"): " ".join(BASE),
    URL("near"): " ".join(edited(BASE, [40])),
    URL("far"): " ".join(edited(BASE, list(range(0, 200, 8)))),
    URL("alone"): " ".join(OTHER),
    URL("short1"): "oui",
    URL("short2"): "oui",
    URL("short3"): "non",
}


def ids(*names: str) -> list[str]:
    return [doc_id(key64(URL(name))) for name in names]


def groups(documents: pl.DataFrame, column: str) -> set[tuple[str, ...]]:
    """Members of each group, the first in front."""
    rows = documents.filter(pl.col(column).is_not_null()).select("doc_id", column).sort("doc_id")
    found: dict[str, list[str]] = {}
    for member, first in rows.iter_rows():
        found.setdefault(first, [first]).extend([member] if member != first else [])
    return {tuple(members) for members in found.values()}


def test_groups_are_flagged(tmp_path: Path) -> None:
    documents, ledger = gather_documents(tmp_path, TEXTS)
    assert documents.height == ledger.rows_out == 8
    exact = {tuple(sorted(ids("same1", "same2"))), tuple(sorted(ids("short1", "short2")))}
    assert groups(documents, "duplicate_group") == exact
    assert groups(documents, "near_duplicate_group") == {
        tuple(sorted(ids("same1", "same2", "near")))
    }


@pytest.mark.parametrize(
    ("policies", "kept", "rejected"),
    [
        (("keep", "keep"), 8, {}),
        (("keep_first", "keep"), 6, {"duplicate": 2}),
        (("keep_first", "keep_first"), 5, {"duplicate": 2, "near_duplicate": 1}),
        (("drop", "off"), 4, {"duplicate": 4}),
        (("drop", "drop"), 3, {"duplicate": 4, "near_duplicate": 1}),
        (("keep", "drop"), 5, {"near_duplicate": 3}),
    ],
)
def test_policies(
    tmp_path: Path, policies: tuple[str, str], kept: int, rejected: dict[str, int]
) -> None:
    documents, ledger = gather_documents(
        tmp_path, TEXTS, duplicates=policies[0], near_duplicates=policies[1]
    )
    assert documents.height == kept
    assert {reason: n for reason, n in ledger.rejected.items() if n} == rejected


def test_the_page_that_was_shown_stays(tmp_path: Path) -> None:
    for number, name in enumerate(("same1", "same2", "near")):
        documents, _ = gather_documents(
            tmp_path / str(number),
            TEXTS,
            shown=[URL(name)],
            near_duplicates="keep_first",
            duplicates="keep_first",
        )
        left = set(documents["doc_id"]) & set(ids("same1", "same2", "near"))
        assert left >= set(ids(name))
        assert documents.filter("shown")["near_duplicate_group"].to_list() == ids(name)


def test_threads_change_nothing(tmp_path: Path) -> None:
    found = [gather_documents(tmp_path / str(n), TEXTS, threads=n)[0] for n in (1, 3)]
    assert found[0].equals(found[1])


def test_where_they_are_not_looked_for_there_are_none(tmp_path: Path) -> None:
    documents, _ = gather_documents(tmp_path, TEXTS, near_duplicates="off")
    assert documents["near_duplicate_group"].null_count() == 8


def test_a_snapshot_without_pages(tmp_path: Path) -> None:
    documents, ledger = gather_documents(tmp_path, {})
    assert (documents.height, ledger.rows_in) == (0, 0)


def jaccard(left: str, right: str, shingle: int = 5) -> float:
    sets = []
    for words in (left.split(), right.split()):
        sets.append({tuple(words[i : i + shingle]) for i in range(len(words) - shingle + 1)})
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def test_sketches_estimate_jaccard() -> None:
    base = text(1000)
    texts = [" ".join(edited(base, list(range(0, 1000, step)))) for step in (1000, 100, 50, 20, 9)]
    signatures = sketch(pl.Series(texts), 5).signatures
    for other, row in zip(texts, signatures, strict=True):
        estimate = similarity(signatures[:1], row[np.newaxis])[0]
        assert estimate == pytest.approx(jaccard(texts[0], other), abs=0.16)


def mixed(value: int) -> int:
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB % 2**64
    return value ^ (value >> 31)


def by_hand(words: str) -> list[int]:
    """The signature of a text, one number at a time."""
    tokens = [
        mixed(sum(b * pow(0x9E3779B97F4A7C15, i + 1, 2**64) for i, b in enumerate(data)) % 2**64)
        for data in (f"{word} ".encode() for word in words.split())
    ]
    bins = [2**32 - 1] * BINS
    for start in range(len(tokens) - 4):
        value = 0
        for token in tokens[start : start + 5]:
            value = (value * 0xD1B54A32D192ED03 + token) % 2**64
        bins[mixed(value) >> 58] = min(bins[mixed(value) >> 58], mixed(value) % 2**32)
    return bins


def test_sketches_depend_on_the_text_alone() -> None:
    texts = pl.Series(["a b c d e f", "", "x", "a b c d e f", " ".join(text(90_000)), "é ü"])
    whole = sketch(texts, 5)
    for place in range(len(texts)):
        single = sketch(texts[place : place + 1], 5)
        assert np.array_equal(single.signatures[0], whole.signatures[place])
    assert whole.filled.any(axis=1).tolist() == [True, False, False, True, True, False]
    assert sketch(texts.clear(), 5).signatures.shape == (0, BINS)
    assert whole.signatures[0].tolist() == by_hand("a b c d e f")


def test_connected_pairs_are_one_component() -> None:
    pairs = np.array([[1, 9], [9, 4], [2, 3], [7, 4], [7, 8], [30, 20]])
    found = dict(_components(pairs).iter_rows())
    assert found == {1: 1, 9: 1, 4: 1, 7: 1, 8: 1, 2: 2, 3: 2, 20: 20, 30: 20}
    chain = np.array([[n, n + 1] for n in range(500)])
    assert _components(chain)["component"].unique().to_list() == [0]
    assert _components(np.zeros((0, 2), dtype=np.int64)).height == 0
