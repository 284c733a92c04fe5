"""Relevance judgements of a snapshot, from a collection or from a TREC file.

In: `qrels.parquet` of a snapshot, or qrels lines `query 0 document grade` (plain, gzip, zstd).
Out: a frame with `query_id`, `doc_id` (strings) and `grade` (Int32), sorted, one row per pair.
"""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from builder.errors import DataError, UsageError
from builder.io import parquet
from builder.trec.bounded import MAX_BYTES, read_bounded
from builder.trec.lines import QRELS, parse_trec

SCHEMA = QRELS.schema()


def read_qrels(
    path: Path, splits: Sequence[str] | None = None, *, max_bytes: int = MAX_BYTES
) -> pl.DataFrame:
    """Read judgements.

    Args:
        path: A snapshot's `qrels.parquet`, or a TREC qrels file.
        splits: Keep only queries of these splits (such as `heldout`, `test`), as the snapshot's
            `queries.parquet` beside the judgements states them; None keeps every judged query.
        max_bytes: Largest decompressed size of a TREC file.

    Returns:
        Columns `query_id`, `doc_id`, `grade`, sorted by the first two.

    Raises:
        UsageError: the path is not a readable file, or splits are asked of a TREC file.
        FormatError: a line is malformed, or judges a pair twice; names file and line.
        DataError: the Parquet file lacks a column, or repeats a pair.
    """
    if path.suffix != ".parquet":
        if splits is not None:
            raise UsageError(f"{path}: splits are known for a snapshot's qrels.parquet only")
        return parse_trec(read_bounded(path, max_bytes), QRELS, path).sort("query_id", "doc_id")
    qrels = check_qrels(parquet.read(path, list(SCHEMA)), str(path))
    if splits is None:
        return qrels
    queries = parquet.read(path.with_name("queries.parquet"), ["query_id", "split"])
    kept = queries.filter(pl.col("split").is_in(list(splits)))
    return qrels.join(kept.select("query_id"), on="query_id", how="semi", maintain_order="left")


def check_qrels(qrels: pl.DataFrame, where: str) -> pl.DataFrame:
    """Judgements in their types and order.

    Args:
        qrels: Columns `query_id`, `doc_id`, `grade`.
        where: What they are, for messages.

    Raises:
        DataError: a value is null, or a pair is judged twice.
    """
    frame = qrels.select(pl.col(name).cast(kind) for name, kind in SCHEMA.items())
    if sum(frame.null_count().row(0)):
        raise DataError(f"{where}: expected a query, a document and a grade in every row")
    pairs = frame.select("query_id", "doc_id")
    if pairs.n_unique() != pairs.height:
        first = pairs.filter(pairs.is_duplicated()).row(0)
        raise DataError(
            f"{where}: expected one grade per query and document, found several for query "
            f"{first[0]!r} and document {first[1]!r}"
        )
    return frame.sort("query_id", "doc_id")
