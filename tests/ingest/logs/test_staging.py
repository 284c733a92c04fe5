"""The table of impressions in parts: they depend on the impressions alone."""

import tempfile
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import numpy as np
import polars as pl
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from builder.ingest.logs import staging as module
from builder.ingest.logs.keys import KEYED_COLUMNS
from builder.ingest.logs.staging import StagedLog
from tests.ingest.logs.log_files import ingest, shown

PART_ROWS = 5


def keyed(start: int, stop: int) -> pa.Table:
    """Impressions, each with its number for a query."""
    count = stop - start
    numbers = pa.array(range(start, stop), pa.uint64())
    values = {
        "user": pa.nulls(count, pa.uint64()),
        "query": numbers,
        "surface": numbers,
        "results": pa.array([[number] for number in range(start, stop)], pa.list_(pa.uint64())),
        "clicks": pa.array([[]] * count, pa.list_(pa.uint16())),
        "seconds": pa.array([0] * count, pa.int64()),
        "record": numbers,
    }
    return pa.table(values, schema=KEYED_COLUMNS)


def written(count: int, cuts: list[int], dropped: list[int], threads: int) -> list[bytes]:
    """The parts of a table of impressions that came in pieces."""
    with tempfile.TemporaryDirectory() as name, patch.object(module, "PART_ROWS", PART_ROWS):
        folder = Path(name)
        with StagedLog(folder) as staging:
            for start, stop in pairwise([0, *sorted(min(cut, count) for cut in cuts), count]):
                staging.add(keyed(start, stop), 0)
        kept = staging.write_impressions(folder / "out", np.array(dropped, np.uint64), threads)
        parts = sorted((folder / "out").iterdir())
        assert [part.name for part in parts] == [f"part-{n:05d}.parquet" for n in range(len(parts))]
        tables = [pl.read_parquet(part) for part in parts]
        assert kept == sum(table.height for table in tables)
        ranges = [table["impression"] // PART_ROWS for table in tables]
        assert all((indices == part).all() for part, indices in enumerate(ranges))
        numbers = pl.concat(tables)["impression"].to_list()
        assert numbers == [number for number in range(count) if number not in dropped]
        assert pl.concat(tables)["query"].to_list() == numbers
        return [part.read_bytes() for part in parts]


@given(st.data(), st.integers(0, 40))
def test_parts_do_not_depend_on_batches_or_threads(data: st.DataObject, count: int) -> None:
    places = st.lists(st.integers(0, count), max_size=4)
    numbers = st.sets(st.integers(0, count - 1)) if count else st.just(set[int]())
    dropped = sorted(data.draw(numbers))
    one = written(count, data.draw(places), dropped, threads=1)
    assert one == written(count, data.draw(places), dropped, threads=2)
    assert len(one) == max(1, -(-count // PART_ROWS))


def test_impressions_of_an_unsorted_log_are_in_order_of_time(tmp_path: Path) -> None:
    """Equal times keep the order of the log."""
    files = {
        "server-1.jsonl": shown("u", "eau", 30, [1]) + shown("u", "loi", 30, [1]),
        "server-2.jsonl": shown("u", "eau", 10, [2]) * 2 + shown("v", "eau", 20, [3]),
    }
    ledger, impressions = ingest(tmp_path, files)
    assert ledger.rejected == {"repeated_impression": 1}
    assert impressions.select("impression", "clicks").rows() == [
        (0, [2]),
        (2, [3]),
        (3, [1]),
        (4, [1]),
    ]


def test_impressions_of_a_sorted_log_keep_its_order(tmp_path: Path) -> None:
    files = {"log.jsonl": shown("u", "eau", 10, [1]) + shown("v", "eau", 10, [2])}
    _, impressions = ingest(tmp_path, files)
    assert impressions.select("impression", "clicks").rows() == [(0, [1]), (1, [2])]


def test_impressions_and_clicks_are_counted_and_the_order_of_times_is_noted(tmp_path: Path) -> None:
    clicks = pa.array([[1], [], [2, 1]], pa.list_(pa.uint16()))
    place = KEYED_COLUMNS.get_field_index("clicks")
    with StagedLog(tmp_path) as staging:
        assert (staging.rows, staging.clicked, staging.is_sorted) == (0, 0, True)
        for times, is_sorted in (([1, 1, 2], True), ([2, 3, 4], True), ([3, 5, 6], False)):
            seconds = pa.array(times, pa.int64())
            batch = keyed(0, 3).set_column(place, "clicks", clicks)
            staging.add(
                batch.set_column(KEYED_COLUMNS.get_field_index("seconds"), "seconds", seconds), 7
            )
            assert staging.is_sorted is is_sorted
        staging.add(keyed(0, 0), 8)
        assert (staging.rows, staging.clicked, staging.is_sorted) == (9, 6, False)
    log = pl.read_parquet(staging.log)
    assert log["impression"].to_list() == list(range(9))
    assert log["file"].to_list() == [7] * 9
    assert log["seconds"].to_list() == [1, 1, 2, 2, 3, 4, 3, 5, 6]
    with StagedLog(tmp_path) as staging:
        for start in (0, 3):
            times = pa.array([start + 2, start + 1, start + 3], pa.int64())
            place = KEYED_COLUMNS.get_field_index("seconds")
            staging.add(keyed(0, 3).set_column(place, "seconds", times), 0)
            assert not staging.is_sorted
