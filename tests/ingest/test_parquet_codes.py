"""Parquet logs read with their texts as dictionaries: the same rows, bounded, whatever the file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builder.ingest import parquet_codes, parquet_rows
from builder.ingest.fields import rename
from builder.ingest.impression import make_impression
from builder.ingest.impressions import read_impressions
from builder.ingest.parquet_bounds import BombError
from builder.ingest.parquet_codes import coded_batches, unpacked_bytes
from builder.ingest.parquet_rows import coded_pieces, rows_of
from builder.ingest.rejects import RejectError
from builder.parameters import LogFields, LogParameters
from builder.sources import Interval, Source
from tests.ingest.test_columns import Found, as_rows, batches
from tests.thorough import examples

INTERVAL = Interval(0, 2_000_000_000)
GOOD = {"time": 5, "user": "u", "query": "eau", "results": ["x", "y"], "clicks": [2]}


def one_by_one(batch: pa.RecordBatch) -> Found:
    """What becomes of every row when it is looked at by itself."""
    found: Found = []
    for number, row in enumerate(rows_of(batch), 1):
        try:
            if isinstance(row, str):
                raise RejectError(row)
            record = rename(row, LogFields())
            found.append((number, tuple(make_impression(record, INTERVAL, LogParameters()))))
        except RejectError as reject:
            found.append((number, str(reject)))
    return found


def read(path: Path) -> Found:
    """What becomes of every row of a file."""
    pieces = read_impressions(Source(path, "log"), INTERVAL, LogParameters(), 2)
    return sorted((row for piece in pieces for row in as_rows(piece)), key=lambda row: row[0])


@settings(
    max_examples=examples(200),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(batches(), st.integers(1, 4), st.sampled_from([True, False, ["query"]]))
def test_files_are_read_as_their_rows_one_by_one(
    tmp_path: Path, batch: pa.RecordBatch, group: int, dictionary: Any
) -> None:
    path = tmp_path / "log.parquet"
    table = pa.Table.from_batches([batch]).append_column("more", pa.array(["z"] * len(batch)))
    pq.write_table(table, path, row_group_size=group, use_dictionary=dictionary)
    assert read(path) == one_by_one(pq.read_table(path).combine_chunks().to_batches()[0])


def _written(path: Path, rows: list[dict[str, Any]], **options: Any) -> Path:
    pq.write_table(pa.Table.from_pylist(rows), path, **options)
    return path


def test_texts_are_read_once_and_only_where_they_are_needed(tmp_path: Path) -> None:
    rows = [GOOD | {"more": "z" * 100, "query": f"eau {n % 3}"} for n in range(50)]
    path = _written(tmp_path / "log.parquet", rows, row_group_size=20)
    pieces = list(coded_pieces(path, LogParameters()))
    assert [first for first, _ in pieces] == [1, 21, 41]
    for _, batch in pieces:
        assert set(batch.schema.names) == GOOD.keys()
        assert len(batch["query"].dictionary) == 3
        assert pa.types.is_dictionary(batch["results"].type.value_type)


def test_a_dictionary_that_grows_too_large_for_its_file(tmp_path: Path) -> None:
    rows = [
        GOOD | {"results": [f"https://a.example/{n}/{k}" for k in range(5)]} for n in range(500)
    ]
    path = _written(tmp_path / "log.parquet", rows, dictionary_pagesize_limit=1000)
    found = read(path)
    assert [row[1][3] for row in found] == [row["results"] for row in rows]


def test_files_that_cannot_be_read_by_dictionaries_are_read_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [GOOD | {"time": n} for n in range(100)]
    path = _written(tmp_path / "log.parquet", rows, row_group_size=30)

    def failing(*arguments: Any) -> Iterator[pa.RecordBatch]:
        for count, batch in enumerate(coded_batches(*arguments)):
            if count == 2:
                raise pa.ArrowNotImplementedError("nested data conversions")
            yield batch

    monkeypatch.setattr(parquet_rows, "coded_batches", failing)
    monkeypatch.setattr(parquet_rows, "ROWS", 7)
    found = read(path)
    assert [row[0] for row in found] == list(range(1, 101))
    assert [row[1][0] for row in found] == list(range(100))


def test_batches_are_bounded_by_what_they_would_unpack_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [GOOD | {"results": ["y" * 1000] * 10}] * 64
    path = _written(tmp_path / "log.parquet", rows)
    monkeypatch.setattr(parquet_codes, "PART_BYTES", 50_000)
    parts = list(coded_batches(path, list(GOOD), 1000))
    assert [len(part) for part in parts] == [4] * 16
    assert all(40_000 < unpacked_bytes(part) < 50_000 for part in parts)
    monkeypatch.setattr(parquet_codes, "RATIO_APPLIES_FROM", 300_000)
    monkeypatch.setattr(parquet_codes, "LARGEST_RATIO", 1)
    seen = []
    with pytest.raises(BombError):
        seen.extend(map(len, coded_batches(path, list(GOOD), 1000)))
    sizes = list(map(unpacked_bytes, parts))
    most = max(300_000, path.stat().st_size)
    assert seen == [4] * len(seen)
    assert sum(sizes[: len(seen)]) <= most < sum(sizes[: len(seen) + 1])


@pytest.mark.parametrize("place", [1, 100, -1])
def test_texts_that_are_named_must_be_there(place: int) -> None:
    """As in a file that was damaged: numbers of texts that its dictionary does not have."""
    indices = pa.array([0, None, place], pa.int32())
    texts = pa.DictionaryArray.from_arrays(indices, pa.array(["eau"]), safe=False)
    lists = pa.ListArray.from_arrays(pa.array([0, 3], pa.int32()), texts)
    for column in (texts, lists):
        with pytest.raises(pa.ArrowInvalid, match="named that is not there"):
            unpacked_bytes(pa.record_batch({"query": column}))
