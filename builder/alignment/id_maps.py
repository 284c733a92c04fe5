"""The stage `maps`: writes which snapshots contain each document and each query.

Input: documents and queries of all snapshots, sorted by id. Output: `documents_map` and
`queries_map`, one row per id, sorted. The id space is processed in equal ranges, so that memory
does not grow with the collection; row groups outside a range are not read.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.parquet as pq

from builder.alignment.absence import DOC_ID
from builder.alignment.pairing import LOOSE_KEY
from builder.io import parquet
from builder.io.engine import set_variables
from builder.io.tables import Table, create_union_view, write_query
from builder.queries import query_aliases
from builder.runtime.ledger import Ledger, RejectWriter
from builder.runtime.limits import Limits
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
def build_maps(
    out: Path,
    *,
    documents: All[Documents],
    queries: All[Queries],
    limits: Limits,
    progress: Progress,
    variants: All[Variants] | None = None,
    pages: All[Pages] | None = None,
) -> Ledger:
    """Stage: write in which snapshots each document and each query occurs.

    Args:
        out: Existing empty folder; receives both maps and `rejects` (always empty).
        documents: Documents by snapshot name, in order of time.
        queries: Queries by snapshot name, in order of time.
        limits: Memory, threads, scratch space.
        progress: Advances by one per range of ids.
        variants: Query variants by snapshot name; their texts become aliases.
        pages: Pages of the crawls by snapshot name; only `doc` is read. None: unknown.

    Returns:
        The ledger, with counts in document and query ids; none is rejected.
    """
    ledger = Ledger("ids")
    with limits.connect(share=0.5) as connection:
        _create_crawl_view(connection, pages)
        set_variables(connection, snapshots=len(queries))
        connection.register("aliases", collect_aliases(variants or {}).to_arrow())
        for write, tables, name in (
            (write_documents_map, documents, "documents_map"),
            (_write_queries_map, queries, "queries_map"),
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
    """Create the view `all_crawled` of the id and snapshot index of each crawled document."""
    set_variables(connection, crawls_known=pages is not None, names=list(pages or {}))
    relations = [
        table.relation(connection).select(f"{snapshot_index} AS snapshot_index, {DOC_ID}")
        for snapshot_index, table in enumerate((pages or {}).values())
    ]
    if relations:
        create_union_view(relations, "all_crawled")
    else:
        connection.execute(NOTHING_CRAWLED)


def write_documents_map(
    connection: duckdb.DuckDBPyConnection,
    target: Path,
    documents: Mapping[str, Table],
    scratch: Path,
    progress: Progress,
) -> tuple[int, int]:
    """Write `documents_map`; return the numbers of distinct ids and of rows written.

    Args:
        connection: A DuckDB connection not shared with other callers.
        target: The file to write.
        documents: Tables with `doc_id`, `url`, `url_key`, by snapshot in order of time.
        scratch: Folder to create for intermediate files.
        progress: Advances by one per range of ids.
    """
    connection.execute(LOOSE_KEY)
    _write_presence(scratch, documents, "doc_id", ("url", "url_key"), progress)
    return _write_map(connection, target, documents, scratch, "doc_id", DOCUMENTS_MAP, DocumentsMap)


def collect_aliases(variants: Mapping[str, Table]) -> pl.DataFrame:
    """Return all texts that any snapshot merged into a published query: (query_id, aliases)."""
    if not variants:
        return pl.DataFrame(schema={"query_id": pl.String, "aliases": pl.List(pl.String)})
    return (
        query_aliases(variants)
        .group_by("query_id")
        .agg(pl.col("alias").unique().sort().alias("aliases"))
        .sort("query_id")
        .collect()
    )


def _write_queries_map(
    connection: duckdb.DuckDBPyConnection,
    target: Path,
    queries: Mapping[str, Table],
    scratch: Path,
    progress: Progress,
) -> tuple[int, int]:
    """Write `queries_map`; return the numbers of distinct ids and of rows written."""
    _write_presence(scratch, queries, "query_id", ("text",), progress, ("impressions",))
    return _write_map(connection, target, queries, scratch, "query_id", QUERIES_MAP, QueriesMap)


def _write_map(
    connection: duckdb.DuckDBPyConnection,
    target: Path,
    tables: Mapping[str, Table],
    presence_parts: Path,
    column: str,
    sql: str,
    contract: type[TableSchema],
) -> tuple[int, int]:
    """Write a map of ids to snapshots; return the numbers of distinct ids and of rows written."""
    ids = _count_distinct(connection, tables, column)
    parquet.relation(connection, *parquet.list_files(presence_parts)).create_view(
        "snapshot_presence"
    )
    rows = write_query(connection, sql, target, contract)
    connection.execute("DROP VIEW snapshot_presence")
    return ids, rows


def snapshot_presence(
    snapshots: Mapping[str, pl.LazyFrame],
    column: str,
    last_columns: tuple[str, ...],
    list_columns: tuple[str, ...] = (),
) -> pl.LazyFrame:
    """Return one row per id with the list of snapshots that contain it.

    Args:
        snapshots: Rows by snapshot name, in order of time; ids are unique per snapshot.
        column: The id column.
        last_columns: Columns whose value in the last snapshot with the id is returned.
        list_columns: Columns whose values in all snapshots with the id are returned as lists.
    """
    rows = [
        frame.select(
            column,
            *last_columns,
            *list_columns,
            pl.lit(name).alias("snapshots"),
            pl.lit(snapshot_index).alias("snapshot_index"),
        )
        for snapshot_index, (name, frame) in enumerate(snapshots.items())
    ]
    return (
        pl.concat(rows)
        .sort(column, "snapshot_index")
        .group_by(column, maintain_order=True)
        .agg(pl.col(*last_columns).last(), pl.col("snapshots", *list_columns))
    )


def _write_presence(
    folder: Path,
    tables: Mapping[str, Table],
    column: str,
    last_columns: tuple[str, ...],
    progress: Progress,
    list_columns: tuple[str, ...] = (),
) -> None:
    """Write which snapshots contain each id, to one file per range of ids."""
    folder.mkdir()
    ranges = list(id_ranges(tables, column))
    progress.start(f"{column} of all snapshots", len(ranges), "ranges")
    for number, (low, high) in enumerate(ranges):
        within = pl.col(column).is_between(pl.lit(low), pl.lit(high))
        frames = {name: table.scan().filter(within) for name, table in tables.items()}
        rows = snapshot_presence(frames, column, last_columns, list_columns).collect()
        rows.write_parquet(folder / f"part-{number:05d}.parquet")
        progress.advance(1)
    progress.finish()


def id_ranges(tables: Mapping[str, Table], column: str) -> Iterator[tuple[str, str]]:
    """Yield the first and last id of ranges of equal size that contain a bounded number of rows.

    Ids are a letter and 16 hexadecimal digits of an MD5, hence evenly distributed.
    """
    rows = sum(pq.read_metadata(path).num_rows for t in tables.values() for path in t.paths)
    count = max(1, -(-rows // ROWS_PER_RANGE))
    borders = [2**64 * number // count for number in range(count + 1)]
    for low, high in pairwise(borders):
        yield f"{column[0]}{low:016x}", f"{column[0]}{high - 1:016x}"


def _count_distinct(
    connection: duckdb.DuckDBPyConnection, tables: Mapping[str, Table], column: str
) -> int:
    """Count the distinct ids of all tables."""
    paths = (path for table in tables.values() for path in table.paths)
    parquet.relation(connection, *paths).create_view("all_ids")
    sql = f"SELECT count(DISTINCT ('0x' || {column}[2:])::UBIGINT) FROM all_ids"  # noqa: S608
    (count,) = connection.execute(sql).fetchall()[0]
    connection.execute("DROP VIEW all_ids")
    return int(count)
