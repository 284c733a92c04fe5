"""Reads and writes Parquet tables; all published tables are written by this module.

Row groups and compression depend only on the rows, so that equal rows give equal bytes for any
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
from schemas import TableSchema

ROWS_PER_GROUP = 122_880
TEXT_BYTES_PER_GROUP = 16 * 2**20
SLICE_ROWS = 4096
COMPRESSION = {"zstd": 3, "lz4": None}
"""Compression level by codec. Published tables use zstd; texts that only the next stage reads are
compressed with lz4, which is faster."""


SchemaType = TypeVar("SchemaType", bound=TableSchema, default=TableSchema, covariant=True)


@dataclass(frozen=True)
class Table(Generic[SchemaType]):
    """Table on disk: Parquet files in order of the primary key, and the schema of the table."""

    paths: tuple[Path, ...]
    schema: type[SchemaType]

    def scan(self) -> pl.LazyFrame:
        """Scan the table as a lazy frame."""
        return parquet.scan(*self.paths)

    def relation(self, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
        """Return the table as a DuckDB relation."""
        return parquet.read_parquet_relation(connection, *self.paths)

    def create_view(self, connection: duckdb.DuckDBPyConnection, name: str) -> None:
        """Create a DuckDB view of the table with the given name."""
        self.relation(connection).create_view(name)

    def iter_batches(
        self, columns: list[str] | None = None, batch_size: int = 8192
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the table in order, as Arrow record batches.

        Args:
            columns: Names of the columns to read; None for all columns.
            batch_size: Maximum number of rows per batch.
        """
        for path in self.paths:
            with parquet.open_file(path) as file:
                yield from file.iter_batches(batch_size, columns=columns, use_threads=False)


def table_at(folder: Path, name: str, schema: type[SchemaType]) -> Table[SchemaType]:
    """Return the table stored in a folder as `<name>.parquet` or as `<name>/part-*.parquet`."""
    single = folder / f"{name}.parquet"
    paths = (single,) if single.exists() else tuple(sorted((folder / name).glob("part-*.parquet")))
    return Table(paths, schema)


def create_union_view(relations: Sequence[duckdb.DuckDBPyRelation], name: str) -> None:
    """Create a view of the union of DuckDB relations; create no view if there are no relations.

    Args:
        relations: Relations with the same columns, all from the same connection.
        name: Name of the view.
    """
    if relations:
        reduce(lambda whole, other: whole.union(other), relations).create_view(name)


@cache
def arrow_schema(schema: type[TableSchema]) -> pa.Schema:
    """Return the Arrow schema of a table, with plain strings instead of views and dictionaries."""
    empty = pl.DataFrame(schema=schema.dtypes()).to_arrow(compat_level=pl.CompatLevel.oldest())
    return pa.schema([pa.field(f.name, to_plain_arrow_type(f.type)) for f in empty.schema])


def to_plain_arrow_type(data_type: pa.DataType) -> pa.DataType:
    """Return the plain type for a large, view or dictionary type; return other types unchanged."""
    if pa.types.is_dictionary(data_type):
        return to_plain_arrow_type(data_type.value_type)
    if pa.types.is_large_string(data_type) or pa.types.is_string_view(data_type):
        return pa.string()
    if pa.types.is_large_list(data_type) or pa.types.is_list(data_type):
        return pa.list_(to_plain_arrow_type(data_type.value_type))
    return data_type


class TableWriter:
    """Writer of a Parquet file; its row groups depend on the rows, not on how they are batched.

    Row groups are compressed in a background thread.

    Args:
        path: The file to write.
        schema: Columns and types; batches are cast to them.
        rows_per_group: Maximum number of rows per row group.
        bytes_per_group: Maximum number of bytes of strings per row group.
        compression: Codec, a key of `COMPRESSION`.
        use_dictionary: Whether to use dictionary encoding; disable it for columns of hashes.

    Attributes:
        rows: Number of rows written.
        group_rows: Number of rows of each row group.
    """

    def __init__(
        self,
        path: Path,
        schema: type[TableSchema],
        *,
        rows_per_group: int = ROWS_PER_GROUP,
        bytes_per_group: int = TEXT_BYTES_PER_GROUP,
        compression: str = "zstd",
        use_dictionary: bool = True,
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.rows = 0
        self.group_rows: list[int] = []
        self._schema = arrow_schema(schema)
        self._group = (rows_per_group, bytes_per_group)
        self._pending: list[pa.Table] = []
        self._pending_size = (0, 0)
        self._background = BackgroundThread("table")
        self._writer = pq.ParquetWriter(
            path,
            self._schema,
            compression=compression,
            compression_level=COMPRESSION[compression],
            use_dictionary=use_dictionary,
        )

    def append(self, frame: pl.DataFrame) -> None:
        """Append a data frame in slices, so that its conversion to Arrow takes little memory."""
        for batch in frame.iter_slices(SLICE_ROWS):
            self.write(batch.to_arrow(compat_level=pl.CompatLevel.oldest()))

    def write(self, batch: pa.RecordBatch | pa.Table) -> None:
        """Append a record batch or Arrow table, after casting the columns to the schema.

        Columns that are not in the schema are dropped.
        """
        table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
        table = table.select(self._schema.names).cast(self._schema)
        ends = np.cumsum(_string_bytes_per_row(table))
        start, before = 0, 0
        while start < len(table):
            count, size = self._pending_size
            available = before + self._group[1] - size
            stop = max(int(np.searchsorted(ends, available, side="right")), start + (count == 0))
            stop = min(stop, start + self._group[0] - count, len(table))
            self._pending.append(table.slice(start, stop - start))
            size_taken = int(ends[stop - 1]) - before if stop > start else 0
            self._pending_size = (count + stop - start, size + size_taken)
            start, before = stop, before + size_taken
            if start < len(table):
                self._flush_row_group()

    def _flush_row_group(self) -> None:
        """Write the pending rows as a row group in the background."""
        rows = self._take_pending_rows()
        if rows:
            self._background.start(partial(self._write_row_group, rows))

    def _take_pending_rows(self) -> list[pa.Table]:
        """Wait until the previous row group is written, then return and clear the pending rows."""
        self._background.wait()
        rows, (count, _) = self._pending, self._pending_size
        self.rows += count
        self._pending, self._pending_size = [], (0, 0)
        if count:
            self.group_rows.append(count)
        return rows if count else []

    def _write_row_group(self, rows: list[pa.Table]) -> None:
        """Write rows as one row group."""
        group = pa.concat_tables(rows).combine_chunks()
        self._writer.write_table(group, row_group_size=self._group[0])

    def close(self) -> None:
        """Write the pending rows and the footer, and close the file.

        Raises:
            OSError: the disk is full.
        """
        try:
            if rows := self._take_pending_rows():
                self._write_row_group(rows)
        finally:
            self._background.close()
            self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _string_bytes_per_row(table: pa.Table) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Return the total number of string bytes in each row, as int64[rows]."""
    sizes = np.zeros(len(table), dtype=np.int64)
    for column in table.columns:
        if pa.types.is_string(column.type):
            lengths = pc.fill_null(pc.binary_length(column), 0)
            sizes += lengths.to_numpy(zero_copy_only=False)
    return sizes


def write_frame(frame: pl.DataFrame, path: Path, schema: type[TableSchema]) -> int:
    """Sort a data frame by primary key and write it to a Parquet file; return its row count."""
    ordered = frame.select(list(schema.dtypes())).cast(schema.dtypes())  # type: ignore[arg-type]
    ordered = ordered.sort(schema.sort_columns(), nulls_last=False)
    with TableWriter(path, schema) as writer:
        writer.append(ordered)
    return ordered.height


def write_query_result(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    path: Path,
    schema: type[TableSchema],
    compression: str = "zstd",
) -> int:
    """Write the result of an ordered DuckDB query to a Parquet file; return the number of rows.

    Args:
        connection: DuckDB connection with the views that the query reads.
        sql: Constant SQL query that ends with ORDER BY and determines the order of all rows.
        path: The file to write.
        schema: Columns and types; other columns of the result are dropped.
        compression: Codec, a key of `COMPRESSION`.
    """
    with TableWriter(path, schema, compression=compression) as writer:
        for batch in connection.sql(sql).to_arrow_reader(ROWS_PER_GROUP):
            writer.write(batch)
    return writer.rows
