r"""Counts the words of snapshots in bounded memory: the stages `words` and `lost_words`.

Reads the documents of a snapshot and of all earlier ones. Writes `word_counts`, the occurrences of
each token in all documents and in the core so far (documents that all earlier snapshots also
contain), and `lost_words`, the occurrences in documents that leave the core in the next snapshot.
The counts of the final core follow by subtraction, so that adding a snapshot requires counting only
its own texts and those of the documents that leave the core. Tokens are `\w+` in lowercase, from
title and text.
"""

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import duckdb
import polars as pl

from builder.documents.tokens import chunk_tokens_expr, document_chunks
from builder.io import parquet
from builder.io.tables import Table, create_union_view, write_query_result
from builder.runtime.executors import ordered_map
from builder.runtime.ledger import RejectWriter, RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress
from builder.runtime.references import Before, Same, To, Until
from builder.runtime.scope import Scope
from builder.runtime.stage import stage
from schemas import Documents, LostWords, WordCounts

ROWS_BEFORE_FLUSH = 1_000_000

MERGE = """
SELECT token, sum(n)::BIGINT AS n, sum(core)::BIGINT AS core
FROM partial GROUP BY token ORDER BY token
"""

MERGE_LOST = """
SELECT list_extract(getvariable('names'), index + 1) AS snapshot, token, sum(n)::BIGINT AS n
FROM partial GROUP BY ALL ORDER BY ALL
"""


@stage("words", version="2", writes=(WordCounts,))
def count_snapshot_words(
    out: Path,
    *,
    documents: Same[Documents],
    earlier: Before[Documents],
    limits: ResourceLimits,
    progress: Progress,
) -> RowLedger:
    """Stage: count the words in the documents of a snapshot.

    Args:
        out: Existing empty folder; receives the table and `rejects` (always empty).
        documents: Documents of the snapshot.
        earlier: Documents of all earlier snapshots.
        limits: Memory limit, number of threads and scratch folder.
        progress: Receives the number of documents read.

    Returns:
        Ledger (numbers of documents read, kept and rejected); no document is rejected.
    """
    ledger = RowLedger("documents")
    core = limits.scratch / "core.parquet"
    with limits.connect_to_duckdb(memory_share=0.5) as connection:
        _write_common_ids(connection, (documents, *earlier), None, core)
        rows = _track_batches(read_row_groups(documents), ledger, progress)
        target = out / "word_counts.parquet"
        write_word_counts(connection, rows, parquet.scan(core), target, limits.threads)
    with RejectWriter(out, "words", ledger):
        return ledger


@stage("lost_words", version="2", scope=Scope.PAIR, writes=(LostWords,))
def count_lost_words(
    out: Path,
    *,
    earlier: Until[Documents],
    documents_to: To[Documents],
    limits: ResourceLimits,
    progress: Progress,
) -> RowLedger:
    """Stage: count the words of the documents that leave the core in the next snapshot.

    The core consists of the documents in all snapshots so far. A document leaves it in the first
    snapshot that does not contain the document.

    Args:
        out: Existing empty folder; receives the table and `rejects` (always empty).
        earlier: Documents of all earlier snapshots by name, in chronological order.
        documents_to: Documents of the next snapshot; documents missing from it leave the core.
        limits: Memory limit, number of threads and scratch folder.
        progress: Receives the number of documents that leave the core.

    Returns:
        Ledger (numbers of items read, kept and rejected), which counts the versions of the
        documents that leave the core; none is rejected.
    """
    ledger = RowLedger("documents")
    lost = limits.scratch / "lost.parquet"
    with limits.connect_to_duckdb(memory_share=0.5) as connection:
        _write_common_ids(connection, tuple(earlier.values()), documents_to, lost)
        parts: list[duckdb.DuckDBPyRelation] = []
        for index, documents in enumerate(earlier.values()):
            folder = limits.scratch / f"lost-{index}"
            rows = _track_batches(read_row_groups(documents, parquet.scan(lost)), ledger, progress)
            _write_partial_counts(rows, parquet.scan(lost), folder, limits.threads)
            counts = parquet.read_parquet_relation(connection, *parquet.list_files(folder))
            parts.append(counts.select(f"{index} AS index, token, n"))
        create_union_view(parts, "partial")
        connection.execute("SET VARIABLE names = $names", {"names": list(earlier)})
        write_query_result(connection, MERGE_LOST, out / "lost_words.parquet", LostWords)
    with RejectWriter(out, "lost_words", ledger):
        return ledger


def write_word_counts(
    connection: duckdb.DuckDBPyConnection,
    batches: Iterable[pl.DataFrame],
    core_ids: pl.LazyFrame,
    target: Path,
    threads: int,
) -> None:
    """Count the words of documents, and write a table with the schema `WordCounts`.

    Args:
        connection: DuckDB connection that merges partial counts, spilling to disk if memory is
            short.
        batches: DataFrames of documents, with the columns `doc_id`, `title` and `text`.
        core_ids: Sorted `doc_id` of the documents in the core.
        target: The file to write; partial counts are kept in a temporary folder next to it.
        threads: Number of batches counted in parallel.
    """
    partial = target.with_suffix("")
    _write_partial_counts(batches, core_ids, partial, threads)
    parquet.read_parquet_relation(connection, *parquet.list_files(partial)).create_view("partial")
    write_query_result(connection, MERGE, target, WordCounts)
    connection.execute("DROP VIEW partial")
    shutil.rmtree(partial)


def count_batch_words(documents: pl.DataFrame, core_ids: pl.LazyFrame) -> pl.DataFrame:
    """Count each token in all given documents (`n`) and in those of the core (`core`).

    Args:
        documents: DataFrame with the columns `doc_id`, `title` and `text`.
        core_ids: Sorted `doc_id` of the documents in the core.
    """
    if documents.is_empty():
        return _empty_word_counts()
    near = _restrict_to_id_range(core_ids, documents["doc_id"])
    chunks = (
        documents.select("doc_id", document_chunks(documents).alias("chunk"))
        .lazy()
        .select(
            "chunk",
            pl.col("doc_id").is_in(near.implode()).cast(pl.Int64).alias("core"),
        )
        .explode("chunk")
        .group_by("chunk")
        .agg(pl.len().cast(pl.Int64).alias("n"), pl.col("core").sum())
    )
    return (
        chunks.select(chunk_tokens_expr().alias("token"), "n", "core")
        .explode("token")
        .drop_nulls("token")
        .group_by("token")
        .agg(pl.col("n", "core").sum())
        .collect()
    )


def read_row_groups(
    documents: Table, doc_ids: pl.LazyFrame | None = None
) -> Iterator[pl.DataFrame]:
    """Read the id, title and text of documents, one row group (16 MiB of text) at a time.

    Args:
        documents: Table of documents.
        doc_ids: Sorted `doc_id` of the documents to read; None to read all documents.
    """
    for path in documents.paths:
        with parquet.open_file(path) as file:
            for number in range(file.num_row_groups):
                ids = pl.DataFrame(file.read_row_group(number, columns=["doc_id"]))["doc_id"]
                wanted = (
                    None
                    if doc_ids is None
                    else ids.is_in(_restrict_to_id_range(doc_ids, ids).implode())
                )
                if wanted is not None and not wanted.any():
                    continue
                rows = pl.DataFrame(file.read_row_group(number, columns=["title", "text"]))
                rows = rows.insert_column(0, ids)
                yield rows if wanted is None else rows.filter(wanted)


def _track_batches(
    batches: Iterable[pl.DataFrame], ledger: RowLedger, progress: Progress
) -> Iterator[pl.DataFrame]:
    """Yield the batches unchanged; count their rows in the ledger and on the progress bar."""
    for rows in batches:
        ledger.rows_in += rows.height
        ledger.rows_out += rows.height
        progress.advance(rows.height)
        yield rows


def _write_common_ids(
    connection: duckdb.DuckDBPyConnection,
    tables: tuple[Table, ...],
    excluded: Table | None,
    target: Path,
) -> None:
    """Write the sorted ids of the documents that are in all `tables` but not in `excluded`."""
    ids, *others = [table.relation(connection).select("doc_id") for table in tables]
    for other in others:
        ids = ids.join(other, "doc_id", how="semi")
    if excluded is not None:
        ids = ids.join(excluded.relation(connection).select("doc_id"), "doc_id", how="anti")
    ids.order("doc_id").write_parquet(str(target))


def _restrict_to_id_range(sorted_ids: pl.LazyFrame, doc_ids: pl.Series) -> pl.Series:
    """Return the ids between the smallest and the largest of `doc_ids`, both included."""
    low, high = doc_ids.min(), doc_ids.max()
    is_in_range = pl.col("doc_id").is_between(pl.lit(low), pl.lit(high))
    return sorted_ids.filter(is_in_range).collect()["doc_id"]


def _write_partial_counts(
    batches: Iterable[pl.DataFrame], core_ids: pl.LazyFrame, folder: Path, threads: int
) -> None:
    """Write the word counts of batches to numbered files; a word may occur in several files."""
    folder.mkdir()
    pending: list[pl.DataFrame] = []
    part = 0
    for counts in ordered_map(lambda group: count_batch_words(group, core_ids), batches, threads):
        pending.append(counts)
        if sum(frame.height for frame in pending) >= ROWS_BEFORE_FLUSH:
            _write_merged_counts(pending, folder / f"{part:05d}.parquet")
            part += 1
    _write_merged_counts(pending, folder / f"{part:05d}.parquet")


def _write_merged_counts(batch_counts: list[pl.DataFrame], path: Path) -> None:
    """Add up the counts of each token, write the sums to a file, and clear `batch_counts`."""
    rows = (
        pl.concat([_empty_word_counts(), *batch_counts])
        .group_by("token")
        .agg(pl.col("n", "core").sum())
    )
    rows.write_parquet(path)
    batch_counts.clear()


def _empty_word_counts() -> pl.DataFrame:
    return pl.DataFrame(schema={"token": pl.String, "n": pl.Int64, "core": pl.Int64})
