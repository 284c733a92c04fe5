"""Rows by ranges of their key, spilled to disk when memory is short.

In: rows in any order. Out: the rows of one range after the other. A bucket is the first byte of
the 64-bit key, so that buckets in order are rows in the order of keys.
"""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

BUCKETS = 256
SHIFT = 56


class Buckets:
    """Rows in 256 key ranges.

    Args:
        folder: Scratch folder for spilled rows.
        schema: Polars types of a row; the first column is the key.
        most_bytes: Bytes of text held before rows are spilled.
    """

    def __init__(self, folder: Path, schema: dict[str, pl.DataType], most_bytes: int) -> None:
        self._folder = folder / "buckets"
        self._schema = schema
        self._most = most_bytes
        self._rows: list[list[tuple[object, ...]]] = [[] for _ in range(BUCKETS)]
        self._held = 0
        self._spills = 0

    def add(self, key: int, row: tuple[object, ...], size: int) -> None:
        """Put a row into its bucket; `size` is its text in bytes, roughly."""
        self._rows[key >> SHIFT].append(row)
        self._held += size
        if self._held > self._most:
            self._spill()

    def _spill(self) -> None:
        for number, rows in enumerate(self._rows):
            if rows:
                home = self._folder / f"{number:03d}"
                home.mkdir(parents=True, exist_ok=True)
                self._frame(rows).write_ipc(home / f"{self._spills:06d}.arrow", compression="lz4")
                self._rows[number] = []
        self._held = 0
        self._spills += 1

    def __iter__(self) -> Iterator[pl.DataFrame]:
        """The rows of each bucket that has any, in order of buckets; a bucket is freed after it."""
        for number in range(BUCKETS):
            home = self._folder / f"{number:03d}"
            frames = [pl.read_ipc(path) for path in sorted(home.glob("*.arrow"))]
            if self._rows[number]:
                frames.append(self._frame(self._rows[number]))
                self._rows[number] = []
            if frames:
                yield pl.concat(frames)

    def _frame(self, rows: list[tuple[object, ...]]) -> pl.DataFrame:
        return pl.DataFrame(rows, schema=self._schema, orient="row")
