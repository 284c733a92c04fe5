"""Sums by keys, in the order of keys, outside memory too."""

import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.clicks import runs
from builder.clicks.runs import merge, ranges, write_run
from builder.clicks.sums import add_up, add_up_rows
from builder.sorting import order_of
from tests.clicks.selections import HIGH

KEYS = ("one", "other")


def test_a_range_is_summed_in_tables_of_bounded_size(tmp_path: Path) -> None:
    keys = np.repeat(np.array([1, 2, HIGH], dtype=np.uint64), 50)
    rows = pa.table({"one": keys, "other": keys, "value": np.ones(150, dtype=np.int64)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "BATCH_SIZE", 20)
        written = [write_run(rows, tmp_path / name, np.full(150, 2)) for name in "ab"]
    sizes: list[int] = []

    def summed(table: pa.Table) -> pl.DataFrame:
        sizes.append(len(table))
        return _sums(table)

    assert ranges(written, 250) == [(0, 1), (1, 256)]
    low, high = (merge(written, KEYS, summed, extent, 250) for extent in ranges(written, 250))
    assert list(low.iter_rows()) == [(1, 1, 100), (2, 2, 100)]
    assert list(high.iter_rows()) == [(HIGH, HIGH, 100)]
    assert sizes == [120, 80, 100]


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0, 1, HIGH]),
            st.sampled_from([0, 1, 2, HIGH, HIGH + 1]),
            st.integers(0, 9),
        )
    )
)
def test_sums_are_in_the_order_of_both_keys(rows: list[tuple[int, int, int]]) -> None:
    expected: Counter[tuple[int, int]] = Counter()
    for one, other, value in rows:
        expected[one, other] += value
    keys = {
        name: np.array([row[place] for row in rows], dtype=np.uint64)
        for place, name in enumerate(("one", "other"))
    }
    values = np.array([row[2] for row in rows], dtype=np.int64)
    found = add_up(keys, {"value": values, "double": 2 * values, "large": values * 2**28})
    assert list(found.iter_rows()) == [
        (*pair, expected[pair], 2 * expected[pair], expected[pair] * 2**28 % 2**32)
        for pair in sorted(expected)
    ]


def test_sums_by_one_key() -> None:
    keys = np.array([HIGH, 3, HIGH + 1, 3, 0], dtype=np.uint64)
    found = add_up({"key": keys}, {"value": np.array([1, 2, 3, 4, 5])})
    assert list(found.iter_rows()) == [(0, 5), (3, 6), (HIGH, 1), (HIGH + 1, 3)]


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0, 1, 2, 7, 8, HIGH, HIGH + 1, 2**64 - 1]),
            st.integers(0, 2**64 - 1) | st.integers(0, 3),
        ),
        max_size=40,
    )
)
def test_numbers_that_differ_in_their_last_bits_alone_are_in_order(
    rows: list[tuple[int, int]],
) -> None:
    numbers = np.array([row[0] for row in rows], dtype=np.uint64)
    then = np.array([row[1] for row in rows], dtype=np.uint64)
    assert order_of(numbers).tolist() == sorted(range(len(rows)), key=lambda n: rows[n][0])
    assert order_of(numbers, then).tolist() == sorted(range(len(rows)), key=rows.__getitem__)


def _sums(rows: pa.Table) -> pl.DataFrame:
    return add_up_rows(pl.DataFrame(rows), KEYS)


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=20), max_size=4), st.integers(1, 30))
def test_runs_are_merged_range_by_range(logged: list[list[int]], most: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        written = []
        for number, keys in enumerate(logged):
            unique = np.array(sorted(set(keys)), dtype=np.uint64)
            counts = np.ones(len(unique), dtype=np.int64)
            rows = pa.table({"one": unique, "other": unique, "value": counts})
            written.append(write_run(rows, Path(name) / str(number), counts * 2))
        found = ranges(written, most)
        parts = [merge(written, KEYS, _sums, extent, most) for extent in found]
    got = [row for part in parts for row in part.iter_rows()]
    expected = Counter(key for keys in logged for key in set(keys))
    assert got == [(key, key, expected[key]) for key in sorted(expected)]
    assert not found or (found[0][0] == 0 and found[-1][1] == 256)
