"""Reads all rows of a table once, one row group at a time, and summarizes them for the checks.

Texts are checked in the same pass, and are not kept in memory.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builder.collection.checks.texts import SAMPLE_ROWS, TEXT_FAULTS, TextFaultCounts
from builder.io import parquet
from builder.io.git import is_lfs_pointer
from builder.io.tables import arrow_schema, to_plain_arrow_type
from builder.runtime.executors import ordered_map
from builder.runtime.limits import count_usable_cores
from builder.text.keys import format_keys
from schemas import TableSchema

EXAMPLE_KEYS = 3
Rows = TypeVar("Rows", pl.DataFrame, pl.LazyFrame)


@dataclass
class TableSummary:
    """Summary of one table of a collection, computed once and used by all checks.

    Args:
        schema: Schema of the table.
        paths: Parquet files of the table.
        problems: (message, examples) for each file that is unreadable or whose columns differ from
            the schema.
        is_unreadable: Whether a problem prevents the rows from being checked.
        rows: Number of rows.
        rule_violations: Number of rows that violate a rule of the schema, by file and rule.
        is_sorted: Whether the rows are sorted by the sort key of the schema.
        duplicate_keys: Number of rows with a duplicate key, and examples of such keys.
        text_faults: Number of rows with each text fault, and examples of their keys.
    """

    schema: type[TableSchema]
    paths: tuple[Path, ...]
    problems: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    is_unreadable: bool = False
    rows: int = 0
    rule_violations: Counter[tuple[str, str]] = field(default_factory=Counter)
    is_sorted: bool = True
    duplicate_keys: tuple[int, tuple[str, ...]] = (0, ())
    text_faults: TextFaultCounts = field(default_factory=TextFaultCounts)

    @property
    def is_readable(self) -> bool:
        """Whether the table exists and its rows can be read with the columns of the schema."""
        return bool(self.paths) and not self.is_unreadable

    def scan(self) -> pl.LazyFrame:
        """Scan the rows as a lazy frame with exactly the columns of the schema."""
        if not self.problems:
            return parquet.scan(*self.paths)
        return pl.concat(_select_columns(parquet.scan(p), self.schema) for p in self.paths)

    def add_problem(self, message: str, examples: tuple[str, ...] = ()) -> None:
        """Add a problem that prevents the rows from being checked."""
        self.problems.append((f"{message}; the rows of the table are not checked", examples))
        self.is_unreadable = True


def fill_table_summary(summary: TableSummary, table_path: str) -> TableSummary:
    """Fill in and return the summary of a table by reading the schemas and rows of its files."""
    expected = arrow_schema(summary.schema)
    for path in summary.paths:
        schema = _read_schema(path)
        if isinstance(schema, str):
            summary.add_problem(f"cannot read {path.name}: {schema}")
        elif schema != expected:
            columns = _describe_column_differences(schema, expected)[:EXAMPLE_KEYS]
            message = f"columns of {path.name} differ from schema {summary.schema.signature()}"
            if _has_compatible_columns(schema, expected):
                summary.problems.append((message, columns))
            else:
                summary.add_problem(message, columns)
    if summary.is_readable:
        try:
            _scan_row_groups(summary, _text_fault_expressions(table_path))
        except (OSError, pa.ArrowException, pl.exceptions.PolarsError) as error:
            summary.add_problem(f"cannot read a file of the table: {str(error).splitlines()[0]}")
    return summary


def _has_compatible_columns(actual: pa.Schema, expected: pa.Schema) -> bool:
    """Whether a file has all expected columns with compatible types.

    Other encodings of strings and lists, and extra columns are allowed, because Polars writes
    `large_string`, and pandas may write dictionaries and an index column.
    """
    return all(
        name in actual.names
        and to_plain_arrow_type(actual.field(name).type) == expected.field(name).type
        for name in expected.names
    )


def _select_columns(rows: Rows, schema: type[TableSchema]) -> Rows:
    """Select the columns of a schema, and cast them to its types."""
    return rows.select(pl.col(name).cast(kind) for name, kind in schema.dtypes().items())


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
    """Summary of one Parquet row group, to be added to the `TableSummary` of its table."""

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
            rows = _select_columns(pl.DataFrame(file.read_row_group(number)), summary.schema)
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
    keys = summary.scan().select(key)
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
