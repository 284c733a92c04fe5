"""Batches and rows of Parquet files: their sizes, their numbers, and rows that cannot be read."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builder.errors import FormatError
from builder.ingest import parquet_bounds
from builder.ingest.parquet_bounds import DecompressionBombError, contains_binary
from builder.ingest.parquet_rows import (
    batch_to_rows,
    convert_parquet_errors,
    read_numbered_batches,
    read_numbered_rows,
)
from builder.io.sources import Source


@pytest.fixture
def ten(tmp_path: Path) -> Path:
    """Ten rows of 8 bytes."""
    schema = pa.schema([pa.field("n", pa.int64(), nullable=False)])
    pq.write_table(pa.table({"n": range(10)}, schema=schema), tmp_path / "f")
    return tmp_path / "f"


def _sizes(path: Path, max_rows: int, rows_at_once: int = 3) -> tuple[list[tuple[int, int]], bool]:
    """Number of the first row and of all rows of each batch; whether reading stopped."""
    sizes = []
    with pq.ParquetFile(path) as file:
        try:
            for number, batch in read_numbered_batches(file, 1, ["n"], max_rows, rows_at_once):
                sizes.append((number, batch.num_rows))
        except DecompressionBombError:
            return sizes, True
    return sizes, False


def test_batches_are_bounded_by_rows_and_by_bytes(
    ten: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _sizes(ten, 100) == ([(1, 10)], False)
    assert _sizes(ten, 3) == ([(1, 3), (4, 3), (7, 3), (10, 1)], False)
    assert _sizes(ten, 4) == ([(1, 6), (7, 4)], False)
    monkeypatch.setattr(parquet_bounds, "BATCH_BYTES", 48)
    assert _sizes(ten, 100) == ([(1, 6), (7, 4)], False)
    monkeypatch.setattr(parquet_bounds, "BATCH_BYTES", 49)
    assert _sizes(ten, 100) == ([(1, 9), (10, 1)], False)


def test_reading_stops_after_the_batch_that_exceeds_the_maximum_size(
    ten: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_bounds, "MAX_COMPRESSION_RATIO", 0)
    for least, found in ((80, ([(1, 10)], False)), (48, ([(1, 9)], True)), (47, ([(1, 6)], True))):
        monkeypatch.setattr(parquet_bounds, "MIN_BOMB_BYTES", least)
        assert _sizes(ten, 100) == found
    monkeypatch.setattr(parquet_bounds, "MAX_COMPRESSION_RATIO", 80)
    assert _sizes(ten, 100) == ([(1, 10)], False)
    with pq.ParquetFile(ten) as file:
        monkeypatch.setattr(parquet_bounds, "MAX_COMPRESSION_RATIO", 47)
        rows = list(read_numbered_rows(file, 1, ["n"], 3, 3))
    assert rows == [*((n + 1, {"n": n}) for n in range(6)), (7, "decompression_bomb")]


def test_dictionaries_views_and_binary_columns_become_text(tmp_path: Path) -> None:
    columns = {
        "entry": pa.array(["a", None]).dictionary_encode(),
        "view": pa.array(["b", None], pa.string_view()),
        "bytes": pa.array([b"\xc3\xa9", b"\xe9"]),
        "more": pa.array([b"c", b"\xff"], pa.large_binary()),
        "list": pa.array([[b"d", None, b"\xff"], None], pa.list_(pa.binary())),
        "n": [1, None],
    }
    pq.write_table(pa.table(columns), tmp_path / "f")
    with pq.ParquetFile(tmp_path / "f") as file:
        decoders = {"more": bytes.hex}
        found = list(read_numbered_rows(file, 1, ["n", *columns, "none"], decoders=decoders))
    assert found == [
        (
            1,
            {
                "n": 1,
                "entry": "a",
                "view": "b",
                "bytes": "é",
                "more": "c",
                "list": ["d", None, None],
            },
        ),
        (2, {"more": "ff"}),
    ]


def test_types_that_contain_binary() -> None:
    kinds = (
        pa.binary(),
        pa.large_binary(),
        pa.list_(pa.binary()),
        pa.large_list(pa.large_binary()),
    )
    assert all(map(contains_binary, kinds))
    others = (pa.string(), pa.list_(pa.string()), pa.struct({"a": pa.binary()}), pa.int8())
    assert not any(map(contains_binary, others))


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        (pa.timestamp("s"), 2**60),
        (pa.timestamp("us", "UTC"), 2**62),
        (pa.timestamp("s", "Nowhere/Atlantis"), 5),
        (pa.duration("s"), 2**60),
    ],
)
def test_a_row_that_cannot_be_converted_costs_no_other(kind: pa.DataType, number: int) -> None:
    moments = pa.array([None if "Nowhere" in str(kind) else 5, number, None], pa.int64()).cast(kind)
    first, second, third = batch_to_rows(pa.record_batch({"time": moments, "n": [1, 2, 3]}))
    assert not isinstance(first, str)
    assert first["n"] == 1
    assert (second, third) == ("unreadable_row", {"n": 3})


def test_nanoseconds_are_cut_to_microseconds(tmp_path: Path) -> None:
    at = pa.array([1_999, None], pa.int64())
    columns = {"ns": at.cast(pa.timestamp("ns", "UTC")), "us": at.cast(pa.timestamp("us"))}
    pq.write_table(pa.table(columns), tmp_path / "f")
    with pq.ParquetFile(tmp_path / "f") as file:
        ((number, batch),) = read_numbered_batches(file, 1, ["ns", "us"])
    assert number == 1
    assert batch.schema.types == [pa.timestamp("us", "UTC"), pa.timestamp("us")]
    assert [column.cast(pa.int64()).to_pylist() for column in batch] == [[1, None], [1_999, None]]


@pytest.mark.parametrize("error", [OSError, ValueError, pa.ArrowInvalid, pa.ArrowKeyError])
def test_errors_of_the_reader_name_the_file(error: type[Exception]) -> None:
    with (
        pytest.raises(FormatError) as caught,
        convert_parquet_errors(Source(Path("/data/f"), "logs/f")),
    ):
        raise error("no footer")
    said = str(error("no footer"))
    assert str(caught.value) == (
        f"logs/f: cannot be read as Parquet ({said}); write or download the file again"
    )
