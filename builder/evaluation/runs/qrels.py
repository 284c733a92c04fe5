"""Reads relevance judgements from the `qrels.parquet` of a snapshot or a TREC qrels file."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from builder.errors import DataError, UsageError
from builder.io import parquet
from builder.trec.bounded import MAX_BYTES, read_decompressed_bytes
from builder.trec.lines import QRELS, parse_trec

SCHEMA = QRELS.schema()


def read_qrels(
    path: Path, splits: Sequence[str] | None = None, *, max_bytes: int = MAX_BYTES
) -> pl.DataFrame:
    """Read the relevance judgements of a snapshot from a Parquet file or TREC qrels file.

    Args:
        path: `qrels.parquet` of a snapshot, or TREC qrels file (plain, gzip or zstd).
        splits: Keep only queries of these splits (such as `heldout`, `test`), according to the
            `queries.parquet` in the same folder; None for all judged queries.
        max_bytes: Maximum decompressed size of a TREC file.

    Returns:
        Columns `query_id`, `doc_id` (String) and `grade` (Int32), sorted by the first two, with one
        row per query-document pair.

    Raises:
        UsageError: The path is not a readable file, or splits are given for a TREC file.
        FormatError: A line is malformed or repeats a query-document pair.
        DataError: A column is missing from the Parquet file, or a query-document pair is repeated.
    """
    if path.suffix != ".parquet":
        if splits is not None:
            raise UsageError(
                f"{path}: splits are only supported for the qrels.parquet of a snapshot"
            )
        return parse_trec(read_decompressed_bytes(path, max_bytes), QRELS, path).sort(
            "query_id", "doc_id"
        )
    qrels = check_qrels(parquet.read(path, list(SCHEMA)), str(path))
    if splits is None:
        return qrels
    queries = parquet.read(path.with_name("queries.parquet"), ["query_id", "split"])
    kept = queries.filter(pl.col("split").is_in(list(splits)))
    return qrels.join(kept.select("query_id"), on="query_id", how="semi", maintain_order="left")


def check_qrels(qrels: pl.DataFrame, source: str) -> pl.DataFrame:
    """Validate relevance judgements, cast them to `SCHEMA` and sort them by query and document.

    Args:
        qrels: Columns `query_id`, `doc_id`, `grade`.
        source: Name of the judgements, for error messages.

    Raises:
        DataError: A value is null, a grade is not an integer, or a query-document pair is repeated.
    """
    if qrels.schema["grade"].is_float():
        _reject_fractional_grades(qrels, source)
    frame = qrels.select(pl.col(name).cast(kind) for name, kind in SCHEMA.items())
    if sum(frame.null_count().row(0)):
        raise DataError(
            f"{source}: every row must have a query, a document and a grade; found nulls"
        )
    pairs = frame.select("query_id", "doc_id")
    if pairs.n_unique() != pairs.height:
        first = pairs.filter(pairs.is_duplicated()).row(0)
        raise DataError(
            f"{source}: expected one grade per query and document, "
            f"found several grades for query {first[0]!r} and document {first[1]!r}"
        )
    return frame.sort("query_id", "doc_id")


def _reject_fractional_grades(qrels: pl.DataFrame, source: str) -> None:
    fractions = qrels.filter(pl.col("grade") % 1 != 0)
    if fractions.height:
        query, document, grade = fractions.select(list(SCHEMA)).row(0)
        raise DataError(
            f"{source}: expected integers as grades, found {grade} for query {query!r} and "
            f"document {document!r}"
        )
