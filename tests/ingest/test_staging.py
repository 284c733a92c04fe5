"""The table of impressions in parts: by their number alone, however they came and are written."""

import tempfile
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import numpy as np
import polars as pl
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from builder.ingest import staging as module
from builder.ingest.keying import KEYED
from builder.ingest.staging import Staging

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
    return pa.table(values, schema=KEYED)


def written(count: int, cuts: list[int], left_out: list[int], threads: int) -> list[bytes]:
    """The parts of a table of impressions that came in pieces."""
    with tempfile.TemporaryDirectory() as name, patch.object(module, "PART_ROWS", PART_ROWS):
        folder = Path(name)
        with Staging(folder) as staging:
            for start, stop in pairwise([0, *sorted(min(cut, count) for cut in cuts), count]):
                staging.add(keyed(start, stop), 0)
        kept = staging.write(folder / "out", np.array(left_out, np.uint64), threads)
        parts = sorted((folder / "out").iterdir())
        assert [part.name for part in parts] == [f"part-{n:05d}.parquet" for n in range(len(parts))]
        tables = [pl.read_parquet(part) for part in parts]
        assert kept == sum(table.height for table in tables)
        assert [table.height for table in tables[:-1]] == [PART_ROWS] * (len(tables) - 1)
        numbers = pl.concat(tables)["impression"].to_list()
        assert numbers == [number for number in range(count) if number not in left_out]
        assert pl.concat(tables)["query"].to_list() == numbers
        return [part.read_bytes() for part in parts]


@given(st.data(), st.integers(0, 40))
def test_parts_are_cut_by_the_number_of_those_that_stay(data: st.DataObject, count: int) -> None:
    places = st.lists(st.integers(0, count), max_size=4)
    numbers = st.sets(st.integers(0, count - 1)) if count else st.just(set[int]())
    left_out = sorted(data.draw(numbers))
    one = written(count, data.draw(places), left_out, threads=1)
    assert one == written(count, data.draw(places), left_out, threads=2)
    assert len(one) == max(1, -(-(count - len(left_out)) // PART_ROWS))


@given(st.data(), st.integers(0, 30))
def test_some_rows_are_found_by_their_numbers(data: st.DataObject, count: int) -> None:
    cuts = data.draw(st.lists(st.integers(0, count), max_size=4))
    numbers = sorted(
        data.draw(st.sets(st.integers(0, count - 1)) if count else st.just(set[int]()))
    )
    with tempfile.TemporaryDirectory() as name:
        with Staging(Path(name)) as staging:
            for file, (start, stop) in enumerate(pairwise([0, *sorted(cuts), count])):
                staging.add(keyed(start, stop), file)
        found = staging.rows(np.array(numbers, np.uint64), ["query", "file", "record"])
        everything = [row for batch in staging.batches(["record"]) for row in batch.to_pylist()]
    bounds = [0, *sorted(cuts), count]
    file_of = {n: f for f, (a, b) in enumerate(pairwise(bounds)) for n in range(a, b)}
    assert found.to_pylist() == [{"query": n, "file": file_of[n], "record": n} for n in numbers]
    assert everything == [{"record": n} for n in range(count)]
