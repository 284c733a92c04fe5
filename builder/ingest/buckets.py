"""Rows by ranges of their key, spilled to disk when memory is short.

In: frames of rows in any order. Out: the rows of one key range after the other. Ranges are made of
buckets, and a bucket is one byte of the 64-bit key, so that ranges in order are rows in the order
of keys. A bucket that does not fit is parted by the next byte. A spill is one Arrow file with a
batch for each bucket, so that a range is read from a few places of a few files.
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

from builder.io.packing import packed
from builder.runtime.executors import BackgroundThread

BUCKETS = 256
TOP = 56
BYTE = 8
RANGE_BYTES = 16 * 2**20
"""Most bytes of buckets that are read together: enough to write, little enough to hold several."""

Load = Callable[[], pl.DataFrame]
"""Reads a range; to be called once, from any thread."""


def bucket_of(shift: int = TOP) -> pl.Expr:
    """The bucket of the column `key`: eight of its bits."""
    bits: pl.Expr = pl.col("key") // 2**shift % BUCKETS
    return bits.cast(pl.Int64)


class Spill(NamedTuple):
    """A file, which of its batches each bucket is, and the bytes of each."""

    path: Path
    batches: dict[int, int]
    sizes: dict[int, int]

    def read(self, numbers: Sequence[int]) -> list[pl.DataFrame]:
        """The rows of some buckets."""
        with pa.OSFile(str(self.path)) as file, pa.ipc.open_file(file) as reader:
            found = [self.batches[number] for number in numbers if number in self.batches]
            return [pl.DataFrame(reader.get_batch(place)) for place in found]


class _Held(NamedTuple):
    """Rows of each bucket in memory: those that came after the last spill."""

    rows: dict[int, pl.DataFrame]

    @property
    def sizes(self) -> dict[int, int]:
        return {number: int(rows.estimated_size()) for number, rows in self.rows.items()}

    def read(self, numbers: Sequence[int]) -> list[pl.DataFrame]:
        """The rows of some buckets; they are let go."""
        return [self.rows.pop(number) for number in numbers if number in self.rows]


def spill(frames: list[pl.DataFrame], path: Path, shift: int = TOP) -> Spill:
    """Write rows to a file, bucket by bucket; the frames are let go.

    Args:
        frames: At least one, none of them empty, with a column `key` (UInt64).
        path: The file to write.
        shift: Which bits of the key make a bucket.
    """
    spilled = Spill(path, {}, {})
    rows, counts = _by_bucket(frames, shift)
    (batch,) = rows.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest()).to_batches()
    del rows
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with (
        pa.OSFile(str(path), "wb") as file,
        pa.ipc.new_file(file, batch.schema, options=options) as writer,
    ):
        start = 0
        for number, count in counts:
            part = batch.slice(start, count)
            writer.write_batch(part)
            spilled.batches[number] = len(spilled.batches)
            spilled.sizes[number] = part.nbytes
            start += count
    return spilled


def _by_bucket(
    frames: list[pl.DataFrame], shift: int
) -> tuple[pl.DataFrame, list[tuple[int, int]]]:
    """Rows in order of their buckets, and how many each has; the frames are let go."""
    rows = pl.concat(frames, rechunk=False)
    frames.clear()
    numbers = rows.select(bucket_of(shift).alias("bucket"))["bucket"]
    counts = numbers.value_counts().sort("bucket").rows()
    return rows[np.argsort(numbers.to_numpy(), kind="stable")], counts


class Buckets:
    """Rows in key ranges.

    Args:
        folder: Scratch folder for spilled rows.
        most_bytes: Bytes held before rows are spilled, and that a range may have. Half of them are
            spilled beside the work that makes the other half.
        shift: Which bits of the key make a bucket.
        spills: Rows that were spilled elsewhere, whose files are left where they are.
    """

    def __init__(
        self,
        folder: Path,
        most_bytes: int,
        shift: int = TOP,
        spills: Sequence[Spill] = (),
    ) -> None:
        self._folder = folder / "buckets"
        self._most = most_bytes
        self._shift = shift
        self._frames: list[pl.DataFrame] = []
        self._held = 0
        self._spills: list[Spill | _Held] = list(spills)
        self._background = BackgroundThread("buckets")

    def add(self, rows: pl.DataFrame) -> None:
        """Put rows into their buckets; column `key` (UInt64) tells which."""
        if rows.is_empty():
            return
        self._frames.append(rows)
        self._held += int(rows.estimated_size())
        if self._held > self._most // 2:
            self._let_go()

    def _let_go(self) -> None:
        """Spill what is held, once what was let go before is written."""
        frames, self._frames, self._held = self._frames, [], 0
        if frames:
            self._background.start(partial(self._spill, frames))

    def _spill(self, frames: list[pl.DataFrame]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{len(self._spills):06d}.arrow"
        self._spills.append(spill(frames, path, self._shift))

    def __iter__(self) -> Iterator[pl.DataFrame]:
        """The rows of each range, in order of ranges; then they are let go."""
        for load in self.ranges():
            yield load()
        self.clear()

    def clear(self) -> None:
        """Let go of all rows; to be called once every range was read."""
        self._background.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._frames, self._held = [], 0
        self._spills = []

    def settle(self) -> None:
        """Put what is held into buckets: `ranges` of some may be asked for then, by any thread."""
        self._background.wait()
        frames, self._frames, self._held = self._frames, [], 0
        if frames:
            rows, counts = _by_bucket(frames, self._shift)
            ends = accumulate(count for _, count in counts)
            held = {n: rows[end - size : end] for (n, size), end in zip(counts, ends, strict=True)}
            self._spills.append(_Held(held))

    def take_over(self, spills: Sequence[Spill]) -> None:
        """Add rows that were spilled elsewhere, whose files are left where they are."""
        self._spills += spills

    def spilled(self) -> tuple[Spill, ...]:
        """All rows as files, which others can read, in other processes; instead of `settle`."""
        self._let_go()
        self._background.wait()
        return tuple(spilled for spilled in self._spills if isinstance(spilled, Spill))

    def ranges(self, only: range = range(BUCKETS)) -> Iterator[Load]:
        """What reads each range, in order of ranges.

        Args:
            only: Buckets whose rows are wanted, once what is held was put into them.
        """
        self._background.wait()
        if not self._spills:
            yield from self._held_range()
            return
        self.settle()
        sizes = Counter[int]()
        for spilled in self._spills:
            sizes.update(spilled.sizes)
        numbers = [number for number in only if number in sizes]
        for large, group in groupby(numbers, lambda number: self._is_large(sizes[number])):
            if large:
                yield from self._parted(group)
            else:
                yield from self._joined(group, sizes)

    def _is_large(self, size: int) -> bool:
        return size > self._most and self._shift > 0

    def _held_range(self) -> Iterator[Load]:
        if self._frames:
            frames, self._frames = self._frames, []
            yield partial(pl.concat, frames, rechunk=False)

    def _joined(self, numbers: Iterator[int], sizes: Mapping[int, int]) -> Iterator[Load]:
        """Consecutive buckets together, as many as fit."""
        for some in packed(numbers, sizes.__getitem__, min(self._most, RANGE_BYTES)):
            yield partial(self._read, some)

    def _parted(self, numbers: Iterator[int]) -> Iterator[Load]:
        """Buckets too large for memory, parted by the next byte of the key."""
        for number in numbers:
            inner = Buckets(self._folder / f"{number:03d}", self._most, self._shift - BYTE)
            for spilled in self._spills:
                for frame in spilled.read([number]):
                    inner.add(frame)
            yield from inner.ranges()

    def _read(self, numbers: Sequence[int]) -> pl.DataFrame:
        return pl.concat(
            (frame for spilled in self._spills for frame in spilled.read(numbers)), rechunk=False
        )
