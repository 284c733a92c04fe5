"""Measures how much the text of each updated document changed.

Input: the ids of updated documents and both documents tables. Output: the table `degrees` of a
DuckDB connection: Dice coefficient of the word sets and Jaccard coefficient of the shingle sets.
Only updated texts are read, in batches of bounded size.
"""

from functools import partial

import duckdb
import polars as pl

from builder.alignment.overlap import EncodedVersions
from builder.alignment.texts import read_texts, split_by_size
from builder.io.engine import append_rows
from builder.io.tables import Table
from builder.runtime.executors import ordered_map
from builder.runtime.progress import Progress

UPDATED = """
SELECT doc_id, tokens_from + tokens_to AS tokens
FROM pairing WHERE status = 'updated' ORDER BY doc_id
"""

DEGREE_COLUMNS = ("dice", "shingle_jaccard")

CACHE_BYTES = 600_000
"""Bytes of text compared together, so that their hash tables fit the processor cache."""

DEGREES = "CREATE TEMP TABLE degrees (doc_id VARCHAR, dice DOUBLE, shingle_jaccard DOUBLE)"


def measure_degrees(
    connection: duckdb.DuckDBPyConnection,
    documents_from: Table,
    documents_to: Table,
    shingle: int,
    threads: int,
    progress: Progress,
) -> None:
    """Measure how much each updated document changed, as rows of the table `degrees`.

    Args:
        connection: Connection with the table `pairing`.
        documents_from: Documents of the earlier snapshot.
        documents_to: Documents of the later snapshot.
        shingle: Words per shingle.
        threads: Number of batches compared in parallel.
        progress: Advances by the number of documents.
    """
    connection.execute(DEGREES)
    updated = connection.sql(UPDATED).pl()
    progress.start("degree of change", updated.height, "documents")
    work = partial(compare_texts, documents_from, documents_to, shingle=shingle)
    batches = (batch["doc_id"] for batch in split_by_size(updated, "tokens"))
    for measured in ordered_map(work, batches, threads):
        append_rows(connection, "degrees", measured)
        progress.advance(measured.height)
    progress.finish()


def compare_texts(
    documents_from: Table, documents_to: Table, ids: pl.Series, shingle: int
) -> pl.DataFrame:
    """Return how similar the two versions of each document are, by words and by shingles.

    Returns:
        `doc_id`, `dice`, `shingle_jaccard`, sorted by id.
    """
    before, after = read_texts(documents_from, ids), read_texts(documents_to, ids)
    both = before.with_columns(after["text"].alias("later")).with_columns(
        (pl.col("text").str.len_bytes() + pl.col("later").str.len_bytes()).alias("size")
    )
    no_rows = before.head(0).select("doc_id", *(pl.lit(0.0).alias(name) for name in DEGREE_COLUMNS))
    return pl.concat(
        [
            no_rows,
            *(_measure(batch, shingle) for batch in split_by_size(both, "size", CACHE_BYTES)),
        ]
    )


def _measure(texts: pl.DataFrame, shingle: int) -> pl.DataFrame:
    """Return how similar the two versions of a batch of documents are, by words and by shingles."""
    versions = EncodedVersions.from_texts(texts["text"], texts["later"])
    measured = (versions.overlap(1).dice(), versions.overlap(shingle).jaccard())
    return texts.select("doc_id", *map(pl.Series, DEGREE_COLUMNS, measured))
