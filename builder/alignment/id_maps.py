"""The stage `maps`: lists the snapshots that contain each document and each query.

Input: documents and queries of all snapshots, sorted by id. Output: `documents_map` and
`queries_map`, with one row per id, sorted by id. Ids are processed in ranges of equal size, so that
memory use does not grow with the collection; only row groups that overlap a range are read.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.parquet as pq

from builder.alignment.absence import DOC_ID
from builder.documents.loose_keys import LOOSE_KEY
from builder.io import parquet
from builder.io.engine import set_sql_variables
from builder.io.tables import Table, create_union_view, write_query_result
from builder.queries import query_aliases
from builder.runtime.ledger import RejectWriter, RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress
from builder.runtime.references import All
from builder.runtime.scope import Scope
from builder.runtime.stage import stage
from schemas import Documents, DocumentsMap, Pages, Queries, QueriesMap, TableSchema, Variants

ROWS_PER_RANGE = 500_000

DOCUMENTS_MAP = """
WITH twins AS (
    SELECT loose_key(url_key) AS loose_key, min(('0x' || doc_id[2:])::UBIGINT) AS smallest
    FROM snapshot_presence GROUP BY 1 HAVING count(*) > 1
),
crawled AS (
    SELECT doc_id, list(getvariable('names')[snapshot_index + 1] ORDER BY snapshot_index) AS crawled
    FROM all_crawled SEMI JOIN snapshot_presence USING (doc_id) GROUP BY doc_id
)
SELECT
    doc_id,
    url,
    url_key,
    snapshots,
    'd' || lpad(lower(to_hex(smallest)), 16, '0') AS loose_id,
    CASE WHEN getvariable('crawls_known') THEN coalesce(crawled, []) END AS crawled
FROM snapshot_presence LEFT JOIN twins ON loose_key(snapshot_presence.url_key) = twins.loose_key
LEFT JOIN crawled USING (doc_id)
ORDER BY doc_id
"""

NOTHING_CRAWLED = "CREATE TEMP TABLE all_crawled (snapshot_index BIGINT, doc_id VARCHAR)"

QUERIES_MAP = """
SELECT query_id, text, snapshots, len(snapshots) = getvariable('snapshots') AS core, impressions,
       coalesce(aliases.aliases, []) AS aliases
FROM snapshot_presence LEFT JOIN aliases USING (query_id)
ORDER BY query_id
"""


@stage("maps", version="2", scope=Scope.COLLECTION, writes=(DocumentsMap, QueriesMap))
def build_id_maps(
    out: Path,
    *,
    documents: All[Documents],
    queries: All[Queries],
    limits: ResourceLimits,
    progress: Progress,
    variants: All[Variants] | None = None,
    pages: All[Pages] | None = None,
) -> RowLedger:
    """Write two tables that list the snapshots containing each document and each query.

    Args:
        out: Output folder for the two maps and `rejects` (always empty); must exist.
        documents: Documents by snapshot name, in chronological order.
        queries: Queries by snapshot name, in chronological order.
        limits: Memory limit, number of threads and scratch folder.
        progress: Advances by one per range of ids.
        variants: Query variants by snapshot name; their texts become aliases of queries. None if
            unknown.
        pages: Pages of the crawls by snapshot name, in chronological order; only `doc` is read.
            None if unknown.

    Returns:
        Ledger (numbers of ids read, kept and rejected) of documents and queries; no id is rejected.
    """
    ledger = RowLedger("ids")
    with limits.connect_to_duckdb(memory_share=0.5) as connection:
        _create_crawl_view(connection, pages)
        set_sql_variables(connection, snapshots=len(queries))
        connection.register("aliases", collect_aliases(variants or {}).to_arrow())
        for write, tables, name in (
            (write_document_id_map, documents, "documents_map"),
            (_write_query_id_map, queries, "queries_map"),
        ):
            ids, rows = write(
                connection, out / f"{name}.parquet", tables, limits.scratch / name, progress
            )
            ledger.rows_in += ids
            ledger.rows_out += rows
    with RejectWriter(out, "maps", ledger):
        return ledger


def _create_crawl_view(
    connection: duckdb.DuckDBPyConnection, pages: Mapping[str, Table] | None
) -> None:
    """Create the view `all_crawled`: `doc_id` and `snapshot_index` of every crawled document."""
    set_sql_variables(connection, crawls_known=pages is not None, names=list(pages or {}))
    relations = [
        table.relation(connection).select(f"{snapshot_index} AS snapshot_index, {DOC_ID}")
        for snapshot_index, table in enumerate((pages or {}).values())
    ]
    if relations:
        create_union_view(relations, "all_crawled")
    else:
        connection.execute(NOTHING_CRAWLED)


def write_document_id_map(
    connection: duckdb.DuckDBPyConnection,
    target: Path,
    documents: Mapping[str, Table],
    scratch: Path,
    progress: Progress,
) -> tuple[int, int]:
    """Write `documents_map`; return the number of distinct ids and the number of rows.

    Args:
        connection: DuckDB connection that no other caller uses.
        target: Parquet file to write.
        documents: Tables with `doc_id`, `url` and `url_key` by snapshot name, in chronological
            order.
        scratch: Folder for temporary files, which is created.
        progress: Advances by one per range of ids.
    """
    connection.execute(LOOSE_KEY)
    _write_snapshot_presence(scratch, documents, "doc_id", ("url", "url_key"), progress)
    return _write_id_map(
        connection, target, documents, scratch, "doc_id", DOCUMENTS_MAP, DocumentsMap
    )


def collect_aliases(variants: Mapping[str, Table]) -> pl.DataFrame:
    """Return the query texts that were merged into each published query in any snapshot.

    Returns:
        Columns `query_id` and `aliases` (sorted list of distinct texts).
    """
    if not variants:
        return pl.DataFrame(schema={"query_id": pl.String, "aliases": pl.List(pl.String)})
    return (
        query_aliases(variants)
        .group_by("query_id")
        .agg(pl.col("alias").unique().sort().alias("aliases"))
        .sort("query_id")
        .collect()
    )


def _write_query_id_map(
    connection: duckdb.DuckDBPyConnection,
    target: Path,
    queries: Mapping[str, Table],
    scratch: Path,
    progress: Progress,
) -> tuple[int, int]:
    """Write `queries_map`; return the number of distinct ids and the number of rows."""
    _write_snapshot_presence(scratch, queries, "query_id", ("text",), progress, ("impressions",))
    return _write_id_map(connection, target, queries, scratch, "query_id", QUERIES_MAP, QueriesMap)


def _write_id_map(
    connection: duckdb.DuckDBPyConnection,
    target: Path,
    tables: Mapping[str, Table],
    presence_folder: Path,
    id_column: str,
    sql: str,
    schema: type[TableSchema],
) -> tuple[int, int]:
    """Write a map from ids to snapshots; return the number of distinct ids and the number of rows.

    Args:
        connection: DuckDB connection that no other caller uses.
        target: Parquet file to write.
        tables: Tables by snapshot name.
        presence_folder: Folder with the files that `_write_snapshot_presence` wrote.
        id_column: Name of the id column.
        sql: SQL query for the map, which reads the view `snapshot_presence`.
        schema: Schema of the map.
    """
    ids = _count_distinct_ids(connection, tables, id_column)
    parquet.read_parquet_relation(connection, *parquet.list_files(presence_folder)).create_view(
        "snapshot_presence"
    )
    rows = write_query_result(connection, sql, target, schema)
    connection.execute("DROP VIEW snapshot_presence")
    return ids, rows


def snapshot_presence(
    snapshots: Mapping[str, pl.LazyFrame],
    id_column: str,
    last_value_columns: tuple[str, ...],
    list_columns: tuple[str, ...] = (),
) -> pl.LazyFrame:
    """Return one row per id, with the list of the snapshots that contain it.

    Args:
        snapshots: Rows by snapshot name, in chronological order; ids are unique per snapshot.
        id_column: Name of the id column.
        last_value_columns: Columns for which the value in the last snapshot that contains the id
            is returned.
        list_columns: Columns for which the values in all snapshots that contain the id are
            returned as a list.
    """
    rows = [
        frame.select(
            id_column,
            *last_value_columns,
            *list_columns,
            pl.lit(name).alias("snapshots"),
            pl.lit(snapshot_index).alias("snapshot_index"),
        )
        for snapshot_index, (name, frame) in enumerate(snapshots.items())
    ]
    return (
        pl.concat(rows)
        .sort(id_column, "snapshot_index")
        .group_by(id_column, maintain_order=True)
        .agg(pl.col(*last_value_columns).last(), pl.col("snapshots", *list_columns))
    )


def _write_snapshot_presence(
    folder: Path,
    tables: Mapping[str, Table],
    id_column: str,
    last_value_columns: tuple[str, ...],
    progress: Progress,
    list_columns: tuple[str, ...] = (),
) -> None:
    """Write one file per range of ids, with the list of snapshots that contain each id.

    Args:
        folder: Output folder, which is created.
        tables: Tables by snapshot name, in chronological order.
        id_column: Name of the id column.
        last_value_columns: See `snapshot_presence`.
        progress: Advances by one per range.
        list_columns: See `snapshot_presence`.
    """
    folder.mkdir()
    ranges = list(id_ranges(tables, id_column))
    progress.start(f"{id_column} of all snapshots", len(ranges), "ranges")
    for number, (low, high) in enumerate(ranges):
        within = pl.col(id_column).is_between(pl.lit(low), pl.lit(high))
        frames = {name: table.scan().filter(within) for name, table in tables.items()}
        rows = snapshot_presence(frames, id_column, last_value_columns, list_columns).collect()
        rows.write_parquet(folder / f"part-{number:05d}.parquet")
        progress.advance(1)
    progress.finish()


def id_ranges(tables: Mapping[str, Table], id_column: str) -> Iterator[tuple[str, str]]:
    """Split the id space into equal ranges; yield the first and last id of each range.

    An id is a letter followed by 16 hexadecimal digits of an MD5 hash. Ids are therefore evenly
    distributed, and a range has about `ROWS_PER_RANGE` rows or fewer.
    """
    rows = sum(pq.read_metadata(path).num_rows for t in tables.values() for path in t.paths)
    count = max(1, -(-rows // ROWS_PER_RANGE))
    borders = [2**64 * number // count for number in range(count + 1)]
    for low, high in pairwise(borders):
        yield f"{id_column[0]}{low:016x}", f"{id_column[0]}{high - 1:016x}"


def _count_distinct_ids(
    connection: duckdb.DuckDBPyConnection, tables: Mapping[str, Table], id_column: str
) -> int:
    """Return the number of distinct ids in all tables."""
    paths = (path for table in tables.values() for path in table.paths)
    parquet.read_parquet_relation(connection, *paths).create_view("all_ids")
    sql = f"SELECT count(DISTINCT ('0x' || {id_column}[2:])::UBIGINT) FROM all_ids"  # noqa: S608
    (count,) = connection.execute(sql).fetchall()[0]
    connection.execute("DROP VIEW all_ids")
    return int(count)
