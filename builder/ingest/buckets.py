"""Rows by ranges of their key, spilled to disk when memory is short.

In: frames of rows in any order. Out: the rows of one key range after the other. Ranges are made of
buckets, and a bucket is one byte of the 64-bit key, so that ranges in order are rows in the order
of keys. A bucket that does not fit is parted by the next byte.
"""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import numpy as np
import polars as pl

BUCKETS = 256
TOP = 56
BYTE = 8


def bucket_of(shift: int = TOP) -> pl.Expr:
    """The bucket of the column `key`: eight of its bits."""
    bits: pl.Expr = pl.col("key") // 2**shift % BUCKETS
    return bits.cast(pl.Int64)


class Buckets:
    """Rows in key ranges.

    Args:
        folder: Scratch folder for spilled rows.
        most_bytes: Bytes held before rows are spilled, and that a range may have.
        shift: Which bits of the key make a bucket.
    """

    def __init__(self, folder: Path, most_bytes: int, shift: int = TOP) -> None:
        self._folder = folder / "buckets"
        self._most = most_bytes
        self._shift = shift
        self._frames: list[pl.DataFrame] = []
        self._held = 0
        self._spills = 0
        self._spilled = [0] * BUCKETS

    def add(self, rows: pl.DataFrame) -> None:
        """Put rows into their buckets; column `key` (UInt64) tells which."""
        self._frames.append(rows)
        self._held += int(rows.estimated_size())
        if self._held > self._most:
            self._spill()

    def _spill(self) -> None:
        for number, rows in self._by_bucket():
            home = self._folder / f"{number:03d}"
            home.mkdir(parents=True, exist_ok=True)
            rows.write_ipc(home / f"{self._spills:06d}.arrow", compression="lz4")
            self._spilled[number] += int(rows.estimated_size())
        self._spills += 1

    def _by_bucket(self) -> Iterator[tuple[int, pl.DataFrame]]:
        """The rows held in memory, bucket by bucket; they are let go."""
        if not self._frames:
            return
        rows = pl.concat(self._frames, rechunk=False)
        self._frames, self._held = [], 0
        numbers = rows.select(bucket_of(self._shift).alias("bucket"))["bucket"]
        order = np.argsort(numbers.to_numpy(), kind="stable")
        counts = numbers.value_counts().sort("bucket")
        start = 0
        for number, count in counts.iter_rows():
            yield number, rows[order[start : start + count]]
            start += count

    def __iter__(self) -> Iterator[pl.DataFrame]:
        """The rows of each range, in order of ranges; a range is freed after it."""
        if not self._spills:
            yield from self._held_ranges()
            return
        self._spill()
        numbers = [number for number in range(BUCKETS) if self._spilled[number]]
        for large, group in groupby(numbers, self._is_large):
            if large:
                yield from self._parted(group)
            else:
                yield from self._joined(group)

    def _is_large(self, number: int) -> bool:
        return self._spilled[number] > self._most and self._shift > 0

    def _held_ranges(self) -> Iterator[pl.DataFrame]:
        if self._frames:
            rows = pl.concat(self._frames, rechunk=False)
            self._frames = []
            yield rows

    def _joined(self, numbers: Iterator[int]) -> Iterator[pl.DataFrame]:
        """Consecutive buckets together, as many as fit."""
        frames: list[pl.DataFrame] = []
        size = 0
        for number in numbers:
            if frames and size + self._spilled[number] > self._most:
                yield pl.concat(frames, rechunk=False)
                frames, size = [], 0
            frames += self._read(number)
            size += self._spilled[number]
        yield pl.concat(frames, rechunk=False)

    def _parted(self, numbers: Iterator[int]) -> Iterator[pl.DataFrame]:
        """Buckets too large for memory, parted by the next byte of the key."""
        for number in numbers:
            inner = Buckets(self._folder / f"{number:03d}", self._most, self._shift - BYTE)
            for frame in self._read(number):
                inner.add(frame)
            yield from inner

    def _read(self, number: int) -> Iterator[pl.DataFrame]:
        for path in sorted((self._folder / f"{number:03d}").glob("*.arrow")):
            yield pl.read_ipc(path)
            path.unlink()
