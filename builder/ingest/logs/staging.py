"""Stores the impressions of a log in temporary files until the user rules have been applied.

Each batch of impressions is split: the columns that the user rules read go to `log.parquet`, the
output columns to Arrow files. A log that is not in chronological order, such as one with a file per
server, is sorted here, because the output has no times by which a later stage could sort it. Once
the rules have been applied, the Arrow files are copied to the table `impressions`, without the
dropped rows.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Self

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from builder.io import parquet
from builder.io.tables import ROWS_PER_GROUP, TableWriter, arrow_schema
from builder.runtime.executors import ordered_map
from schemas import Impressions

PART_ROWS = 8 * ROWS_PER_GROUP
"""Number of impressions per part file of the table `impressions`; parts are written in parallel."""

USER_RULE_COLUMNS = pa.schema(
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
"""Schema of `log.parquet`: number, file and record of each impression, and the columns that the
user rules read."""

IMPRESSIONS_BY_TIME = """
SELECT staged.* EXCLUDE (impression), logged.file, logged.record, logged.seconds
FROM staged JOIN logged USING (impression) ORDER BY logged.seconds, impression
"""

Numbers = npt.NDArray[np.uint64]


class StagedLog:
    """Impressions of a log, stored in temporary files until they are written.

    Use an instance as a context manager.

    Args:
        scratch: Existing folder for temporary files.

    Attributes:
        rows: Number of impressions added.
        clicked: Number of impressions added that have at least one click.
        is_sorted: Whether the impressions were added in chronological order.
        log: Path of `log.parquet`, which is complete after the context manager has exited.
    """

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._parts: list[Path] = []
        self._part: pa.ipc.RecordBatchFileWriter | None = None
        self._room = 0
        self.rows = self.clicked = 0
        self.is_sorted = True
        self._latest = np.iinfo(np.int64).min
        self.log = scratch / "log.parquet"
        self._log = pq.ParquetWriter(
            self.log, USER_RULE_COLUMNS, compression="lz4", use_dictionary=False
        )

    def add(self, impressions: pa.Table, file_index: int) -> None:
        """Append a batch of impressions of one log file.

        Args:
            impressions: Impressions with keys instead of strings (schema `keys.KEYED_COLUMNS`).
            file_index: Index of the log file.
        """
        files = pa.array(np.full(len(impressions), file_index, dtype=np.uint32))
        self._append(impressions.append_column("file", files))

    def _append(self, impressions: pa.Table) -> None:
        """Append a batch of impressions with the column `file`, and number them."""
        numbers = pa.array(np.arange(self.rows, self.rows + len(impressions), dtype=np.uint64))
        whole = impressions.append_column("impression", numbers)
        self._log.write_table(whole.select(USER_RULE_COLUMNS.names).cast(USER_RULE_COLUMNS))
        remaining = whole.select(arrow_schema(Impressions).names)
        while len(remaining):
            head = remaining.slice(0, self._room or PART_ROWS)
            self._current_writer().write_table(head.cast(arrow_schema(Impressions)))
            self._room -= len(head)
            remaining = remaining.slice(len(head))
        self.rows += len(impressions)
        sizes = pc.list_value_length(impressions["clicks"])
        self.clicked += pc.sum(pc.greater(sizes, 0), min_count=0).as_py()
        times = np.append(self._latest, impressions["seconds"].to_numpy())
        self.is_sorted &= bool((times[1:] >= times[:-1]).all())
        self._latest = times[-1]

    def sort_by_time(self, scratch: Path, connection: duckdb.DuckDBPyConnection) -> "StagedLog":
        """Return a copy sorted by time; impressions with equal times keep their order.

        Args:
            scratch: New folder for the temporary files of the copy.
            connection: DuckDB connection, which sorts the impressions.
        """
        scratch.mkdir()
        parquet.read_parquet_relation(connection, self.log).create_view("logged")
        connection.register("staged", ds.dataset(self._parts, format="ipc"))
        with StagedLog(scratch) as by_time:
            for batch in connection.sql(IMPRESSIONS_BY_TIME).to_arrow_reader(ROWS_PER_GROUP):
                by_time._append(pa.Table.from_batches([batch]))
        return by_time

    def _current_writer(self) -> pa.ipc.RecordBatchFileWriter:
        """Return the writer of the current part file; start a new part if it is full or missing."""
        if self._part is None or not self._room:
            self._close_part()
            self._parts.append(self._scratch / f"part-{len(self._parts):05d}.arrow")
            self._part = pa.ipc.new_file(str(self._parts[-1]), arrow_schema(Impressions))
            self._room = PART_ROWS
        return self._part

    def _close_part(self) -> None:
        """Close the current part file, if one is open."""
        if self._part is not None:
            self._part.close()
            self._part = None

    def write_impressions(self, folder: Path, numbers_to_drop: Numbers, threads: int) -> int:
        """Write the table `impressions` without dropped rows; return the number of rows written.

        Args:
            folder: Output folder of the table; receives at least one part file.
            numbers_to_drop: Values of the column `impression` in rows to drop, in ascending order.
            threads: Number of parts written in parallel.
        """
        parts: Sequence[Path | None] = self._parts or [None]
        targets = [folder / f"part-{number:05d}.parquet" for number in range(len(parts))]
        work = partial(_write_part, numbers_to_drop)
        return sum(ordered_map(work, zip(parts, targets, strict=True), threads))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._close_part()
        self._log.close()


def _write_part(numbers_to_drop: Numbers, paths: tuple[Path | None, Path]) -> int:
    """Copy a part to a Parquet file without the dropped impressions; return the number of rows.

    Args:
        numbers_to_drop: Values of the column `impression` in rows to drop, in ascending order.
        paths: Arrow file of the part (None if it has no impressions), and Parquet file to write.
    """
    source, target = paths
    with TableWriter(target, Impressions, compression="lz4", use_dictionary=False) as table:
        for batch in _read_batches(source) if source is not None else ():
            table.write(_drop_impressions(batch, numbers_to_drop))
    return table.rows


def _drop_impressions(batch: pa.RecordBatch, numbers_to_drop: Numbers) -> pa.RecordBatch:
    """Remove the impressions with the given numbers; the batch and the numbers must be sorted."""
    numbers = batch["impression"].to_numpy()
    first, last = (
        np.searchsorted(numbers_to_drop, [numbers[0], numbers[-1] + 1]) if len(numbers) else (0, 0)
    )
    kept = ~np.isin(numbers, numbers_to_drop[first:last])
    return batch if kept.all() else batch.filter(pa.array(kept))


def _read_batches(path: Path) -> Iterator[pa.RecordBatch]:
    """Yield the record batches of an Arrow file."""
    with pa.OSFile(str(path)) as file:
        part = pa.ipc.open_file(file)
        for index in range(part.num_record_batches):
            yield part.get_batch(index)
