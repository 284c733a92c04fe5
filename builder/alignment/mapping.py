"""Which snapshots hold each document and each query: the stage that writes the maps.

In: documents and queries of all snapshots, each sorted by id. Out: `documents_map` and
`queries_map`, one row for each id, sorted. The id space is cut into equal ranges, so that memory
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
from builder.io.tables import Table, view_together, write_query
from builder.queries import query_aliases
from builder.runtime.ledger import Ledger, RejectWriter
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress
from builder.runtime.references import All
from builder.runtime.scope import Scope
from builder.runtime.stage import stage
from schemas import Contract, Documents, DocumentsMap, Pages, Queries, QueriesMap, Variants

ROWS_PER_RANGE = 500_000

DOCUMENTS_MAP = """
WITH twins AS (
    SELECT loose_key(url_key) AS loose_key, min(('0x' || doc_id[2:])::UBIGINT) AS smallest
    FROM presence GROUP BY 1 HAVING count(*) > 1
),
crawled AS (
    SELECT doc_id, list(getvariable('names')[place + 1] ORDER BY place) AS crawled
    FROM all_crawled SEMI JOIN presence USING (doc_id) GROUP BY doc_id
)
SELECT
    doc_id,
    url,
    url_key,
    snapshots,
    'd' || lpad(lower(to_hex(smallest)), 16, '0') AS loose_id,
    CASE WHEN getvariable('crawls_known') THEN coalesce(crawled, []) END AS crawled
FROM presence LEFT JOIN twins ON loose_key(presence.url_key) = twins.loose_key
LEFT JOIN crawled USING (doc_id)
ORDER BY doc_id
"""

NOTHING_CRAWLED = "CREATE TEMP TABLE all_crawled (place BIGINT, doc_id VARCHAR)"

QUERIES_MAP = """
SELECT query_id, text, snapshots, len(snapshots) = getvariable('snapshots') AS core, impressions,
       coalesce(aliases.aliases, []) AS aliases
FROM presence LEFT JOIN aliases USING (query_id)
ORDER BY query_id
"""


@stage("maps", version="2", scope=Scope.COLLECTION, writes=(DocumentsMap, QueriesMap))
def maps(
    out: Path,
    *,
    documents: All[Documents],
    queries: All[Queries],
    limits: Limits,
    progress: Progress,
    variants: All[Variants] | None = None,
    pages: All[Pages] | None = None,
) -> Ledger:
    """Write `documents_map` and `queries_map`.

    Args:
        out: Existing empty folder; receives both maps and `rejects` (always empty).
        documents: Documents of each snapshot, by name, in order of time.
        queries: Queries of each snapshot, by name, in order of time.
        limits: Memory, threads, scratch space.
        progress: Told of every range of ids.
        variants: Which queries stand for which, by name of the snapshot; their texts are aliases.
        pages: Pages that the crawl of each snapshot has; only `doc` is read. Absent: not known.

    Returns:
        Document and query ids; none is rejected.
    """
    ledger = Ledger("ids")
    with limits.connect(share=0.5) as connection:
        _view_crawls(connection, pages)
        connection.execute("SET VARIABLE snapshots = ?", [len(queries)])
        connection.register("aliases", aliases(variants or {}).to_arrow())
        for write, tables, name in (
            (map_documents, documents, "documents_map"),
            (_map_queries, queries, "queries_map"),
        ):
            ids, rows = write(
                connection, out / f"{name}.parquet", tables, limits.scratch / name, progress
            )
            ledger.rows_in += ids
            ledger.rows_out += rows
    with RejectWriter(out, "maps", ledger):
        return ledger


def _view_crawls(connection: duckdb.DuckDBPyConnection, pages: Mapping[str, Table] | None) -> None:
    """Create `all_crawled`: the documents that the crawl of each snapshot has."""
    set_variables(connection, crawls_known=pages is not None, names=list(pages or {}))
    relations = [
        table.rows(connection).select(f"{place} AS place, {DOC_ID}")
        for place, table in enumerate((pages or {}).values())
    ]
    if relations:
        view_together(relations, "all_crawled")
    else:
        connection.execute(NOTHING_CRAWLED)


def map_documents(
    connection: duckdb.DuckDBPyConnection,
    target: Path,
    documents: Mapping[str, Table],
    scratch: Path,
    progress: Progress,
) -> tuple[int, int]:
    """Write `documents_map`; returns the distinct ids read and the rows written.

    Args:
        connection: A private connection.
        target: The file to write.
        documents: Tables with `doc_id`, `url`, `url_key`, by snapshot in order of time.
        scratch: Folder to create for intermediate files.
        progress: Told of every range of ids.
    """
    connection.execute(LOOSE_KEY)
    _write_presence(scratch, documents, "doc_id", ("url", "url_key"), progress)
    return _write_map(connection, target, documents, scratch, "doc_id", DOCUMENTS_MAP, DocumentsMap)


def aliases(variants: Mapping[str, Table]) -> pl.DataFrame:
    """Texts that each published query stands for in any snapshot: (query_id, aliases)."""
    if not variants:
        return pl.DataFrame(schema={"query_id": pl.String, "aliases": pl.List(pl.String)})
    return (
        query_aliases(variants)
        .group_by("query_id")
        .agg(pl.col("alias").unique().sort().alias("aliases"))
        .sort("query_id")
        .collect()
    )


def _map_queries(
    connection: duckdb.DuckDBPyConnection,
    target: Path,
    queries: Mapping[str, Table],
    scratch: Path,
    progress: Progress,
) -> tuple[int, int]:
    _write_presence(scratch, queries, "query_id", ("text",), progress, ("impressions",))
    return _write_map(connection, target, queries, scratch, "query_id", QUERIES_MAP, QueriesMap)


def _write_map(
    connection: duckdb.DuckDBPyConnection,
    target: Path,
    tables: Mapping[str, Table],
    presence_parts: Path,
    column: str,
    sql: str,
    contract: type[Contract],
) -> tuple[int, int]:
    ids = _distinct(connection, tables, column)
    parquet.rows(connection, *parquet.inside(presence_parts)).create_view("presence")
    rows = write_query(connection, sql, target, contract)
    connection.execute("DROP VIEW presence")
    return ids, rows


def presence(
    snapshots: Mapping[str, pl.LazyFrame],
    column: str,
    last: tuple[str, ...],
    each: tuple[str, ...] = (),
) -> pl.LazyFrame:
    """One row for each id: `snapshots` that hold it, and other columns as they were last.

    Args:
        snapshots: Rows of each snapshot by its name, in order of time; ids are unique in each.
        column: The id column.
        last: Columns to take from the last snapshot that holds the id.
        each: Columns to list for every snapshot that holds it.
    """
    rows = [
        frame.select(
            column, *last, *each, pl.lit(name).alias("snapshots"), pl.lit(place).alias("place")
        )
        for place, (name, frame) in enumerate(snapshots.items())
    ]
    return (
        pl.concat(rows)
        .sort(column, "place")
        .group_by(column, maintain_order=True)
        .agg(pl.col(*last).last(), pl.col("snapshots", *each))
    )


def _write_presence(
    folder: Path,
    tables: Mapping[str, Table],
    column: str,
    last: tuple[str, ...],
    progress: Progress,
    each: tuple[str, ...] = (),
) -> None:
    folder.mkdir()
    ranges = list(id_ranges(tables, column))
    progress.start(f"{column} of all snapshots", len(ranges), "ranges")
    for number, (low, high) in enumerate(ranges):
        within = pl.col(column).is_between(pl.lit(low), pl.lit(high))
        frames = {name: table.scan().filter(within) for name, table in tables.items()}
        rows = presence(frames, column, last, each).collect()
        rows.write_parquet(folder / f"part-{number:05d}.parquet")
        progress.advance(1)
    progress.finish()


def id_ranges(tables: Mapping[str, Table], column: str) -> Iterator[tuple[str, str]]:
    """First and last id of equal ranges of the id space, each with a bounded number of rows.

    Ids are a letter and 16 hexadecimal digits of md5, hence evenly spread.
    """
    rows = sum(pq.read_metadata(path).num_rows for t in tables.values() for path in t.paths)
    count = max(1, -(-rows // ROWS_PER_RANGE))
    borders = [2**64 * number // count for number in range(count + 1)]
    for low, high in pairwise(borders):
        yield f"{column[0]}{low:016x}", f"{column[0]}{high - 1:016x}"


def _distinct(
    connection: duckdb.DuckDBPyConnection, tables: Mapping[str, Table], column: str
) -> int:
    paths = (path for table in tables.values() for path in table.paths)
    parquet.rows(connection, *paths).create_view("all_ids")
    sql = f"SELECT count(DISTINCT ('0x' || {column}[2:])::UBIGINT) FROM all_ids"  # noqa: S608
    (count,) = connection.execute(sql).fetchall()[0]
    connection.execute("DROP VIEW all_ids")
    return int(count)
