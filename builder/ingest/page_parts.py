"""Pages in parts, in the order in which they were read, less those that turn out not to count.

In: pages as they come. Out: the parts of `pages`. A part ends at the first page past its size, so
that parts depend on the pages alone. Pages are told by their number, from 0 on.
"""

import shutil
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow.parquet as pq

from builder.executors import in_order
from builder.keys import key64
from builder.tables import TableWriter
from schemas import Pages

PART_BYTES = 128 * 2**20
"""Text after which a part ends."""

Numbers = npt.NDArray[np.int64]


class _RowGroup(NamedTuple):
    """A row group of a part, and the numbers of its first page and of the one after its last."""

    path: Path
    place: int
    first: int
    stop: int

    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        with pq.ParquetFile(self.path) as file:
            return pl.DataFrame(file.read_row_group(self.place, columns=columns))

    def places(self, numbers: Numbers) -> Numbers:
        """Where in the row group those of some numbers, in ascending order, are that it has."""
        start, stop = np.searchsorted(numbers, [self.first, self.stop])
        return numbers[start:stop] - self.first


class PageParts:
    """Writes pages, and takes some out again.

    Args:
        folder: Of the parts.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: list[Path] = []
        self._written = 0
        self._writer = self._open()
        self.count = 0

    def _open(self) -> TableWriter:
        self._files.append(self._folder / f"part-{len(self._files):05d}.parquet")
        return TableWriter(self._files[-1], Pages, compression="lz4", has_dictionaries=False)

    def write(self, pages: pl.DataFrame) -> None:
        """Append pages: the columns of `schemas.Pages`."""
        ends = pages["text"].str.len_bytes().cast(pl.Int64).cum_sum().to_numpy()
        start = before = 0
        while start < pages.height:
            if self._written >= PART_BYTES:
                self._writer.close()
                self._writer, self._written = self._open(), 0
            room = before + PART_BYTES - self._written
            stop = min(int(np.searchsorted(ends, room)) + 1, pages.height)
            self._writer.append(pages[start:stop])
            self._written += int(ends[stop - 1]) - before
            start, before = stop, int(ends[stop - 1])
        self.count += pages.height

    def close(self) -> None:
        """Write what is pending."""
        self._writer.close()

    def text_keys(self, numbers: Numbers) -> list[int]:
        """The 64-bit keys of the texts of some pages that were written, told by ascending numbers.

        To be called once all are written.
        """
        keys: list[int] = []
        for group in self._row_groups():
            places = group.places(numbers)
            if len(places):
                keys += map(key64, group.read(["text"])["text"].gather(places))
        return keys

    def take_out(self, numbers: Numbers, threads: int) -> None:
        """Write all parts anew, without some pages; to be called once all are written.

        Args:
            numbers: Those of the pages, in ascending order.
            threads: Row groups that are read at the same time.
        """
        every = self._folder.with_name(f"{self._folder.name}-offered")
        self._folder.rename(every)
        self._files = [every / path.name for path in self._files]
        kept = PageParts(self._folder)
        work = partial(_without, numbers)
        for pages in in_order(work, self._row_groups(), threads):
            kept.write(pages)
        kept.close()
        shutil.rmtree(every)
        self._files, self.count = kept._files, kept.count

    def _row_groups(self) -> Iterator[_RowGroup]:
        first = 0
        for path in self._files:
            with pq.ParquetFile(path) as file:
                sizes = [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)]
            for place, stop in enumerate(accumulate(sizes, initial=first)):
                if place:
                    yield _RowGroup(path, place - 1, first, stop)
                first = stop


def _without(numbers: Numbers, group: _RowGroup) -> pl.DataFrame:
    """The pages of a row group that are not among some."""
    kept = np.ones(group.stop - group.first, dtype=bool)
    kept[group.places(numbers)] = False
    return group.read().filter(pl.Series(kept))
