r"""Count the words of snapshots, in bounded memory: the stages `words` and `lost_words`.

In: documents of a snapshot and of those before it. Out: `word_counts`, occurrences of each token in
all documents and in those of the core so far (held by all earlier snapshots too), and `lost_words`,
occurrences in documents that leave the core with the next snapshot. What is in the core of all
snapshots follows by subtraction, so that one more snapshot has only the texts counted that it
brings, and those of the documents that it lacks. Tokens are `\w+`, lower-cased, of title and text.
"""

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.parquet as pq

from builder.documents.tokens import chunk_tokens, document_chunks
from builder.io import parquet
from builder.io.tables import Table, create_union_view, write_query
from builder.runtime.executors import ordered_map
from builder.runtime.ledger import Ledger, RejectWriter
from builder.runtime.limits import Limits
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
    limits: Limits,
    progress: Progress,
) -> Ledger:
    """Write `word_counts` of a snapshot.

    Args:
        out: Existing empty folder; receives the table and `rejects` (always empty).
        documents: Documents of the snapshot.
        earlier: Documents of the snapshots before it.
        limits: Memory, threads, scratch space.
        progress: Told of every document.

    Returns:
        Documents; none is rejected.
    """
    ledger = Ledger("documents")
    core = limits.scratch / "core.parquet"
    with limits.connect(share=0.5) as connection:
        _write_common_ids(connection, (documents, *earlier), None, core)
        rows = _report_batches(read_row_groups(documents), ledger, progress)
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
    limits: Limits,
    progress: Progress,
) -> Ledger:
    """Write `lost_words` of the step to a snapshot.

    Args:
        out: Existing empty folder; receives the table and `rejects` (always empty).
        earlier: Documents of all snapshots before it, by name, in order of time.
        documents_to: Documents of the snapshot.
        limits: Memory, threads, scratch space.
        progress: Told of every document that leaves the core.

    Returns:
        Versions of documents that leave the core; none is rejected.
    """
    ledger = Ledger("documents")
    lost = limits.scratch / "lost.parquet"
    with limits.connect(share=0.5) as connection:
        _write_common_ids(connection, tuple(earlier.values()), documents_to, lost)
        parts: list[duckdb.DuckDBPyRelation] = []
        for index, documents in enumerate(earlier.values()):
            folder = limits.scratch / f"lost-{index}"
            rows = _report_batches(read_row_groups(documents, parquet.scan(lost)), ledger, progress)
            _write_partial_counts(rows, parquet.scan(lost), folder, limits.threads)
            counts = parquet.relation(connection, *parquet.list_files(folder))
            parts.append(counts.select(f"{index} AS index, token, n"))
        create_union_view(parts, "partial")
        connection.execute("SET VARIABLE names = $names", {"names": list(earlier)})
        write_query(connection, MERGE_LOST, out / "lost_words.parquet", LostWords)
    with RejectWriter(out, "lost_words", ledger):
        return ledger


def write_word_counts(
    connection: duckdb.DuckDBPyConnection,
    batches: Iterable[pl.DataFrame],
    core: pl.LazyFrame,
    target: Path,
    threads: int,
) -> None:
    """Write word counts as `schemas.WordCounts` has them.

    Args:
        connection: Merges partial counts, spilling where they do not fit.
        rows: `doc_id`, `title`, `text`, some documents at a time.
        core: `doc_id` of the documents of the core, sorted.
        target: The file to write; partial counts are kept in a folder beside it for the while.
        threads: Groups of documents that are counted at the same time.
    """
    partial = target.with_suffix("")
    _write_partial_counts(batches, core, partial, threads)
    parquet.relation(connection, *parquet.list_files(partial)).create_view("partial")
    write_query(connection, MERGE, target, WordCounts)
    connection.execute("DROP VIEW partial")
    shutil.rmtree(partial)


def count_batch_words(documents: pl.DataFrame, core: pl.LazyFrame) -> pl.DataFrame:
    """Occurrences of each token: `token`, `n`, and `core`, those within documents of the core."""
    if documents.is_empty():
        return _empty_counts()
    near = _filter_id_range(core, documents["doc_id"])
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
        chunks.select(chunk_tokens().alias("token"), "n", "core")
        .explode("token")
        .drop_nulls("token")
        .group_by("token")
        .agg(pl.col("n", "core").sum())
        .collect()
    )


def read_row_groups(
    documents: Table, doc_ids: pl.LazyFrame | None = None
) -> Iterator[pl.DataFrame]:
    """Id, title and text of documents, one row group (16 MiB of text) at a time.

    Args:
        documents: The documents.
        only: `doc_id` of those that are wanted, sorted; None: all.
    """
    for path in documents.paths:
        with pq.ParquetFile(path) as file:
            for number in range(file.num_row_groups):
                ids = pl.DataFrame(file.read_row_group(number, columns=["doc_id"]))["doc_id"]
                wanted = (
                    None if doc_ids is None else ids.is_in(_filter_id_range(doc_ids, ids).implode())
                )
                if wanted is not None and not wanted.any():
                    continue
                rows = pl.DataFrame(file.read_row_group(number, columns=["title", "text"]))
                rows = rows.insert_column(0, ids)
                yield rows if wanted is None else rows.filter(wanted)


def _report_batches(
    batches: Iterable[pl.DataFrame], ledger: Ledger, progress: Progress
) -> Iterator[pl.DataFrame]:
    """The groups, counted as they go by."""
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
    """Write the ids that are in all of some tables, and not in another, sorted."""
    ids, *others = [table.relation(connection).select("doc_id") for table in tables]
    for other in others:
        ids = ids.join(other, "doc_id", how="semi")
    if excluded is not None:
        ids = ids.join(excluded.relation(connection).select("doc_id"), "doc_id", how="anti")
    ids.order("doc_id").write_parquet(str(target))


def _filter_id_range(ids: pl.LazyFrame, documents: pl.Series) -> pl.Series:
    """Those of some sorted ids that may be among a few documents."""
    low, high = documents.min(), documents.max()
    return ids.filter(pl.col("doc_id").is_between(pl.lit(low), pl.lit(high))).collect()["doc_id"]


def _write_partial_counts(
    batches: Iterable[pl.DataFrame], core: pl.LazyFrame, folder: Path, threads: int
) -> None:
    """Write word counts of some documents after others: a token may be in several files."""
    folder.mkdir()
    pending: list[pl.DataFrame] = []
    part = 0
    for counts in ordered_map(lambda group: count_batch_words(group, core), batches, threads):
        pending.append(counts)
        if sum(frame.height for frame in pending) >= ROWS_BEFORE_FLUSH:
            _write_merged_counts(pending, folder / f"{part:05d}.parquet")
            part += 1
    _write_merged_counts(pending, folder / f"{part:05d}.parquet")


def _write_merged_counts(pending: list[pl.DataFrame], path: Path) -> None:
    rows = pl.concat([_empty_counts(), *pending]).group_by("token").agg(pl.col("n", "core").sum())
    rows.write_parquet(path)
    pending.clear()


def _empty_counts() -> pl.DataFrame:
    return pl.DataFrame(schema={"token": pl.String, "n": pl.Int64, "core": pl.Int64})
