"""Reads all tables of a version once, one row group at a time, for the validation checks.

Input: a published version. Output: a summary of each table (row count, rule violations, sort order,
duplicate keys, text faults), and a lazy frame of each table. Texts are checked in the same pass and
not kept in memory.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builder.collection import layout
from builder.collection.checks.texts import SAMPLE_ROWS, TEXT_FAULTS, TextFaultCounts
from builder.collection.files import is_lfs_pointer
from builder.collection.read import Collection
from builder.io import parquet
from builder.io.tables import Table, arrow_schema, table_at
from builder.runtime.executors import ordered_map
from builder.runtime.limits import count_usable_cores
from builder.runtime.stage import SCHEMAS
from builder.text.keys import format_keys
from schemas import RELEASED, TableSchema

EXAMPLE_KEYS = 3


@dataclass
class TableSummary:
    """Summary of one table of a collection, computed once and used by all checks.

    Args:
        schema: Schema of the table.
        paths: Parquet files of the table.
        problems: (message, examples) for each file that is unreadable or has wrong columns.
        rows: Number of rows.
        rule_violations: Number of rows that violate a rule of the schema, by file and rule.
        is_sorted: Whether the rows are sorted by the sort key of the schema.
        duplicate_keys: Number of rows with a duplicate key, and examples of such keys.
        text_faults: Number of rows with each text fault, and examples of their keys.
    """

    schema: type[TableSchema]
    paths: tuple[Path, ...]
    problems: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    rows: int = 0
    rule_violations: Counter[tuple[str, str]] = field(default_factory=Counter)
    is_sorted: bool = True
    duplicate_keys: tuple[int, tuple[str, ...]] = (0, ())
    text_faults: TextFaultCounts = field(default_factory=TextFaultCounts)

    @property
    def is_readable(self) -> bool:
        """Whether the table exists and all files have the columns of the schema."""
        return bool(self.paths) and not self.problems


class ValidationContext:
    """Collection to validate, with the manifest, table summaries and lazy frames for checks."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        self.manifest = collection.manifest

    @property
    def is_imported(self) -> bool:
        """Whether the collection is an imported release."""
        return "imported" in self.manifest["definition"]

    @property
    def has_documents(self) -> bool:
        """Whether the collection includes documents; imported releases may lack them."""
        return bool(self.manifest["definition"].get("imported", {}).get("documents", True))

    @cached_property
    def table_summaries(self) -> dict[str, TableSummary]:
        """Summaries of all tables of the collection, by path relative to the version folder."""
        return {
            where: _fill_table_summary(TableSummary(table.schema, table.paths), where)
            for where, table in self._list_tables()
        }

    def _list_tables(self) -> Iterator[tuple[str, Table]]:
        expected = self.manifest["tables"] if self.is_imported else None
        schemas = {**SCHEMAS, **(RELEASED if self.is_imported else {})}
        collection = {**layout.COLLECTION_TABLES, **layout.CHANGE_TABLES}
        tables = [
            (table_path, self.collection.path, table_path, name)
            for name, table_path in collection.items()
        ]
        for snapshot in self.collection.snapshots:
            folder = layout.snapshot_folder(self.collection.path, snapshot)
            table_paths = {**layout.SNAPSHOT_TABLES, "rejects": "rejects"}
            table_paths |= layout.RELEASE_TABLES if self.is_imported else {}
            tables += [
                (f"snapshots/{snapshot}/{table_path}", folder, table_path, name)
                for name, table_path in table_paths.items()
            ]
        for where, folder, table_path, name in tables:
            table = table_at(folder, table_path, schemas[name])
            if expected is None or where in expected or table.paths:
                yield where, table

    def scan_table(self, table_path: str) -> pl.LazyFrame | None:
        """Scan a table as a lazy frame; None if it cannot be read."""
        summary = self.table_summaries.get(table_path)
        return parquet.scan(*summary.paths) if summary and summary.is_readable else None

    def scan_snapshots(self, *tables: str) -> Iterator[tuple[str, Any]]:
        """Yield (snapshot name, lazy frames of the given tables) for each snapshot.

        Snapshots in which one of the tables cannot be read are skipped. If only one table is given,
        its frame is yielded instead of a tuple of frames.
        """
        for name in self.collection.snapshots:
            frames = [self.scan_table(f"snapshots/{name}/{table}") for table in tables]
            if all(frame is not None for frame in frames):
                yield name, frames[0] if len(frames) == 1 else tuple(frames)

    def replace_ids_with_keys(self, rows: pl.LazyFrame, snapshot: str, column: str) -> pl.LazyFrame:
        """Replace the ids of an imported release with keys that are the same in all snapshots."""
        ids = self.scan_table(f"snapshots/{snapshot}/release_ids") if self.is_imported else None
        if ids is None:
            return rows
        kind = {"doc_id": "document", "query_id": "query"}[column]
        keys = ids.filter(kind=kind).select("key", pl.col("id").alias(column))
        return rows.join(keys, on=column).drop(column).rename({"key": column})


def _fill_table_summary(summary: TableSummary, table_path: str) -> TableSummary:
    """Fill in and return the summary of a table by reading the schemas and rows of its files."""
    expected = arrow_schema(summary.schema)
    for path in summary.paths:
        schema = _read_schema(path)
        if isinstance(schema, str):
            summary.problems.append((f"cannot read {path.name}: {schema}", ()))
        elif schema != expected:
            columns = _describe_column_differences(schema, expected)[:EXAMPLE_KEYS]
            message = f"columns of {path.name} differ from schema {summary.schema.signature()}"
            summary.problems.append((message, columns))
    if summary.is_readable:
        try:
            _scan_row_groups(summary, _text_fault_expressions(table_path))
        except (OSError, pa.ArrowException, pl.exceptions.PolarsError) as error:
            summary.problems.append(
                (f"cannot read a file of the table: {str(error).splitlines()[0]}", ())
            )
    return summary


def _describe_column_differences(actual: pa.Schema, expected: pa.Schema) -> tuple[str, ...]:
    """Return one line per column that differs from the schema, such as `crawled: missing`.

    If only the order of the columns differs, return one line with the order found.
    """
    names = dict.fromkeys((*expected.names, *actual.names))
    faults = tuple(
        f"{name}: missing"
        if name not in actual.names
        else f"{name}: unexpected"
        if name not in expected.names
        else f"{name}: {actual.field(name).type} instead of {expected.field(name).type}"
        for name in names
        if name not in actual.names
        or name not in expected.names
        or actual.field(name).type != expected.field(name).type
    )
    return faults or (f"order: {', '.join(actual.names)}",)


def _text_fault_expressions(table_path: str) -> dict[str, pl.Expr]:
    """Return the Boolean expression of each text fault that applies to a table, by fault name."""
    folder, _, name = table_path.rpartition("/")
    return TEXT_FAULTS.get(name, {}) if folder.startswith("snapshots/") else {}


def _read_schema(path: Path) -> pa.Schema | str:
    try:
        if is_lfs_pointer(path):
            return "the file is a Git LFS pointer"
        return pq.read_schema(path)
    except (OSError, pa.ArrowException) as error:
        return str(error).splitlines()[0]


@dataclass(frozen=True)
class _RowGroupSummary:
    """Summary of one Parquet row group; added to the `TableSummary` of its table."""

    part: str
    rows: int
    rule_violations: dict[str, int]
    keys: pl.DataFrame
    faults: TextFaultCounts


def _scan_row_groups(summary: TableSummary, text_faults: dict[str, pl.Expr]) -> None:
    """Read each row group of a table once, in parallel, and add the results to its summary."""
    key = list(summary.schema.sort_columns())
    total = sum(pq.read_metadata(path).num_rows for path in summary.paths)
    sample_interval = max(1, total // SAMPLE_ROWS)

    def summarize_row_group(row_group: tuple[Path, int]) -> _RowGroupSummary:
        path, number = row_group
        with parquet.open_file(path) as file:
            rows = pl.DataFrame(file.read_row_group(number))
        rule_violations = summary.schema.filter(rows, cast=True)[1].counts()
        rule_violations.pop("primary_key", None)
        faults = TextFaultCounts()
        faults.add(rows, text_faults, key, sample_interval)
        return _RowGroupSummary(path.name, rows.height, rule_violations, rows.select(key), faults)

    previous_key: pl.DataFrame | None = None
    for group in ordered_map(
        summarize_row_group, _iter_row_groups(summary.paths), count_usable_cores()
    ):
        summary.rows += group.rows
        for rule, count in group.rule_violations.items():
            summary.rule_violations[group.part, rule] += count
        keys = group.keys if previous_key is None else pl.concat([previous_key, group.keys])
        summary.is_sorted &= keys.equals(keys.sort(key, maintain_order=True))
        previous_key = keys.tail(1)
        summary.text_faults.merge(group.faults)
    if summary.schema.primary_key():
        summary.duplicate_keys = _find_duplicate_keys(summary, summary.schema.primary_key())


def _iter_row_groups(paths: tuple[Path, ...]) -> Iterator[tuple[Path, int]]:
    """Yield (file path, row group index) for every row group in the files."""
    for path in paths:
        yield from ((path, number) for number in range(pq.read_metadata(path).num_row_groups))


def _find_duplicate_keys(summary: TableSummary, key: list[str]) -> tuple[int, tuple[str, ...]]:
    """Return the number of rows with a duplicate key, and examples of such keys."""
    keys = parquet.scan(*summary.paths).select(key)
    if summary.is_sorted:
        equals_previous = pl.struct(key).eq_missing(pl.struct(key).shift(1)) & (
            pl.int_range(pl.len()) > 0
        )
        is_duplicate = equals_previous | equals_previous.shift(-1, fill_value=False)
        duplicates = keys.filter(is_duplicate).collect()
    else:
        duplicates = keys.filter(pl.struct(key).is_duplicated()).collect()
    examples = duplicates.unique(maintain_order=True).sort(key).head(EXAMPLE_KEYS)
    return duplicates.height, tuple(format_keys(examples))
