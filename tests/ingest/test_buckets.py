"""Ranges of keys: every row comes back once, in ranges that ascend, whatever the memory."""

from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.ingest import buckets as buckets_module
from builder.ingest.buckets import RangePartitions

KEYS = st.lists(
    st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 2**12), st.just(2**63)), max_size=60
)


@pytest.mark.parametrize("memory", [1, 200, 10**6])
@settings(max_examples=25, deadline=None)
@given(keys=KEYS, size=st.integers(1, 20))
def test_ranges_ascend(
    tmp_path_factory: pytest.TempPathFactory, memory: int, keys: list[int], size: int
) -> None:
    buckets = RangePartitions(tmp_path_factory.mktemp("scratch"), memory)
    rows = pl.DataFrame({"key": keys, "row": range(len(keys))}, {"key": pl.UInt64, "row": pl.Int64})
    for frame in rows.iter_slices(size):
        buckets.add(frame)
    ranges = list(buckets)
    found = pl.concat(ranges) if ranges else rows.clear()
    assert found.sort("row").equals(rows)
    for before, after in pairwise(ranges):
        assert max(before["key"]) < min(after["key"])


def test_what_was_spilled_is_removed(tmp_path: Path) -> None:
    buckets = RangePartitions(tmp_path, 100)
    for start in range(0, 300, 100):
        keys = [n * 2**54 for n in range(start, start + 100)]
        buckets.add(pl.DataFrame({"key": keys}, {"key": pl.UInt64}))
    assert list(tmp_path.rglob("*.arrow"))
    assert sum(frame.height for frame in buckets) == 300
    assert not list(tmp_path.rglob("*.arrow"))


def test_what_cannot_be_spilled_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(buckets_module, "write_spill", full)
    buckets = RangePartitions(tmp_path, 100)
    buckets.add(pl.DataFrame({"key": range(100)}, {"key": pl.UInt64}))
    with pytest.raises(OSError, match="No space left"):
        next(buckets.ranges())


def test_ranges_may_be_read_once_all_are_told(tmp_path: Path) -> None:
    buckets = RangePartitions(tmp_path, 100)
    keys = [n * 2**55 for n in range(512)]
    for start in range(0, 512, 64):
        buckets.add(pl.DataFrame({"key": keys[start : start + 64]}, {"key": pl.UInt64}))
    loads = list(buckets.ranges())
    assert len(loads) > 1
    assert sorted(pl.concat(load() for load in loads)["key"]) == keys
