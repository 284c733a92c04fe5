"""Counts by key, added up outside memory: runs on disk, merged one range of keys at a time.

In: tables whose first column is a key (UInt64), in the order of its top bytes. Out: every key once,
in order, with its sums. A run is an Arrow file with the buckets of the key (its top byte) one after
the other; a range is some buckets, of which so much is held at a time, so that what is held does
not grow with what is counted.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, pairwise
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from builder.clicks.sums import add_up_rows
from builder.packing import packed
from builder.sorting import Integers

BUCKETS = 256
TOP = np.uint64(56)
BATCH_SIZE = 2**20
"""Most rows, or results of rows, in a record batch; an empty bucket has none."""

Summed = Callable[[pa.Table], pl.DataFrame]
"""What turns some rows of runs into sums, each key once, in order."""


class Run(NamedTuple):
    """A run: its file, the first batch of each bucket (and past the last), the size of batches."""

    path: Path
    batches: Integers
    sizes: Integers


def write_run(rows: pa.Table, path: Path, sizes: Integers | None = None) -> Run:
    """Write the rows of a table, which are in the order of the top bytes of their first column.

    Args:
        rows: The rows.
        path: The file to write.
        sizes: What each row takes; without them, 1.
    """
    top = rows.column(0).to_numpy() >> TOP
    bounds = np.searchsorted(top, np.arange(BUCKETS + 1, dtype=np.uint64)).tolist()
    sizes = np.ones(len(rows), dtype=np.int64) if sizes is None else sizes
    most = max(1, BATCH_SIZE // int(sizes.max(initial=1)))
    edges = [at for start, stop in pairwise(bounds) for at in range(start, stop, most)]
    table = rows.combine_chunks()
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        for start, stop in pairwise([*edges, len(rows)]):
            writer.write_table(table.slice(start, stop - start))
    return Run(path, np.searchsorted(edges, bounds), _sums(sizes, edges))


def _sums(values: Integers, starts: Sequence[int]) -> Integers:
    """The sums of values from each start to the next."""
    return np.add.reduceat(values, starts) if len(starts) else np.zeros(0, dtype=np.int64)


def ranges(runs: Sequence[Run], most: int) -> list[tuple[int, int]]:
    """Ranges of buckets, first and past the last, of at most such a size where possible."""
    if not runs:
        return []
    ends = [np.append(0, np.cumsum(run.sizes))[run.batches] for run in runs]
    sizes = np.diff(np.sum(ends, axis=0)).tolist()
    together = packed(range(BUCKETS), sizes.__getitem__, most)
    return [(buckets[0], buckets[-1] + 1) for buckets in together]


def merge(
    runs: Iterable[Run], keys: Sequence[str], summed: Summed, extent: tuple[int, int], most: int
) -> pl.DataFrame:
    """The sums of every key in a range of buckets, in the order of keys.

    Args:
        runs: The runs.
        keys: Columns of sums that are keys; all others add up.
        summed: What turns some rows into sums.
        extent: The range: its first bucket, and that past its last.
        most: Size of what is summed at a time.
    """
    sums = [summed(rows) for rows in _some(runs, extent, most)]
    if len(sums) < 2:
        return sums[0] if sums else pl.DataFrame()
    return add_up_rows(pl.concat(sums), keys)


def _some(runs: Iterable[Run], extent: tuple[int, int], most: int) -> Iterator[pa.Table]:
    """The rows of a range, of which some are held at a time."""
    batches = chain.from_iterable(_batches(run, extent) for run in runs)
    for some in packed(batches, itemgetter(1), most):
        tables = [pa.Table.from_batches([batch]) for batch, _ in some]
        yield pa.concat_tables(tables, promote_options="permissive")


def _batches(run: Run, extent: tuple[int, int]) -> Iterator[tuple[pa.RecordBatch, int]]:
    """The record batches of a range, and their sizes; what counts are wide may differ by run."""
    first, past = run.batches[list(extent)].tolist()
    if first == past:
        return
    with pa.OSFile(str(run.path)) as file, pa.ipc.open_file(file) as reader:
        for number in range(first, past):
            yield reader.get_batch(number), int(run.sizes[number])
