"""A log in scratch space, between its reading and the verdict of `conduct` on the whole of it.

In: impressions in keys with their seconds, as they are read. Out: beside what the rules look at,
the impressions as their table will have them; and that table in parts, without those that a rule
leaves out.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from builder.executors import in_order
from builder.ingest.keying import KEYED
from builder.sorting import Flags, Keys
from builder.tables import ROWS_PER_GROUP, TableWriter, arrow_schema
from schemas import Impressions

NOTED = ("impression", "user", "query", "clicks", "seconds", "file", "record")
"""Columns of impressions that the rules look at or that tell where one stands."""

PART_ROWS = 8 * ROWS_PER_GROUP
"""Impressions in a part of the table; parts are compressed beside each other."""

Span = tuple[int, int]
"""Numbers of impressions: the first, and the one after the last."""


class Staging:
    """A log in scratch space.

    Args:
        scratch: Where it is.

    Attributes:
        noted: A Parquet file with the columns `NOTED`.
    """

    def __init__(self, scratch: Path) -> None:
        self.noted = scratch / "noted.parquet"
        self._impressions = scratch / "impressions.arrow"
        self._schema = arrow_schema(Impressions)
        self._opened = ExitStack()
        self._ends = [0]

    def add(self, keyed: pa.Table, file: int) -> None:
        """Impressions of a file, in the columns of `keying.KEYED`."""
        first = self._ends[-1]
        numbers = np.arange(first, first + len(keyed), dtype=np.uint64)
        files = np.full(len(keyed), file, dtype=np.uint32)
        table = keyed.append_column("impression", pa.array(numbers))
        for batch in table.select(self._schema.names).cast(self._schema).to_batches():
            self._whole.write_batch(batch)
            self._ends.append(self._ends[-1] + len(batch))
        self._parts.write_table(table.append_column("file", pa.array(files)).select(NOTED))

    def write(self, folder: Path, left_out: Keys, threads: int) -> int:
        """Write the table in parts of `PART_ROWS`; returns its rows.

        Args:
            folder: Receives the parts, of which there is at least one.
            left_out: Numbers of the impressions that are not written, in ascending order.
            threads: Parts that are written beside each other.
        """
        parts = (
            (span, folder / f"part-{number:05d}.parquet")
            for number, span in enumerate(_spans(self._ends[-1], left_out))
        )
        return sum(in_order(partial(self._write_part, left_out), parts, threads))

    def _write_part(self, left_out: Keys, part: tuple[Span, Path]) -> int:
        span, path = part
        with TableWriter(path, Impressions, has_dictionaries=False) as table:
            for batch in self._staged(*span):
                numbers = batch["impression"].to_numpy()
                table.write(batch.filter(pa.array(~_among(numbers, left_out))))
        return table.rows

    def _staged(self, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """The impressions with some numbers, in order."""
        first = int(np.searchsorted(self._ends, start, side="right")) - 1
        with pa.OSFile(str(self._impressions)) as file:
            staged = pa.ipc.open_file(file)
            for place in range(first, staged.num_record_batches):
                begin = self._ends[place]
                if begin >= stop:
                    return
                batch, before = staged.get_batch(place), max(start - begin, 0)
                yield batch.slice(before, stop - begin - before)

    def __enter__(self) -> Self:
        noted = KEYED.append(pa.field("impression", pa.uint64()))
        noted = noted.append(pa.field("file", pa.uint32()))
        self._whole = self._opened.enter_context(
            pa.ipc.new_file(str(self._impressions), self._schema)
        )
        self._parts = self._opened.enter_context(
            pq.ParquetWriter(
                self.noted,
                pa.schema([noted.field(name) for name in NOTED]),
                compression="none",
                use_dictionary=False,
            )
        )
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()


def _spans(count: int, left_out: Keys) -> list[Span]:
    """Numbers of impressions, `PART_ROWS` of which are kept in all but the last; at least one."""
    before = left_out.astype(np.int64) - np.arange(len(left_out))  # kept ones before each
    firsts = np.arange(PART_ROWS, count - len(left_out), PART_ROWS)
    starts = firsts + np.searchsorted(before, firsts, side="right")
    return list(pairwise([0, *starts.tolist(), count]))


def _among(numbers: Keys, some: Keys) -> Flags:
    """Which numbers are among some, which are in ascending order."""
    if not len(some):
        return np.zeros(len(numbers), dtype=np.bool_)
    places = np.minimum(np.searchsorted(some, numbers), len(some) - 1)
    return np.asarray(some[places] == numbers)
