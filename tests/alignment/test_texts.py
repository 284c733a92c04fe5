"""How texts are read in batches."""

from collections.abc import Callable

import polars as pl
import pytest

from builder.alignment import change_degree
from builder.alignment.change_degree import compare_texts
from builder.alignment.texts import read_texts, split_by_size
from builder.io.tables import Table
from schemas import Documents, TableSchema
from tests.alignment.conftest import frame


def test_batches_end_where_the_sum_of_sizes_passes_a_multiple_of_the_limit() -> None:
    """Sums of 3, 7, 12 and 14 lie in the first, second and third multiple of 6."""
    rows = pl.DataFrame({"size": [3, 4, 5, 2]})
    batches = [batch["size"].to_list() for batch in split_by_size(rows, "size", limit=6)]
    assert batches == [[3], [4], [5, 2]]
    assert list(split_by_size(rows.clear(), "size")) == []


def test_texts_of_some_documents_are_read_with_their_titles(
    stored: Callable[[pl.DataFrame, type[TableSchema]], Table],
) -> None:
    """The ids of the others lie between, below and above them."""
    rows = [{"doc_id": f"d{n:016x}", "title": f"T{n}", "text": f"texte {n}"} for n in range(6)]
    table = stored(frame(rows, Documents), Documents)
    ids = pl.Series([rows[1]["doc_id"], rows[4]["doc_id"], rows[2]["doc_id"]])
    assert read_texts(table, ids).rows() == [
        (rows[n]["doc_id"], f"T{n}\ntexte {n}") for n in (1, 2, 4)
    ]


def test_texts_of_two_versions_are_compared(
    stored: Callable[[pl.DataFrame, type[TableSchema]], Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words and pairs of words; the size of a batch does not matter."""
    versions = (("a b c d", "a b c e"), ("x", "x"), ("un deux", "deux un"))
    before, after = (
        stored(
            frame(
                [
                    {"doc_id": f"d{n:016x}", "title": "", "text": texts[side]}
                    for n, texts in enumerate(versions)
                ],
                Documents,
            ),
            Documents,
        )
        for side in (0, 1)
    )
    ids = pl.Series([f"d{n:016x}" for n in range(3)])
    expected = [(ids[0], 0.75, 0.5), (ids[1], 1.0, 1.0), (ids[2], 1.0, 0.0)]
    for limit in (change_degree.CACHE_BYTES, 1):
        monkeypatch.setattr(change_degree, "CACHE_BYTES", limit)
        assert compare_texts(before, after, ids, 2).rows() == expected
