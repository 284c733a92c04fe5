r"""Count the words of every snapshot, in bounded memory.

In: documents tables, and which documents are in every snapshot. Out: one Parquet file for each
snapshot with `token`, `n` (occurrences) and `core` (occurrences in documents of the aligned core),
sorted by token. Tokens are `\w+`, lower-cased, of title and text.
"""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.parquet as pq

from builder.documents.tokens import document_tokens
from builder.progress import Progress
from builder.tables import Table

ROWS_BEFORE_FLUSH = 1_000_000

MERGE = """
SELECT token, sum(n)::BIGINT AS n, sum(core)::BIGINT AS core
FROM partial GROUP BY token ORDER BY token
"""


def count_words(
    connection: duckdb.DuckDBPyConnection,
    documents: Table,
    core: pl.LazyFrame,
    target: Path,
    progress: Progress,
) -> None:
    """Write the word counts of one snapshot.

    Args:
        connection: Merges partial counts, spilling where they do not fit.
        documents: Documents of the snapshot.
        core: `doc_id` of the documents that every snapshot holds, sorted.
        target: The file to write; partial counts are kept in a folder beside it.
        progress: Told of every document.
    """
    partial = target.with_suffix("")
    partial.mkdir()
    pending: list[pl.DataFrame] = []
    part = 0
    for rows in row_groups(documents):
        pending.append(word_counts(rows, core))
        progress.advance(rows.height)
        if sum(frame.height for frame in pending) >= ROWS_BEFORE_FLUSH:
            _flush(pending, partial / f"{part:05d}.parquet")
            part += 1
    _flush(pending, partial / f"{part:05d}.parquet")
    connection.read_parquet(str(partial / "*.parquet")).create_view("partial")
    connection.sql(MERGE).write_parquet(str(target))
    connection.execute("DROP VIEW partial")


def word_counts(documents: pl.DataFrame, core: pl.LazyFrame) -> pl.DataFrame:
    """Occurrences of each token: `token`, `n`, and `core`, those within documents of the core."""
    if documents.is_empty():
        return pl.DataFrame(schema={"token": pl.String, "n": pl.Int64, "core": pl.Int64})
    low, high = documents["doc_id"].min(), documents["doc_id"].max()
    near = core.filter(pl.col("doc_id").is_between(pl.lit(low), pl.lit(high))).collect()["doc_id"]
    return (
        documents.lazy()
        .select(
            document_tokens().alias("token"),
            pl.col("doc_id").is_in(near.implode()).cast(pl.Int64).alias("core"),
        )
        .explode("token")
        .drop_nulls("token")
        .group_by("token")
        .agg(pl.len().cast(pl.Int64).alias("n"), pl.col("core").sum())
        .collect()
    )


def row_groups(documents: Table) -> Iterator[pl.DataFrame]:
    """Id, title and text of documents, one row group (16 MiB of text) at a time."""
    for path in documents.paths:
        with pq.ParquetFile(path) as file:
            for number in range(file.num_row_groups):
                group = file.read_row_group(number, columns=["doc_id", "title", "text"])
                yield pl.DataFrame(group)


def _flush(pending: list[pl.DataFrame], path: Path) -> None:
    nothing = pl.DataFrame(schema={"token": pl.String, "n": pl.Int64, "core": pl.Int64})
    rows = pl.concat([nothing, *pending]).group_by("token").agg(pl.col("n", "core").sum())
    rows.write_parquet(path)
    pending.clear()
