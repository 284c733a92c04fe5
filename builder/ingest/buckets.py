"""Rows by ranges of their key, spilled to disk when memory is short.

In: frames of rows in any order. Out: the rows of one key range after the other. Ranges are made of
buckets, and a bucket is one byte of the 64-bit key, so that ranges in order are rows in the order
of keys. A bucket that does not fit is parted by the next byte. A spill is one Arrow file with a
batch for each bucket, so that a range is read from a few places of a few files.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from builder.executors import Beside

BUCKETS = 256
TOP = 56
BYTE = 8
RANGE_BYTES = 64 * 2**20
"""Most bytes of buckets that are read together: enough to write, little enough to hold several."""

Load = Callable[[], pl.DataFrame]
"""Reads a range; to be called once, from any thread."""


def bucket_of(shift: int = TOP) -> pl.Expr:
    """The bucket of the column `key`: eight of its bits."""
    bits: pl.Expr = pl.col("key") // 2**shift % BUCKETS
    return bits.cast(pl.Int64)


class _Spill(NamedTuple):
    """A file, and which of its batches each bucket is."""

    path: Path
    batches: dict[int, int]

    def read(self, numbers: Sequence[int]) -> list[pl.DataFrame]:
        """The rows of some buckets."""
        with pa.OSFile(str(self.path)) as file, pa.ipc.open_file(file) as reader:
            found = [self.batches[number] for number in numbers if number in self.batches]
            return [pl.DataFrame(reader.get_batch(place)) for place in found]


class _Held(NamedTuple):
    """Rows of each bucket in memory: those that came after the last spill."""

    rows: dict[int, pl.DataFrame]

    def read(self, numbers: Sequence[int]) -> list[pl.DataFrame]:
        """The rows of some buckets; they are let go."""
        return [self.rows.pop(number) for number in numbers if number in self.rows]


class Buckets:
    """Rows in key ranges.

    Args:
        folder: Scratch folder for spilled rows.
        most_bytes: Bytes held before rows are spilled, and that a range may have. Half of them are
            spilled beside the work that makes the other half.
        shift: Which bits of the key make a bucket.
    """

    def __init__(self, folder: Path, most_bytes: int, shift: int = TOP) -> None:
        self._folder = folder / "buckets"
        self._most = most_bytes
        self._shift = shift
        self._frames: list[pl.DataFrame] = []
        self._held = 0
        self._spills: list[_Spill | _Held] = []
        self._spilled = [0] * BUCKETS
        self._beside = Beside("buckets")

    def add(self, rows: pl.DataFrame) -> None:
        """Put rows into their buckets; column `key` (UInt64) tells which."""
        self._frames.append(rows)
        self._held += int(rows.estimated_size())
        if self._held > self._most // 2:
            self._let_go()

    def _let_go(self) -> None:
        """Spill what is held, once what was let go before is written."""
        frames, self._frames, self._held = self._frames, [], 0
        if frames:
            self._beside.begin(partial(self._spill, frames))

    def _spill(self, frames: list[pl.DataFrame]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        spill = _Spill(self._folder / f"{len(self._spills):06d}.arrow", {})
        schema = frames[0].to_arrow(compat_level=pl.CompatLevel.oldest()).schema
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with (
            pa.OSFile(str(spill.path), "wb") as file,
            pa.ipc.new_file(file, schema, options=options) as writer,
        ):
            for number, rows in self._by_bucket(frames):
                table = rows.to_arrow(compat_level=pl.CompatLevel.oldest()).combine_chunks()
                writer.write_table(table)
                spill.batches[number] = len(spill.batches)
        self._spills.append(spill)

    def _by_bucket(self, frames: list[pl.DataFrame]) -> Iterator[tuple[int, pl.DataFrame]]:
        """Rows bucket by bucket, which are counted; the frames are let go."""
        rows = pl.concat(frames, rechunk=False)
        frames.clear()
        numbers = rows.select(bucket_of(self._shift).alias("bucket"))["bucket"]
        ordered = rows[np.argsort(numbers.to_numpy(), kind="stable")]
        counts = numbers.value_counts().sort("bucket")
        start = 0
        for number, count in counts.iter_rows():
            part = ordered[start : start + count]
            self._spilled[number] += int(part.estimated_size())
            yield number, part
            start += count

    def __iter__(self) -> Iterator[pl.DataFrame]:
        """The rows of each range, in order of ranges; then they are let go."""
        for load in self.ranges():
            yield load()
        self.clear()

    def clear(self) -> None:
        """Let go of all rows; to be called once every range was read."""
        self._beside.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._frames, self._held = [], 0
        self._spills, self._spilled = [], [0] * BUCKETS

    def ranges(self) -> Iterator[Load]:
        """What reads each range, in order of ranges."""
        self._beside.wait()
        if not self._spills:
            yield from self._held_range()
            return
        self._hold_last()
        numbers = [number for number in range(BUCKETS) if self._spilled[number]]
        for large, group in groupby(numbers, self._is_large):
            if large:
                yield from self._parted(group)
            else:
                yield from self._joined(group)

    def _hold_last(self) -> None:
        """Put what came after the last spill into buckets; it stays in memory."""
        frames, self._frames, self._held = self._frames, [], 0
        if frames:
            self._spills.append(_Held(dict(self._by_bucket(frames))))

    def _is_large(self, number: int) -> bool:
        return self._spilled[number] > self._most and self._shift > 0

    def _held_range(self) -> Iterator[Load]:
        if self._frames:
            frames, self._frames = self._frames, []
            yield partial(pl.concat, frames, rechunk=False)

    def _joined(self, numbers: Iterator[int]) -> Iterator[Load]:
        """Consecutive buckets together, as many as fit."""
        most = min(self._most, RANGE_BYTES)
        held: list[int] = []
        size = 0
        for number in numbers:
            if held and size + self._spilled[number] > most:
                yield partial(self._read, held)
                held, size = [], 0
            held.append(number)
            size += self._spilled[number]
        yield partial(self._read, held)

    def _parted(self, numbers: Iterator[int]) -> Iterator[Load]:
        """Buckets too large for memory, parted by the next byte of the key."""
        for number in numbers:
            inner = Buckets(self._folder / f"{number:03d}", self._most, self._shift - BYTE)
            for spill in self._spills:
                for frame in spill.read([number]):
                    inner.add(frame)
            yield from inner.ranges()

    def _read(self, numbers: Sequence[int]) -> pl.DataFrame:
        return pl.concat(
            (frame for spill in self._spills for frame in spill.read(numbers)), rechunk=False
        )
