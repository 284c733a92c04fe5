"""Measures how much the text of each updated document changed.

Input: the ids of updated documents, and the documents of both snapshots. Output: the table
`degrees` of a DuckDB connection, with two similarities between the versions of each document: the
Dice coefficient of their word sets and the Jaccard coefficient of their sets of shingles (word
n-grams). Only the texts of updated documents are read, in batches of bounded size.
"""

from functools import partial

import duckdb
import polars as pl

from builder.alignment.overlap import EncodedDocumentVersions
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
"""Approximate total size in bytes of the texts in one comparison batch; small enough that the hash
tables of a batch fit in the CPU cache."""

DEGREES = "CREATE TEMP TABLE degrees (doc_id VARCHAR, dice DOUBLE, shingle_jaccard DOUBLE)"


def measure_change_degrees(
    connection: duckdb.DuckDBPyConnection,
    documents_from: Table,
    documents_to: Table,
    shingle_size: int,
    threads: int,
    progress: Progress,
) -> None:
    """Create the table `degrees`, with the similarity of the two versions of each updated document.

    Args:
        connection: DuckDB connection with the table `pairing`.
        documents_from: Documents of the earlier snapshot.
        documents_to: Documents of the later snapshot.
        shingle_size: Number of words per shingle.
        threads: Number of batches compared in parallel.
        progress: Advances by the number of documents compared.
    """
    connection.execute(DEGREES)
    updated = connection.sql(UPDATED).pl()
    progress.start("degree of change", updated.height, "documents")
    work = partial(compare_texts, documents_from, documents_to, shingle_size=shingle_size)
    batches = (batch["doc_id"] for batch in split_by_size(updated, "tokens"))
    for measured in ordered_map(work, batches, threads):
        append_rows(connection, "degrees", measured)
        progress.advance(measured.height)
    progress.finish()


def compare_texts(
    documents_from: Table, documents_to: Table, ids: pl.Series, shingle_size: int
) -> pl.DataFrame:
    """Compute the word and shingle similarity of the two versions of each document.

    Args:
        documents_from: Documents of the earlier snapshot.
        documents_to: Documents of the later snapshot.
        ids: Ids of the documents to compare; each must exist in both tables.
        shingle_size: Number of words per shingle.

    Returns:
        Data frame with `doc_id`, `dice` and `shingle_jaccard`, sorted by id.
    """
    before, after = read_texts(documents_from, ids), read_texts(documents_to, ids)
    both = before.with_columns(after["text"].alias("later")).with_columns(
        (pl.col("text").str.len_bytes() + pl.col("later").str.len_bytes()).alias("size")
    )
    no_rows = before.head(0).select("doc_id", *(pl.lit(0.0).alias(name) for name in DEGREE_COLUMNS))
    return pl.concat(
        [
            no_rows,
            *(
                _compare_batch(batch, shingle_size)
                for batch in split_by_size(both, "size", CACHE_BYTES)
            ),
        ]
    )


def _compare_batch(texts: pl.DataFrame, shingle_size: int) -> pl.DataFrame:
    """Compute the similarities of the two versions of each document in a batch.

    Args:
        texts: Data frame with `doc_id`, `text` (earlier version) and `later` (later version).
        shingle_size: Number of words per shingle.
    """
    versions = EncodedDocumentVersions.from_texts(texts["text"], texts["later"])
    measured = (versions.ngram_overlap(1).dice(), versions.ngram_overlap(shingle_size).jaccard())
    return texts.select("doc_id", *map(pl.Series, DEGREE_COLUMNS, measured))
