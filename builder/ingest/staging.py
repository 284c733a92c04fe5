"""A log in scratch space, between its reading and the verdict of `conduct` on the whole of it.

In: impressions in keys with their seconds, as they are read. Out: some columns of all of them, or
some of them, for those who judge; and the table `impressions` in parts, without those that a rule
leaves out. Impressions are told by their number, from 0 on.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa

from builder.executors import in_order
from builder.sorting import Flags, Keys
from builder.tables import ROWS_PER_GROUP, TableWriter, arrow_schema
from schemas import Impressions

BESIDE = {"seconds": pa.int64(), "file": pa.uint32(), "record": pa.uint64()}
"""Columns that impressions have here, and not in their table."""

PART_ROWS = 8 * ROWS_PER_GROUP
"""Impressions in a part of the table; parts are compressed beside each other."""

Span = tuple[int, int]
"""Numbers of impressions: the first, and the one after the last."""


class Staging:
    """A log in scratch space.

    Args:
        scratch: Where it is.
    """

    def __init__(self, scratch: Path) -> None:
        self._path = scratch / "impressions.arrow"
        self._schema = arrow_schema(Impressions)
        for name, kind in BESIDE.items():
            self._schema = self._schema.append(pa.field(name, kind))
        self._opened = ExitStack()
        self._ends = [0]

    def __len__(self) -> int:
        return self._ends[-1]

    def add(self, keyed: pa.Table, file: int) -> None:
        """Impressions of a file, in the columns of `keying.KEYED`."""
        numbers = np.arange(len(self), len(self) + len(keyed), dtype=np.uint64)
        files = np.full(len(keyed), file, dtype=np.uint32)
        table = keyed.append_column("impression", pa.array(numbers))
        table = table.append_column("file", pa.array(files))
        for batch in table.select(self._schema.names).cast(self._schema).to_batches():
            self._writer.write_batch(batch)
            self._ends.append(len(self) + len(batch))

    def batches(
        self, names: Sequence[str], places: Iterable[int] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Some columns of the batches at some places, or of all, in the order of the columns."""
        fields = [self._schema.get_field_index(name) for name in names]
        options = pa.ipc.IpcReadOptions(included_fields=fields)
        with pa.OSFile(str(self._path)) as file:
            staged = pa.ipc.open_file(file, options=options)
            for place in range(staged.num_record_batches) if places is None else places:
                yield staged.get_batch(place)

    def rows(self, numbers: Keys, names: Sequence[str]) -> pa.Table:
        """Some columns of some impressions, whose numbers are in ascending order."""
        cuts = np.searchsorted(numbers, self._ends)
        needed = np.flatnonzero(np.diff(cuts)).tolist()
        found = [
            batch.take(
                pa.array(numbers[cuts[place] : cuts[place + 1]] - np.uint64(self._ends[place]))
            )
            for place, batch in zip(needed, self.batches(names, needed), strict=True)
        ]
        kinds = {name: self._schema.field(name).type for name in names}
        return pa.Table.from_batches(found, found[0].schema if found else pa.schema(kinds))

    def write(self, folder: Path, left_out: Keys, threads: int) -> int:
        """Write the table in parts of `PART_ROWS`; returns its rows.

        Args:
            folder: Receives the parts, of which there is at least one.
            left_out: Numbers of the impressions that are not written, in ascending order.
            threads: Parts that are written beside each other.
        """
        parts = (
            (span, folder / f"part-{number:05d}.parquet")
            for number, span in enumerate(_spans(len(self), left_out))
        )
        return sum(in_order(partial(self._write_part, left_out), parts, threads))

    def _write_part(self, left_out: Keys, part: tuple[Span, Path]) -> int:
        span, path = part
        with TableWriter(path, Impressions, compression="lz4", has_dictionaries=False) as table:
            for batch in self._staged(*span):
                gone = _among(batch["impression"].to_numpy(), left_out)
                table.write(batch.filter(pa.array(~gone)) if gone.any() else batch)
        return table.rows

    def _staged(self, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """The impressions with some numbers, in order."""
        first = int(np.searchsorted(self._ends, start, side="right")) - 1
        places = range(first, int(np.searchsorted(self._ends[:-1], stop)))
        names = arrow_schema(Impressions).names
        for place, batch in zip(places, self.batches(names, places), strict=True):
            begin = self._ends[place]
            before = max(start - begin, 0)
            yield batch.slice(before, stop - begin - before)

    def __enter__(self) -> Self:
        self._writer = self._opened.enter_context(pa.ipc.new_file(str(self._path), self._schema))
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
