"""Which rows of two versions of a table differ.

Rows are matched by the primary key of the contract and compared by a hash of their other columns,
so that texts are read once and only keys are held.
"""

from dataclasses import dataclass

import polars as pl

from builder.collection.export.markup import lines
from builder.io.tables import Table

CARRIED: dict[str, dict[str, pl.Expr]] = {
    "documents": {
        "french": lines(pl.col("title"), pl.col("text")),
        "english": lines(pl.col("title_en"), pl.col("text_en")),
    },
    "queries": {"text": pl.col("text"), "text_en": pl.col("text_en")},
    "qrels": {"grade": pl.col("grade")},
}
"""What every layout of a release carries of a table, beside its key."""
TIMES = {"fetched_at": pl.col("fetched_at")}
"""What `longeval-web` carries of documents as well."""

Ids = pl.DataFrame | None
"""`schemas.ReleaseIds` of a side that is to be compared by keys."""


@dataclass(frozen=True)
class TableDifference:
    """How many rows differ.

    Args:
        table: Path of the table in a version.
        added: Rows whose key only the new one has.
        removed: Rows whose key only the old one has.
        changed: Rows whose key both have, with other values.
        examples: Keys of the first of them, at most three.
    """

    table: str
    added: int
    removed: int
    changed: int
    examples: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Whether the tables hold the same."""
        return not (self.added or self.removed or self.changed)


def compare_tables(
    path: str,
    old: Table,
    new: Table,
    values: dict[str, pl.Expr] | None,
    ids: tuple[Ids, Ids] = (None, None),
) -> TableDifference:
    """Compare two versions of a table.

    Args:
        path: Its path, for the result.
        old: Parts of the old version; none: an empty table.
        new: Parts of the new version.
        values: What is compared, such as of `CARRIED`; None: all columns.
        ids: Of a side that is compared by keys, its ids.
    """
    contract = old.contract
    keys = list(contract.sort_key() if not contract.primary_key() else contract.primary_key())
    names = [name for name in contract.columns() if name not in keys]
    compared = values or {name: pl.col(name) for name in names}
    sides = [_hashed(*side, keys, compared) for side in zip((old, new), ids, strict=True)]
    both = sides[0].join(
        sides[1], on=keys, how="full", coalesce=True, nulls_equal=True, suffix="_new"
    )
    found = both.filter(~pl.col("row").eq_missing(pl.col("row_new"))).sort(keys).collect()
    removed, added = found["row_new"].is_null(), found["row"].is_null()
    examples = [" ".join(map(str, row)) for row in found.select(keys).head(3).iter_rows()]
    changed = found.height - int(removed.sum()) - int(added.sum())
    return TableDifference(path, int(added.sum()), int(removed.sum()), changed, tuple(examples))


def _hashed(table: Table, ids: Ids, keys: list[str], values: dict[str, pl.Expr]) -> pl.LazyFrame:
    """Keys and a hash of the other columns, for comparison within this process."""
    if not table.paths:
        empty = pl.DataFrame(schema=table.contract.dtypes()).lazy().select(keys)
        return empty.with_columns(row=pl.lit(None, dtype=pl.UInt64))
    named = [value.alias(name) for name, value in values.items()]
    row = pl.struct(named).hash() if named else pl.lit(1, dtype=pl.UInt64)
    found = table.scan().select(*keys, row=row)
    if ids is None:
        return found
    for column in keys:
        kind = {"doc_id": "document", "query_id": "query"}[column]
        keyed = ids.lazy().filter(kind=kind).select("key", pl.col("id").alias(column))
        found = found.join(keyed, on=column).with_columns(pl.col("key").alias(column)).drop("key")
    return found
