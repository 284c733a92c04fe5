"""Pages with the same text, or nearly the same, and what becomes of them."""

import random
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from builder.documents.duplicates import _connected_components
from builder.text.keys import doc_id, key64
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


def test_connected_pairs_are_one_component() -> None:
    pairs = np.array([[1, 9], [9, 4], [2, 3], [7, 4], [7, 8], [30, 20]])
    found = dict(_connected_components(pairs).iter_rows())
    assert found == {1: 1, 9: 1, 4: 1, 7: 1, 8: 1, 2: 2, 3: 2, 20: 20, 30: 20}
    chain = np.array([[n, n + 1] for n in range(500)])
    assert _connected_components(chain)["component"].unique().to_list() == [0]
    assert _connected_components(np.zeros((0, 2), dtype=np.int64)).height == 0
