"""A log in scratch space, while it is read and before the rules on whole logs are applied.

In: impressions in keys, batch by batch, in log order. Out: `log.parquet`, what the user rules need
of every impression; and the table `impressions`, without the impressions that the rules drop.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from builder.io.tables import ROWS_PER_GROUP, TableWriter, arrow_schema
from builder.runtime.executors import in_order
from schemas import Impressions

PART_ROWS = 8 * ROWS_PER_GROUP
"""Impressions of one part of the table; parts are written in parallel."""

RULED = pa.schema(
    {
        "impression": pa.uint64(),
        "file": pa.uint32(),
        "record": pa.uint64(),
        "user": pa.uint64(),
        "query": pa.uint64(),
        "seconds": pa.int64(),
        "clicks": pa.list_(pa.uint16()),
    }
)
"""Columns of `log.parquet`: an impression, where it was logged, and what the user rules look at."""

Numbers = npt.NDArray[np.uint64]


class Staging:
    """A log in scratch space.

    Args:
        scratch: Existing folder for it.

    Attributes:
        rows: Impressions added so far.
        clicked: How many of them have a click.
        log: `log.parquet`; complete when the staging is closed.
    """

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._parts: list[Path] = []
        self._part: pa.ipc.RecordBatchFileWriter | None = None
        self._left = 0
        self.rows = self.clicked = 0
        self.log = scratch / "log.parquet"
        self._log = pq.ParquetWriter(self.log, RULED, compression="lz4", use_dictionary=False)

    def add(self, keyed: pa.Table, file: int) -> None:
        """Append impressions (columns of `keys.KEYED`) of the file with this index."""
        numbers = pa.array(np.arange(self.rows, self.rows + len(keyed), dtype=np.uint64))
        files = pa.array(np.full(len(keyed), file, dtype=np.uint32))
        whole = keyed.append_column("impression", numbers).append_column("file", files)
        self._log.write_table(whole.select(RULED.names))
        impressions = whole.select(arrow_schema(Impressions).names)
        while len(impressions):
            head = impressions.slice(0, self._left or PART_ROWS)
            self._writer().write_table(head.cast(arrow_schema(Impressions)))
            self._left -= len(head)
            impressions = impressions.slice(len(head))
        self.rows += len(keyed)
        sizes = pc.list_value_length(keyed["clicks"])
        self.clicked += pc.sum(pc.greater(sizes, 0), min_count=0).as_py()

    def _writer(self) -> pa.ipc.RecordBatchFileWriter:
        """The writer of the current part; a new part when that is full."""
        if self._part is None or not self._left:
            self.close_part()
            self._parts.append(self._scratch / f"part-{len(self._parts):05d}.arrow")
            self._part = pa.ipc.new_file(str(self._parts[-1]), arrow_schema(Impressions))
            self._left = PART_ROWS
        return self._part

    def close_part(self) -> None:
        """Finish the current part."""
        if self._part is not None:
            self._part.close()
            self._part = None

    def write(self, folder: Path, dropped: Numbers, threads: int) -> int:
        """Write the table `impressions` in parts; returns its rows.

        Args:
            folder: Receives the parts, at least one.
            dropped: Numbers of the impressions that are not written, in ascending order.
            threads: Parts written in parallel.
        """
        parts: Sequence[Path | None] = self._parts or [None]
        targets = [folder / f"part-{number:05d}.parquet" for number in range(len(parts))]
        work = partial(_write_part, dropped)
        return sum(in_order(work, zip(parts, targets, strict=True), threads))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close_part()
        self._log.close()


def _write_part(dropped: Numbers, files: tuple[Path | None, Path]) -> int:
    source, target = files
    with TableWriter(target, Impressions, compression="lz4", has_dictionaries=False) as table:
        for batch in _batches(source) if source is not None else ():
            table.write(_without(batch, dropped))
    return table.rows


def _without(batch: pa.RecordBatch, dropped: Numbers) -> pa.RecordBatch:
    """The batch with the given impressions removed; their numbers must be ascending."""
    numbers = batch["impression"].to_numpy()
    first, last = (
        np.searchsorted(dropped, [numbers[0], numbers[-1] + 1]) if len(numbers) else (0, 0)
    )
    kept = ~np.isin(numbers, dropped[first:last])
    return batch if kept.all() else batch.filter(pa.array(kept))


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    with pa.OSFile(str(path)) as file:
        part = pa.ipc.open_file(file)
        for index in range(part.num_record_batches):
            yield part.get_batch(index)
