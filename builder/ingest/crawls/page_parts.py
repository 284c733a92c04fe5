"""Pages in parts, in the order in which they were read, less those that turn out not to count.

In: pages as they come. Out: the parts of `pages`. A part ends at the first page past its size, so
that parts depend on the pages alone. Pages are told by their number, from 0 on.
"""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow.parquet as pq

from builder.io.tables import TableWriter
from builder.runtime.executors import ordered_map
from builder.text.keys import keys64
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
        self._writers: list[TableWriter] = []
        self._written = 0
        self._open()
        self.count = 0

    def _open(self) -> None:
        path = self._folder / _name(len(self._writers))
        self._writers.append(TableWriter(path, Pages, compression="lz4", has_dictionaries=False))
        self._written = 0

    def write(self, pages: pl.DataFrame) -> None:
        """Append pages: the columns of `schemas.Pages`."""
        ends = pages["text"].str.len_bytes().cast(pl.Int64).cum_sum().to_numpy()
        start = before = 0
        while start < pages.height:
            if self._written >= PART_BYTES:
                self.close()
                self._open()
            room = before + PART_BYTES - self._written
            stop = min(int(np.searchsorted(ends, room)) + 1, pages.height)
            self._writers[-1].append(pages[start:stop])
            self._written += int(ends[stop - 1]) - before
            start, before = stop, int(ends[stop - 1])
        self.count += pages.height

    def close(self) -> None:
        """Write what is pending."""
        self._writers[-1].close()

    def text_keys(self, numbers: Numbers) -> list[int]:
        """The 64-bit keys of the texts of some pages that were written, told by ascending numbers.

        To be called once all are written.
        """
        keys: list[int] = []
        for group in self._row_groups(self._folder):
            places = group.places(numbers)
            if len(places):
                keys += keys64(group.read(["text"])["text"].gather(places)).tolist()
        return keys

    def take_out(self, numbers: Numbers, threads: int) -> None:
        """Write all parts anew, without some pages; to be called once all are written.

        Args:
            numbers: Those of the pages, in ascending order.
            threads: Row groups that are read at the same time.
        """
        every = self._folder.with_name(f"{self._folder.name}-offered")
        self._folder.rename(every)
        kept = PageParts(self._folder)
        work = partial(_without, numbers)
        with closing(kept):
            for pages in ordered_map(work, self._row_groups(every), threads):
                kept.write(pages)
        shutil.rmtree(every)
        self._writers, self.count = kept._writers, kept.count

    def _row_groups(self, folder: Path) -> Iterator[_RowGroup]:
        first = 0
        for number, writer in enumerate(self._writers):
            for place, rows in enumerate(writer.group_rows):
                yield _RowGroup(folder / _name(number), place, first, first + rows)
                first += rows


def _name(number: int) -> str:
    return f"part-{number:05d}.parquet"


def _without(numbers: Numbers, group: _RowGroup) -> pl.DataFrame:
    """The pages of a row group that are not among some."""
    kept = np.ones(group.stop - group.first, dtype=bool)
    kept[group.places(numbers)] = False
    return group.read().filter(pl.Series(kept))
