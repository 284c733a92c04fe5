"""Counts by key, added up outside memory: sorted runs on disk, merged one range of keys at a time.

In: frames with keys (UInt64) and integer counts, each key once in a frame. Out: every key once, in
order, with its sums. A run is an Arrow file with the buckets of the first key (its top byte) one
after the other; a range is some buckets, so that what is held does not grow with what is counted.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from builder.clicks.sums import add_up

BUCKETS = 256
TOP = 56
BUCKET_ROWS = 2**20
"""Most rows in a record batch; an empty bucket has none."""

Bounds = npt.NDArray[np.int64]


class Run(NamedTuple):
    """A run: its file, and the first row of each bucket, with the number of rows at the end."""

    path: Path
    bounds: Bounds


def write_run(rows: pl.DataFrame, keys: Sequence[str], path: Path) -> Run:
    """Write the rows of a frame, which are in the order of their keys."""
    first = rows[keys[0]].to_numpy()
    starts = np.arange(BUCKETS, dtype=np.uint64) << np.uint64(TOP)
    bounds = np.append(np.searchsorted(first, starts), len(first)).astype(np.int64)
    table = rows.to_arrow(compat_level=pl.CompatLevel.oldest()).combine_chunks()
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        for start, stop in pairwise(bounds.tolist()):
            writer.write_table(table.slice(start, stop - start), max_chunksize=BUCKET_ROWS)
    return Run(path, bounds)


def ranges(runs: Sequence[Run], most_rows: int) -> list[tuple[int, int]]:
    """Ranges of buckets, first and past the last, of at most so many rows where possible."""
    if not runs:
        return []
    rows = np.sum([np.diff(run.bounds) for run in runs], axis=0)
    found, start, held = [], 0, 0
    for bucket, count in enumerate(rows.tolist()):
        if held and held + count > most_rows:
            found.append((start, bucket))
            start, held = bucket, 0
        held += count
    return [*found, (start, BUCKETS)]


def merge(runs: Iterable[Run], keys: tuple[str, ...], start: int, stop: int) -> pl.DataFrame:
    """The sums of every key in a range of buckets, in the order of keys."""
    slices = [rows for run in runs if (rows := _slice(run, start, stop)) is not None]
    if len(slices) < 2:
        return slices[0] if slices else pl.DataFrame()
    everything = pl.concat(slices)
    counts = [name for name in everything.columns if name not in keys]
    return add_up(
        {name: everything[name].to_numpy() for name in keys},
        {name: everything[name].to_numpy().astype(np.int64) for name in counts},
    )


def _slice(run: Run, start: int, stop: int) -> pl.DataFrame | None:
    if run.bounds[start] == run.bounds[stop]:
        return None
    before = _batches(run.bounds[: start + 1])
    with pa.OSFile(str(run.path)) as file, pa.ipc.open_file(file) as reader:
        count = _batches(run.bounds[start : stop + 1])
        batches = [reader.get_batch(before + number) for number in range(count)]
    return pl.DataFrame(pa.Table.from_batches(batches))


def _batches(bounds: Bounds) -> int:
    """How many record batches hold the buckets between the first and the last bound."""
    return int((-(-np.diff(bounds) // BUCKET_ROWS)).sum())
