"""Frames and series can be pickled, also while other threads run Python functions in Polars."""

import pickle
import subprocess
import sys
from datetime import UTC, datetime

import polars as pl
import pytest
from polars.testing import assert_frame_equal, assert_series_equal

from builder.runtime.executors import ProcessExecutor

FRAME = pl.DataFrame(
    {
        "number": pl.Series([1, None, 2**64 - 1], dtype=pl.UInt64),
        "text": ["é", None, ""],
        "list": [["a", "b"], [], None],
        "time": [datetime(2022, 6, 1, tzinfo=UTC), None, datetime(2022, 6, 30, 23, tzinfo=UTC)],
        "flag": [True, None, False],
        "bytes": [b"\x00\xff", b"", None],
        "nothing": pl.Series([None] * 3, dtype=pl.Null),
    }
)
CHUNKED = pl.concat([FRAME, FRAME.reverse(), FRAME], rechunk=False)

SEND_WHILE_MAPPING = """
import pickle, threading
import polars as pl
from builder.runtime.executors import ProcessExecutor

ProcessExecutor()
frame = pl.DataFrame({"n": range(100_000)}).with_columns(text=pl.col("n").cast(pl.String))
chunked = pl.concat([frame, frame.reverse(), frame], rechunk=False)
one = pl.col("n").map_batches(lambda n: n + 1, return_dtype=pl.Int64)
two = pl.col("n").map_batches(lambda n: n + 2, return_dtype=pl.Int64)
is_done = threading.Event()

def run_functions():
    while not is_done.is_set():
        frame.with_columns(one=one, two=two)

threads = [threading.Thread(target=run_functions) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(60):
    assert pickle.loads(pickle.dumps(chunked)).height == 300_000
is_done.set()
"""


@pytest.fixture(autouse=True, scope="module")
def executor() -> ProcessExecutor:
    """Set how frames are pickled in this process, as every executor does that sends them."""
    return ProcessExecutor()


@pytest.mark.parametrize("frame", [FRAME, CHUNKED, CHUNKED[2:5], FRAME.clear()])
def test_a_frame_comes_back_as_it_was(frame: pl.DataFrame) -> None:
    assert_frame_equal(pickle.loads(pickle.dumps(frame)), frame)
    for column in frame:
        assert_series_equal(pickle.loads(pickle.dumps(column)), column)


def test_a_slice_takes_no_more_bytes_than_its_rows() -> None:
    frame = pl.DataFrame({"text": ["x" * 1000] * 1000})
    assert len(pickle.dumps(frame[:2])) < 10_000


def test_pickling_does_not_hang_while_polars_runs_python_functions() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SEND_WHILE_MAPPING],
        env={"POLARS_MAX_THREADS": "2", "PYTHONPATH": ":".join(sys.path)},
        timeout=120,
        check=False,
    )
    assert done.returncode == 0
