"""Views of the tables of a collection: all snapshots together, under ids that are the same in each.

In: a collection and the name of a table. Out: a DuckDB relation over its Parquet files, or the same
as SQL text that a person can run elsewhere. A view of a snapshot's table has the columns of its
contract, `snapshot`, and the stable ids `query_key` and `doc_key`, which are other ones than
`query_id` and `doc_id` in imported releases alone (see `schemas.ReleaseIds`).
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path

import duckdb
import pyarrow as pa

from builder.collection import layout
from builder.collection.read import Collection
from builder.explore.statements import literal
from builder.io import parquet
from builder.io.tables import Table, arrow_schema, table_at
from schemas import TABLES

OF_COLLECTION = {**layout.COLLECTION_TABLES, **layout.CHANGE_TABLES}
OF_SNAPSHOT = {**layout.SNAPSHOT_TABLES, **layout.RELEASE_TABLES, "rejects": "rejects"}
NAMES = frozenset({*OF_COLLECTION, *OF_SNAPSHOT})
"""Every table that has a view."""
KEYS = {
    "documents": {"doc_id": "document"},
    "queries": {"query_id": "query"},
    "qrels": {"query_id": "query", "doc_id": "document"},
}
"""Columns with the ids of a snapshot, and what `ReleaseIds` calls their kind."""

Relation = duckdb.DuckDBPyRelation


def files(collection: Collection, name: str) -> Iterator[tuple[Table, str | None]]:
    """The table of each snapshot with its name; or the only one, which is of no snapshot."""
    if name in OF_COLLECTION:
        yield table_at(collection.path, OF_COLLECTION[name], TABLES[name]), None
        return
    for snapshot in collection.snapshots:
        folder = collection.snapshot(snapshot).folder
        yield table_at(folder, OF_SNAPSHOT[name], TABLES[name]), snapshot


def create_view(connection: duckdb.DuckDBPyConnection, collection: Collection, name: str) -> None:
    """Create the view of a table; an empty table where the collection has no file of it.

    Raises:
        FormatError: a file is damaged.
        duckdb.Error: a file is damaged, or lacks a column.
    """
    found = []
    for table, snapshot in files(collection, name):
        if table.paths:
            found.append(_of_snapshot(connection, collection, table, name, snapshot))
        elif name == "documents" and snapshot is not None:
            collection.snapshot(snapshot).document_files()  # an error where some are counted
    if found:
        reduce(lambda whole, part: whole.union(part), found).create_view(name)
    else:
        connection.from_arrow(_nothing(name)).create(name)


def _of_snapshot(
    connection: duckdb.DuckDBPyConnection,
    collection: Collection,
    table: Table,
    name: str,
    snapshot: str | None,
) -> Relation:
    parquet.check(*table.paths)
    columns = TABLES[name].dtypes()
    rows = table.relation(connection).select(*map(duckdb.ColumnExpression, columns))
    if snapshot is None:
        return rows
    for column, kind in KEYS.get(name, {}).items():
        rows = _keyed(connection, rows, _ids(collection, snapshot), column, kind)
    if "snapshot" in columns:
        return rows
    label = duckdb.ConstantExpression(snapshot).alias("snapshot")
    return rows.select(label, duckdb.StarExpression())


def _ids(collection: Collection, snapshot: str) -> Table:
    folder = collection.snapshot(snapshot).folder
    return table_at(folder, "release_ids", TABLES["release_ids"])


def key_of(column: str) -> str:
    """Name of the stable id next to an id of a snapshot."""
    return column.replace("_id", "_key")


def _keyed(
    connection: duckdb.DuckDBPyConnection, rows: Relation, ids: Table, column: str, kind: str
) -> Relation:
    """Rows with the stable id of a column."""
    own, key = duckdb.ColumnExpression(column), key_of(column)
    if not ids.paths:
        return rows.select(duckdb.StarExpression(), own.alias(key))
    parquet.check(*ids.paths)
    known = ids.relation(connection)
    known = known.filter(duckdb.ColumnExpression("kind") == duckdb.ConstantExpression(kind))
    names = (duckdb.ColumnExpression(n).alias(a) for n, a in (("id", column), ("key", "known")))
    stable = duckdb.CoalesceOperator(duckdb.ColumnExpression("known"), own).alias(key)
    joined = rows.join(known.select(*names), column, how="left")
    return joined.select(duckdb.StarExpression(exclude=["known"]), stable)


def _nothing(name: str) -> pa.Table:
    """An empty table with the columns of a view."""
    schema = arrow_schema(TABLES[name])
    if name in OF_SNAPSHOT:
        for column in ("snapshot", *map(key_of, KEYS.get(name, ()))):
            if column not in schema.names:
                schema = schema.append(pa.field(column, pa.string()))
    return schema.empty_table()


def view_text(collection: Collection, name: str) -> str:
    """The definition of a view as SQL, for people; values are quoted literals."""
    parts = [
        _text(collection, name, table.paths, snapshot)
        for table, snapshot in files(collection, name)
        if table.paths
    ]
    if not parts:
        parts = [f"SELECT {_empty_columns(name)} WHERE false"]
    return f"CREATE OR REPLACE TEMP VIEW {name} AS\n" + "\nUNION ALL\n".join(parts) + ";"


def _empty_columns(name: str) -> str:
    with duckdb.connect() as connection:
        relation = connection.from_arrow(_nothing(name))
        kinds = zip(relation.columns, relation.types, strict=True)
        return ", ".join(f"NULL::{kind} AS {column}" for column, kind in kinds)


def _text(collection: Collection, name: str, paths: Sequence[Path], snapshot: str | None) -> str:
    columns = list(TABLES[name].dtypes())
    chosen, joins = [f"own.{column}" for column in columns], ""
    if snapshot is not None:
        if "snapshot" not in columns:
            chosen.insert(0, f"{literal(snapshot)} AS snapshot")
        ids = _ids(collection, snapshot).paths
        for column, kind in KEYS.get(name, {}).items():
            if not ids:
                chosen.append(f"own.{column} AS {key_of(column)}")
                continue
            chosen.append(f"coalesce({kind}.key, own.{column}) AS {key_of(column)}")
            joins += (
                f"\nLEFT JOIN (FROM {parquet.to_sql(*ids)}"
                f" WHERE kind = {literal(kind)}) AS {kind} ON {kind}.id = own.{column}"
            )
    return f"SELECT {', '.join(chosen)}\nFROM {parquet.to_sql(*paths)} AS own{joins}"
