"""Texts in key order: every page comes once, with its own text, whatever the memory."""

from pathlib import Path

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.documents import key_order
from builder.documents.key_order import drop_texts, read_pages_in_key_order

KEYS = st.lists(
    st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 2**12), st.just(2**63)),
    max_size=60,
    unique=True,
)
TYPES = {"doc": pl.UInt64(), "number": pl.UInt64(), "title": pl.String(), "text": pl.String()}


def crawl(keys: list[int]) -> pl.DataFrame:
    """Pages with these keys; the longest text is that of the key that comes last."""
    rows = [(key, n, f"title {n}", "x" * (n + 1)) for n, key in enumerate(keys)]
    return pl.DataFrame(rows, schema=TYPES, orient="row")


def connect(pages: pl.DataFrame, selected: pl.DataFrame) -> duckdb.DuckDBPyConnection:
    """A connection with the texts of all pages, and the selected pages without them."""
    connection = duckdb.connect(config={"threads": 2})
    connection.register("fetches", pages.select("number", "title", "text").to_arrow())
    connection.register("pages", drop_texts(selected).to_arrow())
    return connection


@pytest.mark.parametrize("memory", [1, 200, 10**9])
@settings(max_examples=25, deadline=None)
@given(keys=KEYS, every=st.integers(1, 3))
def test_every_page_once_in_key_order(memory: int, keys: list[int], every: int) -> None:
    pages = crawl(keys)
    selected = pages.gather_every(every).with_columns(note=pl.col("number") * 2)
    with connect(pages, selected) as connection:
        found = list(read_pages_in_key_order(connection, memory))
    columns = ["doc", "number", "note", "text_bytes", "title", "text"]
    expected = selected.sort("doc").with_columns(text_bytes=pl.col("text").str.len_bytes())
    assert [frame.columns for frame in found] == [columns] * len(found)
    assert pl.concat([expected.select(columns).clear(), *found]).equals(expected.select(columns))


def test_a_pass_has_no_more_texts_than_memory_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_order, "ROWS_PER_BATCH", 5)
    pages = crawl([n * 977 % 128 << 57 for n in range(100)])
    sizes = {}
    with connect(pages, pages) as connection:
        for batch in read_pages_in_key_order(connection, 600 * key_order.MEMORY_SHARE):
            assert batch.height <= 5
            keys = connection.cursor().sql("SELECT doc FROM key_range ORDER BY doc").pl()["doc"]
            sizes[keys[0]] = int(
                pages.filter(pl.col("doc").is_in(keys.implode()))["text"].str.len_bytes().sum()
            )
    total = sum(range(1, 101))
    assert sum(sizes.values()) == total
    assert len(sizes) == -(-total // 600)
    assert max(sizes.values()) < 600 + 100


def test_texts_are_replaced_by_their_size_in_bytes() -> None:
    pages = pl.DataFrame({"doc": [1, 2], "title": ["titre", ""], "text": ["d\u00e9j\u00e0", ""]})
    assert drop_texts(pages).rows() == [(1, 6), (2, 0)]


def test_no_page_at_all(tmp_path: Path) -> None:
    with connect(crawl([7]), crawl([])) as connection:
        assert list(read_pages_in_key_order(connection, 1)) == []
