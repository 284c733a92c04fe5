"""Columns with some of their values replaced."""

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from builder.text.replacement import replace_where

TEXT = st.none() | st.text(max_size=20)
SHORT, LONG = "https://a.fr", "https://a.fr/a-page"


@given(st.lists(st.tuples(TEXT, st.none() | st.booleans(), TEXT), min_size=1))
@example([(SHORT, True, LONG), (SHORT, True, LONG)])
@example([(SHORT, False, LONG), (SHORT, None, LONG)])
def test_as_replaced_one_by_one(rows: list[tuple[str | None, bool | None, str | None]]) -> None:
    values, where, others = (list(column) for column in zip(*rows, strict=True))
    given_ = pl.Series("name", values, dtype=pl.String)
    found = replace_where(
        given_,
        pl.Series(where, dtype=pl.Boolean),
        pl.Series([o for o, w in zip(others, where, strict=True) if w], dtype=pl.String),
    )
    assert found.to_list() == [o if w else v for v, w, o in rows]
    assert (found.name, found.dtype) == ("name", pl.String)
    assert given_.to_list() == values


def test_equal_texts_are_equal_in_groups() -> None:
    """They are not where `Series.scatter` puts long texts into a column of short ones."""
    values, others = pl.Series([SHORT] * 4), pl.Series([LONG] * 4)
    found = replace_where(values, pl.Series([True] * 4), others)
    frame = pl.DataFrame({"group": [1, 1, 2, 2], "text": found})
    assert frame.select(pl.col("text").n_unique().over("group"))["text"].to_list() == [1] * 4


def test_lists_and_numbers_and_none() -> None:
    lists = pl.Series([None, None], dtype=pl.List(pl.UInt32))
    where = pl.Series([False, True])
    assert replace_where(
        lists, where, lists.clear().extend(pl.Series([[1, 2]], dtype=lists.dtype))
    ).to_list() == [None, [1, 2]]
    assert replace_where(pl.Series([1, 2]), where, pl.Series([7])).to_list() == [1, 7]
    assert replace_where(lists.clear(), where.clear(), lists.clear()).to_list() == []
    with pytest.raises(ValueError, match="expected 1 replacement values, found 2"):
        replace_where(pl.Series([1, 2]), where, pl.Series([7, 8]))
