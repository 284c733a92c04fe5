"""Tables on disk: how every Parquet file of ours is written and read.

One writer with fixed row groups and compression, so that the same rows are the same bytes for any
number of threads.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial, reduce
from pathlib import Path
from typing import Generic, Self

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from typing_extensions import TypeVar

from builder.io import parquet
from builder.io.threads import BackgroundThread
from schemas import Contract

ROWS_PER_GROUP = 122_880
TEXT_BYTES_PER_GROUP = 16 * 2**20
ROWS_AT_ONCE = 4096
COMPRESSION = {"zstd": 3, "lz4": None}
"""Levels of compression: lz4 for text that the next stage alone reads, three times as quick."""


TableContract = TypeVar("TableContract", bound=Contract, default=Contract, covariant=True)


@dataclass(frozen=True)
class Table(Generic[TableContract]):
    """A table on disk: Parquet parts in the order of the primary key, and their contract."""

    paths: tuple[Path, ...]
    contract: type[TableContract]

    def scan(self) -> pl.LazyFrame:
        """The table as a lazy frame."""
        return parquet.scan(*self.paths)

    def rows(self, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
        """The table as a relation of a DuckDB connection."""
        return parquet.rows(connection, *self.paths)

    def view(self, connection: duckdb.DuckDBPyConnection, name: str) -> None:
        """Make the table a view of a DuckDB connection."""
        self.rows(connection).create_view(name)

    def batches(
        self, columns: list[str] | None = None, rows: int = 8192
    ) -> Iterator[pa.RecordBatch]:
        """The table as Arrow record batches, in order, one part at a time."""
        for path in self.paths:
            with pq.ParquetFile(path) as file:
                yield from file.iter_batches(rows, columns=columns, use_threads=False)


def table_at(folder: Path, name: str, contract: type[TableContract]) -> Table[TableContract]:
    """The table `name` in a folder: one file `name.parquet` or parts `name/part-*.parquet`."""
    single = folder / f"{name}.parquet"
    paths = (single,) if single.exists() else tuple(sorted((folder / name).glob("part-*.parquet")))
    return Table(paths, contract)


def view_together(relations: Sequence[duckdb.DuckDBPyRelation], name: str) -> None:
    """Make one view of the rows of some relations, which have the same columns; none without any.

    Args:
        relations: Relations of one connection.
        name: Name of the view.
    """
    if relations:
        reduce(lambda whole, other: whole.union(other), relations).create_view(name)


@cache
def arrow_schema(contract: type[Contract]) -> pa.Schema:
    """The Arrow schema of a contract: plain strings, no dictionaries."""
    empty = pl.DataFrame(schema=contract.dtypes()).to_arrow(compat_level=pl.CompatLevel.oldest())
    return pa.schema([pa.field(f.name, _plain(f.type)) for f in empty.schema])


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_list(kind) or pa.types.is_list(kind):
        return pa.list_(_plain(kind.value_type))
    return kind


class TableWriter:
    """Write record batches to one Parquet file with row groups that depend on the rows alone.

    A row group is compressed beside the work that makes the next one.

    Args:
        path: The file to write.
        contract: Columns and types; batches are cast to them.
        rows_per_group: Most rows in a row group.
        bytes_per_group: Most bytes in a row group, for tables that hold text.
        compression: One of `COMPRESSION`.
        has_dictionaries: Whether values that repeat are written once; hashes hardly do.

    Attributes:
        rows: How many were written.
        group_rows: How many of them each row group has.
    """

    def __init__(
        self,
        path: Path,
        contract: type[Contract],
        *,
        rows_per_group: int = ROWS_PER_GROUP,
        bytes_per_group: int = TEXT_BYTES_PER_GROUP,
        compression: str = "zstd",
        has_dictionaries: bool = True,
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.rows = 0
        self.group_rows: list[int] = []
        self._schema = arrow_schema(contract)
        self._group = (rows_per_group, bytes_per_group)
        self._pending: list[pa.Table] = []
        self._pending_size = (0, 0)
        self._background = BackgroundThread("table")
        self._writer = pq.ParquetWriter(
            path,
            self._schema,
            compression=compression,
            compression_level=COMPRESSION[compression],
            use_dictionary=has_dictionaries,
        )

    def append(self, rows: pl.DataFrame) -> None:
        """Append the rows of a frame, of which few are Arrow's at a time; see `write`."""
        for some in rows.iter_slices(ROWS_AT_ONCE):
            self.write(some.to_arrow(compat_level=pl.CompatLevel.oldest()))

    def write(self, rows: pa.RecordBatch | pa.Table) -> None:
        """Append rows; extra columns are left out, types are cast."""
        table = pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows
        table = table.select(self._schema.names).cast(self._schema)
        ends = np.cumsum(_row_bytes(table))
        start, before = 0, 0
        while start < len(table):
            count, size = self._pending_size
            room = before + self._group[1] - size
            stop = max(int(np.searchsorted(ends, room, side="right")), start + (count == 0))
            stop = min(stop, start + self._group[0] - count, len(table))
            self._pending.append(table.slice(start, stop - start))
            taken = int(ends[stop - 1]) - before if stop > start else 0
            self._pending_size = (count + stop - start, size + taken)
            start, before = stop, before + taken
            if start < len(table):
                self._flush()

    def _flush(self) -> None:
        """Write what is pending as a row group, beside what comes next."""
        rows = self._taken()
        if rows:
            self._background.start(partial(self._write_group, rows))

    def _taken(self) -> list[pa.Table]:
        """What is pending, once the row group before it is written; then nothing is."""
        self._background.wait()
        rows, (count, _) = self._pending, self._pending_size
        self.rows += count
        self._pending, self._pending_size = [], (0, 0)
        if count:
            self.group_rows.append(count)
        return rows if count else []

    def _write_group(self, rows: list[pa.Table]) -> None:
        group = pa.concat_tables(rows).combine_chunks()
        self._writer.write_table(group, row_group_size=self._group[0])

    def close(self) -> None:
        """Write what is pending and the footer.

        Raises:
            OSError: there is no room.
        """
        try:
            if rows := self._taken():
                self._write_group(rows)
        finally:
            self._background.close()
            self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _row_bytes(table: pa.Table) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Bytes of text in each row."""
    sizes = np.zeros(len(table), dtype=np.int64)
    for column in table.columns:
        if pa.types.is_string(column.type):
            lengths = pc.fill_null(pc.binary_length(column), 0)
            sizes += lengths.to_numpy(zero_copy_only=False)
    return sizes


def write_frame(rows: pl.DataFrame, path: Path, contract: type[Contract]) -> int:
    """Write a frame that fits in memory, sorted by the contract's key; returns its rows."""
    ordered = rows.select(list(contract.dtypes())).cast(contract.dtypes())  # type: ignore[arg-type]
    ordered = ordered.sort(contract.sort_key(), nulls_last=False)
    with TableWriter(path, contract) as writer:
        writer.append(ordered)
    return ordered.height


def write_query(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    path: Path,
    contract: type[Contract],
    compression: str = "zstd",
) -> int:
    """Stream an ordered DuckDB query into a table; returns its rows.

    Args:
        connection: Where the views of the query live.
        sql: A constant statement of ours that ends in a total ORDER BY.
        path: The file to write.
        contract: Columns and types of the result; it may have others, which are left out.
        compression: One of `COMPRESSION`.
    """
    with TableWriter(path, contract, compression=compression) as writer:
        for batch in connection.sql(sql).to_arrow_reader(ROWS_PER_GROUP):
            writer.write(batch)
    return writer.rows
