"""Compares the rows of two versions of a table.

Rows are matched by the primary key of the schema and compared by a hash of the other columns, so
that only keys and hashes are kept in memory. Rows with the same key are matched in the order in
which they occur.
"""

from collections.abc import Collection
from dataclasses import dataclass

import polars as pl

from builder.collection.export.markup import document_body_expr
from builder.errors import FormatError
from builder.io.tables import Table
from builder.text.keys import format_keys

RELEASE_COLUMNS: dict[str, dict[str, pl.Expr]] = {
    "documents": {
        "french": document_body_expr("title", "text"),
        "english": document_body_expr("title_en", "text_en"),
    },
    "queries": {"text": pl.col("text"), "text_en": pl.col("text_en")},
    "qrels": {"grade": pl.col("grade")},
}
"""Expressions that are compared instead of columns if a version is an imported release, by table
name and name of the compared value."""
TIME_COLUMNS = {"fetched_at": pl.col("fetched_at")}
"""Columns of `documents` that are also compared if all releases are in layout `longeval-web`."""
TRANSLATED_COLUMNS = ("english", "text_en")
"""Names in `RELEASE_COLUMNS` that are not compared if a release is in layout `longeval-sci`."""

ReleaseIdFrame = pl.DataFrame | None
"""Frame with schema `schemas.ReleaseIds`; None for a version that was not imported."""


@dataclass(frozen=True)
class TableDifference:
    """Differences between two versions of a table: added, removed and changed rows and columns.

    Args:
        table: Path of the table in the version folder.
        added: Number of rows whose key is only in the new table.
        removed: Number of rows whose key is only in the old table.
        changed: Number of rows whose key is in both tables, but with different values.
        examples: Keys of the first differing rows, at most three.
        columns: One line per column that exists in only one version or whose type differs; rows
            are compared by the remaining columns.
    """

    table: str
    added: int
    removed: int
    changed: int
    examples: tuple[str, ...]
    columns: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the two tables are equal."""
        return not (self.added or self.removed or self.changed or self.columns)


def release_value_exprs(table: str, layouts: Collection[str]) -> dict[str, pl.Expr]:
    """Return the expressions to compare in a table if a version is an imported release.

    Args:
        table: Name of the table, one of `RELEASE_COLUMNS`.
        layouts: File layouts of the imported releases that are compared.
    """
    exprs = dict(RELEASE_COLUMNS[table])
    if table == "documents" and {*layouts} == {"longeval-web"}:
        exprs |= TIME_COLUMNS
    omitted = TRANSLATED_COLUMNS if "longeval-sci" in layouts else ()
    return {name: expr for name, expr in exprs.items() if name not in omitted}


def compare_tables(
    path: str,
    old: Table,
    new: Table,
    value_exprs: dict[str, pl.Expr] | None,
    release_ids: tuple[ReleaseIdFrame, ReleaseIdFrame] = (None, None),
) -> TableDifference:
    """Compare two versions of a table and count the rows that differ.

    Args:
        path: Path of the table in the version folder, copied to the result.
        old: Table of the old version; a table without files is treated as empty.
        new: Table of the new version, treated in the same way.
        value_exprs: Expressions to compare, such as the result of `release_value_exprs`; if None,
            all columns are compared.
        release_ids: `schemas.ReleaseIds` tables of the old and new version. If a version has such a
            table, its ids are replaced by keys before rows are matched.

    Raises:
        FormatError: A key column differs, so rows cannot be matched.
    """
    schema = old.schema
    keys = list(schema.sort_columns() if not schema.primary_key() else schema.primary_key())
    columns = {} if value_exprs else _column_differences(old, new)
    if not columns.keys().isdisjoint(keys):
        lines = "; ".join(line for name, line in columns.items() if name in keys)
        raise FormatError(
            f"expected the same key columns in both versions, found {lines}; if `longeval "
            "validate` finds no error in either version, rebuild the old version to compare it",
            path,
        )
    names = [name for name in schema.columns() if name not in (*keys, *columns)]
    compared = value_exprs or {name: pl.col(name) for name in names}
    sides = [
        _hash_rows(*side, keys, compared).with_columns(occurrence=pl.int_range(pl.len()).over(keys))
        for side in zip((old, new), release_ids, strict=True)
    ]
    both = sides[0].join(
        sides[1],
        on=[*keys, "occurrence"],
        how="full",
        coalesce=True,
        nulls_equal=True,
        suffix="_new",
    )
    differing = both.filter(~pl.col("row").eq_missing(pl.col("row_new"))).sort(keys).collect()
    removed, added = differing["row_new"].is_null(), differing["row"].is_null()
    examples = format_keys(differing.select(keys).head(3))
    changed = differing.height - int(removed.sum()) - int(added.sum())
    return TableDifference(
        path,
        int(added.sum()),
        int(removed.sum()),
        changed,
        tuple(examples),
        tuple(columns.values()),
    )


def _column_differences(old: Table, new: Table) -> dict[str, str]:
    """Return a description of each column that differs, such as `crawled: added`, by column name.

    A table without files is assumed to have all columns of its schema.
    """
    before, after = (
        side.scan().collect_schema() if side.paths else pl.Schema(side.schema.dtypes())
        for side in (old, new)
    )
    return {
        name: f"{name}: added"
        if name not in before
        else f"{name}: removed"
        if name not in after
        else f"{name}: {before[name]} -> {after[name]}"
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
    }


def _hash_rows(
    table: Table, release_ids: ReleaseIdFrame, keys: list[str], value_exprs: dict[str, pl.Expr]
) -> pl.LazyFrame:
    """Return the key columns of a table, and a column `row` with a hash of the compared values."""
    if not table.paths:
        empty = pl.DataFrame(schema=table.schema.dtypes()).lazy().select(keys)
        return empty.with_columns(row=pl.lit(None, dtype=pl.UInt64))
    columns = [value.alias(name) for name, value in value_exprs.items()]
    row = pl.struct(columns).hash() if columns else pl.lit(1, dtype=pl.UInt64)
    rows = table.scan().select(*keys, row=row)
    if release_ids is None:
        return rows
    for column in keys:
        kind = {"doc_id": "document", "query_id": "query"}[column]
        stable = release_ids.lazy().filter(kind=kind).select("key", pl.col("id").alias(column))
        rows = rows.join(stable, on=column).with_columns(pl.col("key").alias(column)).drop("key")
    return rows
