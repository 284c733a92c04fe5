"""How much each updated document changed.

In: the ids of updated documents and both documents tables. Out: the table `degrees` of a DuckDB
connection: Dice of word sets and Jaccard of shingle sets. Only updated texts are read, in pieces
of bounded size.
"""

from functools import partial

import duckdb
import polars as pl

from builder.alignment.overlap import Versions
from builder.alignment.texts import batches_by_size, read_texts
from builder.io.engine import append_rows
from builder.io.tables import Table
from builder.runtime.executors import ordered_map
from builder.runtime.progress import Progress

UPDATED = """
SELECT doc_id, tokens_from + tokens_to AS tokens
FROM pairing WHERE status = 'updated' ORDER BY doc_id
"""

DEGREE = ("dice", "shingle_jaccard")

IN_CACHE = 600_000
"""Bytes that are compared at a time: the hash tables of their tokens fit a processor's cache."""

DEGREES = "CREATE TEMP TABLE degrees (doc_id VARCHAR, dice DOUBLE, shingle_jaccard DOUBLE)"


def measure_degrees(
    connection: duckdb.DuckDBPyConnection,
    documents_from: Table,
    documents_to: Table,
    shingle: int,
    threads: int,
    progress: Progress,
) -> None:
    """Create `degrees`: one row for each updated document.

    Args:
        connection: Holds the table `pairing`.
        documents_from: Documents of the earlier snapshot.
        documents_to: Documents of the later snapshot.
        shingle: Words in a shingle.
        threads: Pieces of text that are compared at the same time.
        progress: Told of every document.
    """
    connection.execute(DEGREES)
    updated = connection.sql(UPDATED).pl()
    progress.start("degree of change", updated.height, "documents")
    work = partial(compare_texts, documents_from, documents_to, shingle=shingle)
    pieces = (piece["doc_id"] for piece in batches_by_size(updated, "tokens"))
    for measured in ordered_map(work, pieces, threads):
        append_rows(connection, "degrees", measured)
        progress.advance(measured.height)
    progress.finish()


def compare_texts(
    documents_from: Table, documents_to: Table, ids: pl.Series, shingle: int
) -> pl.DataFrame:
    """Dice and shingle Jaccard of the documents with these ids.

    Returns:
        `doc_id`, `dice`, `shingle_jaccard`, sorted by id.
    """
    before, after = read_texts(documents_from, ids), read_texts(documents_to, ids)
    both = before.with_columns(after["text"].alias("later")).with_columns(
        (pl.col("text").str.len_bytes() + pl.col("later").str.len_bytes()).alias("size")
    )
    nothing = before.head(0).select("doc_id", *(pl.lit(0.0).alias(name) for name in DEGREE))
    return pl.concat(
        [nothing, *(_degrees(p, shingle) for p in batches_by_size(both, "size", IN_CACHE))]
    )


def _degrees(texts: pl.DataFrame, shingle: int) -> pl.DataFrame:
    versions = Versions.of(texts["text"], texts["later"])
    measured = (versions.overlap(1).dice(), versions.overlap(shingle).jaccard())
    return texts.select("doc_id", *map(pl.Series, DEGREE, measured))
