"""Partitions rows by ranges of a 64-bit key, spilling to disk when memory is short.

Input: frames of rows in any order. Output: the rows of one key range after another, in key order of
the ranges. A bucket is one value of one byte of the key; a range is one or more consecutive
buckets. A bucket that does not fit into memory is split by the next byte. A spill file is an Arrow
file with one record batch per bucket, so that a range is read with few seeks.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from builder.io.batching import batch_by_size
from builder.runtime.executors import BackgroundThread

BUCKETS = 256
TOP_SHIFT = 56
BITS_PER_BUCKET = 8
RANGE_BYTES = 16 * 2**20
"""Maximum bytes of buckets that are read together."""

LoadRange = Callable[[], pl.DataFrame]
"""Reads the rows of a range; call it once, from any thread."""


def bucket_number(shift: int = TOP_SHIFT) -> pl.Expr:
    """Return an expression for the bucket of a row: eight bits of the column `key`."""
    bits: pl.Expr = pl.col("key") // 2**shift % BUCKETS
    return bits.cast(pl.Int64)


class SpillFile(NamedTuple):
    """Arrow file of spilled rows, with the batch index and size in bytes of each bucket."""

    path: Path
    batches: dict[int, int]
    sizes: dict[int, int]

    def read(self, numbers: Sequence[int]) -> list[pl.DataFrame]:
        """Read the rows of the given buckets."""
        with pa.OSFile(str(self.path)) as file, pa.ipc.open_file(file) as reader:
            indices = [self.batches[number] for number in numbers if number in self.batches]
            return [pl.DataFrame(reader.get_batch(index)) for index in indices]


class _MemoryBuckets(NamedTuple):
    """Rows in memory by bucket: the rows added after the last spill."""

    rows: dict[int, pl.DataFrame]

    @property
    def sizes(self) -> dict[int, int]:
        """Size of each bucket in bytes."""
        return {number: int(rows.estimated_size()) for number, rows in self.rows.items()}

    def read(self, numbers: Sequence[int]) -> list[pl.DataFrame]:
        """Return the rows of the given buckets, and drop them from memory."""
        return [self.rows.pop(number) for number in numbers if number in self.rows]


def write_spill(frames: list[pl.DataFrame], path: Path, shift: int = TOP_SHIFT) -> SpillFile:
    """Write rows to a spill file, sorted by bucket, and empty the list of frames.

    Args:
        frames: One or more non-empty frames with a column `key` (UInt64).
        path: File to write.
        shift: Position of the lowest bit of the key that selects the bucket.
    """
    spill_file = SpillFile(path, {}, {})
    rows, counts = _sort_by_bucket(frames, shift)
    (batch,) = rows.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest()).to_batches()
    del rows
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with (
        pa.OSFile(str(path), "wb") as file,
        pa.ipc.new_file(file, batch.schema, options=options) as writer,
    ):
        start = 0
        for number, count in counts:
            bucket = batch.slice(start, count)
            writer.write_batch(bucket)
            spill_file.batches[number] = len(spill_file.batches)
            spill_file.sizes[number] = bucket.nbytes
            start += count
    return spill_file


def _sort_by_bucket(
    frames: list[pl.DataFrame], shift: int
) -> tuple[pl.DataFrame, list[tuple[int, int]]]:
    """Return the rows sorted by bucket, with the row count of each bucket."""
    rows = pl.concat(frames, rechunk=False)
    frames.clear()
    numbers = rows.select(bucket_number(shift).alias("bucket"))["bucket"]
    counts = numbers.value_counts().sort("bucket").rows()
    return rows[np.argsort(numbers.to_numpy(), kind="stable")], counts


class RangePartitions:
    """Rows partitioned by key ranges, in memory and in spill files.

    Args:
        folder: Scratch folder for spill files.
        max_bytes: Maximum bytes in memory, and of a range. Half of them are spilled in the
            background while the other half is filled.
        shift: Position of the lowest bit of the key that selects the bucket.
        spills: Spill files written elsewhere; they are not deleted.
    """

    def __init__(
        self,
        folder: Path,
        max_bytes: int,
        shift: int = TOP_SHIFT,
        spills: Sequence[SpillFile] = (),
    ) -> None:
        self._folder = folder / "buckets"
        self._max_bytes = max_bytes
        self._shift = shift
        self._frames: list[pl.DataFrame] = []
        self._bytes_in_memory = 0
        self._spills: list[SpillFile | _MemoryBuckets] = list(spills)
        self._background = BackgroundThread("buckets")

    def add(self, rows: pl.DataFrame) -> None:
        """Add rows, partitioned by the column `key` (UInt64)."""
        if rows.is_empty():
            return
        self._frames.append(rows)
        self._bytes_in_memory += int(rows.estimated_size())
        if self._bytes_in_memory > self._max_bytes // 2:
            self._start_spill()

    def _start_spill(self) -> None:
        """Write the rows in memory to disk in the background, after the previous spill."""
        frames, self._frames, self._bytes_in_memory = self._frames, [], 0
        if frames:
            self._background.start(partial(self._spill, frames))

    def _spill(self, frames: list[pl.DataFrame]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{len(self._spills):06d}.arrow"
        self._spills.append(write_spill(frames, path, self._shift))

    def __iter__(self) -> Iterator[pl.DataFrame]:
        """Yield the rows of each key range in order, then drop all rows."""
        for load in self.ranges():
            yield load()
        self.clear()

    def clear(self) -> None:
        """Drop all rows and spill files, once every range has been read."""
        self._background.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._frames, self._bytes_in_memory = [], 0
        self._spills = []

    def freeze(self) -> None:
        """Partition the rows in memory, after which any thread may read ranges."""
        self._background.wait()
        frames, self._frames, self._bytes_in_memory = self._frames, [], 0
        if frames:
            rows, counts = _sort_by_bucket(frames, self._shift)
            ends = accumulate(count for _, count in counts)
            buckets = {
                n: rows[end - size : end] for (n, size), end in zip(counts, ends, strict=True)
            }
            self._spills.append(_MemoryBuckets(buckets))

    def add_spills(self, spills: Sequence[SpillFile]) -> None:
        """Add spill files that were written elsewhere; these files are not deleted."""
        self._spills += spills

    def spill_all(self) -> tuple[SpillFile, ...]:
        """Write all rows to files that other processes can read."""
        self._start_spill()
        self._background.wait()
        return tuple(spilled for spilled in self._spills if isinstance(spilled, SpillFile))

    def ranges(self, buckets: range = range(BUCKETS)) -> Iterator[LoadRange]:
        """Yield for each key range, in order, a function that reads the rows of the range.

        Args:
            buckets: Numbers of the buckets to read.
        """
        self._background.wait()
        if not self._spills:
            yield from self._memory_range()
            return
        self.freeze()
        sizes = Counter[int]()
        for spilled in self._spills:
            sizes.update(spilled.sizes)
        numbers = [number for number in buckets if number in sizes]
        for large, group in groupby(numbers, lambda number: self._is_large(sizes[number])):
            if large:
                yield from self._split_ranges(group)
            else:
                yield from self._merged_ranges(group, sizes)

    def _is_large(self, size: int) -> bool:
        return size > self._max_bytes and self._shift > 0

    def _memory_range(self) -> Iterator[LoadRange]:
        """Yield all rows as one range if none were written to disk."""
        if self._frames:
            frames, self._frames = self._frames, []
            yield partial(pl.concat, frames, rechunk=False)

    def _merged_ranges(
        self, numbers: Iterator[int], sizes: Mapping[int, int]
    ) -> Iterator[LoadRange]:
        """Yield ranges of consecutive buckets, as many as fit into the limit."""
        for group in batch_by_size(numbers, sizes.__getitem__, min(self._max_bytes, RANGE_BYTES)):
            yield partial(self._read, group)

    def _split_ranges(self, numbers: Iterator[int]) -> Iterator[LoadRange]:
        """Yield the rows of buckets too large for memory, split by the next byte of the key."""
        for number in numbers:
            inner = RangePartitions(
                self._folder / f"{number:03d}", self._max_bytes, self._shift - BITS_PER_BUCKET
            )
            for spilled in self._spills:
                for frame in spilled.read([number]):
                    inner.add(frame)
            yield from inner.ranges()

    def _read(self, numbers: Sequence[int]) -> pl.DataFrame:
        return pl.concat(
            (frame for spilled in self._spills for frame in spilled.read(numbers)), rechunk=False
        )
