"""DuckDB views that combine the tables of all snapshots of a collection.

Each view reads the Parquet files of one table; the SQL of a view is also available as text. In
addition to the columns of the table, the view of a snapshot table has the column `snapshot` and the
aligned ids `query_key` and `doc_key`, which differ from `query_id` and `doc_id` only in imported
releases (see `schemas.ReleaseIds`).
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path

import duckdb
import pyarrow as pa

from builder.collection import layout
from builder.collection.read import Collection
from builder.explore.statements import sql_literal
from builder.io import parquet
from builder.io.tables import Table, arrow_schema, table_at
from schemas import TABLES

COLLECTION_TABLES = {**layout.COLLECTION_TABLES, **layout.CHANGE_TABLES}
SNAPSHOT_TABLES = {**layout.SNAPSHOT_TABLES, **layout.RELEASE_TABLES, "rejects": "rejects"}
VIEW_NAMES = frozenset({*COLLECTION_TABLES, *SNAPSHOT_TABLES})
"""Names of the tables for which a view can be created."""
ID_COLUMNS = {
    "documents": {"doc_id": "document"},
    "queries": {"query_id": "query"},
    "qrels": {"query_id": "query", "doc_id": "document"},
}
"""Id columns that may differ between snapshots, with their kind in `ReleaseIds`, by table."""

Relation = duckdb.DuckDBPyRelation


def tables_by_snapshot(collection: Collection, name: str) -> Iterator[tuple[Table, str | None]]:
    """Yield each snapshot's table of the given name, paired with the name of the snapshot.

    A table of the whole collection is yielded once, paired with None.
    """
    if name in COLLECTION_TABLES:
        yield table_at(collection.path, COLLECTION_TABLES[name], TABLES[name]), None
        return
    for snapshot in collection.snapshots:
        folder = collection.snapshot(snapshot).folder
        yield table_at(folder, SNAPSHOT_TABLES[name], TABLES[name]), snapshot


def create_view(connection: duckdb.DuckDBPyConnection, collection: Collection, name: str) -> None:
    """Create the view of a table, or an empty table if the collection has no files for it.

    Raises:
        FormatError: The document files are missing, or a file is not a Parquet file.
        duckdb.Error: DuckDB cannot read a file, or a column is missing.
    """
    relations = []
    for table, snapshot in tables_by_snapshot(collection, name):
        if table.paths:
            relations.append(_file_relation(connection, collection, table, name, snapshot))
        elif name == "documents" and snapshot is not None:
            collection.snapshot(snapshot).document_files()  # raises if files are missing
    if relations:
        reduce(lambda all_rows, rows: all_rows.union(rows), relations).create_view(name)
    else:
        connection.from_arrow(_create_empty_table(name)).create(name)


def _file_relation(
    connection: duckdb.DuckDBPyConnection,
    collection: Collection,
    table: Table,
    name: str,
    snapshot: str | None,
) -> Relation:
    parquet.check_readable(*table.paths)
    columns = TABLES[name].dtypes()
    rows = table.relation(connection).select(*map(duckdb.ColumnExpression, columns))
    if snapshot is None:
        return rows
    for column, kind in ID_COLUMNS.get(name, {}).items():
        rows = _add_key_column(
            connection, rows, _release_ids_table(collection, snapshot), column, kind
        )
    if "snapshot" in columns:
        return rows
    label = duckdb.ConstantExpression(snapshot).alias("snapshot")
    return rows.select(label, duckdb.StarExpression())


def _release_ids_table(collection: Collection, snapshot: str) -> Table:
    folder = collection.snapshot(snapshot).folder
    return table_at(folder, "release_ids", TABLES["release_ids"])


def key_column_name(column: str) -> str:
    """Return the name of the column of aligned ids for an id column: `doc_key` for `doc_id`."""
    return column.replace("_id", "_key")


def _add_key_column(
    connection: duckdb.DuckDBPyConnection, rows: Relation, ids: Table, column: str, kind: str
) -> Relation:
    """Add a column of aligned ids for an id column, such as `doc_key` for `doc_id`."""
    own, key = duckdb.ColumnExpression(column), key_column_name(column)
    if not ids.paths:
        return rows.select(duckdb.StarExpression(), own.alias(key))
    parquet.check_readable(*ids.paths)
    known = ids.relation(connection)
    known = known.filter(duckdb.ColumnExpression("kind") == duckdb.ConstantExpression(kind))
    names = (duckdb.ColumnExpression(n).alias(a) for n, a in (("id", column), ("key", "known")))
    stable = duckdb.CoalesceOperator(duckdb.ColumnExpression("known"), own).alias(key)
    joined = rows.join(known.select(*names), column, how="left")
    return joined.select(duckdb.StarExpression(exclude=["known"]), stable)


def _create_empty_table(name: str) -> pa.Table:
    """Return an empty table with the columns that the view of a table would have."""
    schema = arrow_schema(TABLES[name])
    if name in SNAPSHOT_TABLES:
        for column in ("snapshot", *map(key_column_name, ID_COLUMNS.get(name, ()))):
            if column not in schema.names:
                schema = schema.append(pa.field(column, pa.string()))
    return schema.empty_table()


def create_view_sql(collection: Collection, name: str) -> str:
    """Return the SQL that creates the view of a table, with all values as quoted literals."""
    parts = [
        _create_select_sql(collection, name, table.paths, snapshot)
        for table, snapshot in tables_by_snapshot(collection, name)
        if table.paths
    ]
    if not parts:
        parts = [f"SELECT {_empty_view_columns_sql(name)} WHERE false"]
    return f"CREATE OR REPLACE TEMP VIEW {name} AS\n" + "\nUNION ALL\n".join(parts) + ";"


def _empty_view_columns_sql(name: str) -> str:
    with duckdb.connect() as connection:
        relation = connection.from_arrow(_create_empty_table(name))
        kinds = zip(relation.columns, relation.types, strict=True)
        return ", ".join(f"NULL::{kind} AS {column}" for column, kind in kinds)


def _create_select_sql(
    collection: Collection, name: str, paths: Sequence[Path], snapshot: str | None
) -> str:
    columns = list(TABLES[name].dtypes())
    chosen, joins = [f"own.{column}" for column in columns], ""
    if snapshot is not None:
        if "snapshot" not in columns:
            chosen.insert(0, f"{sql_literal(snapshot)} AS snapshot")
        ids = _release_ids_table(collection, snapshot).paths
        for column, kind in ID_COLUMNS.get(name, {}).items():
            if not ids:
                chosen.append(f"own.{column} AS {key_column_name(column)}")
                continue
            chosen.append(f"coalesce({kind}.key, own.{column}) AS {key_column_name(column)}")
            joins += (
                f"\nLEFT JOIN (FROM {parquet.render_read_parquet_call(*ids)}"
                f" WHERE kind = {sql_literal(kind)}) AS {kind} ON {kind}.id = own.{column}"
            )
    return (
        f"SELECT {', '.join(chosen)}\nFROM {parquet.render_read_parquet_call(*paths)} AS own{joins}"
    )
