"""Exact nearest-neighbor search with precomputed embeddings.

Reads Parquet files with `doc_id` or `query_id`, and `vector` (a list of floats). Scores are inner
products; normalize the vectors for cosine similarity. Documents are read in batches.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from builder.errors import DataError, UsageError
from builder.io import parquet
from builder.trec.runs import DEFAULT_DEPTH, Run, check_depth

BATCH_ROWS = 16_384
Vectors = npt.NDArray[np.float32]


def dense_search(
    documents: Path, queries: Path, *, depth: int = DEFAULT_DEPTH, tag: str = "dense"
) -> Run:
    """Return the documents with the largest inner product for each query vector, as a run.

    Args:
        documents: Parquet file with `doc_id` and `vector`.
        queries: Parquet file with `query_id` and `vector` of the same length.
        depth: Number of documents to keep per query.
        tag: Name of the run.

    Raises:
        UsageError: A file is unreadable.
        DataError: Vectors differ in length, are empty or not finite, or an id is missing or
            repeated.
    """
    check_depth(depth)
    frame = parquet.read(queries, ["query_id", "vector"])
    query_ids, query_vectors = (
        frame["query_id"].cast(pl.String),
        _stack_vectors(frame, queries, None),
    )
    if query_ids.n_unique() != len(query_ids):
        raise DataError(f"{queries}: expected unique query ids, found duplicates")
    best = pl.DataFrame(schema={"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64})
    count = 0
    ids: list[pl.Series] = []
    for batch in _read_batches(documents):
        vectors = _stack_vectors(batch, documents, query_vectors.shape[1])
        # sum in 64 bits and round to 32, so that BLAS's order of additions has no effect
        exact = query_vectors.astype(np.float64) @ vectors.astype(np.float64).T
        scores = exact.astype(np.float32).astype(np.float64)
        doc_ids = batch["doc_id"].cast(pl.String)
        best = _merge_top_documents(best, scores, query_ids, doc_ids, depth)
        ids.append(batch["doc_id"])
        count += batch.height
    if not count or pl.concat(ids).n_unique() != count:
        found = "duplicates" if count else "no documents"
        raise DataError(f"{documents}: expected documents with unique ids, found {found}")
    return Run.from_scores(best, tag, depth)


def _read_batches(path: Path) -> Iterator[pl.DataFrame]:
    parquet.check_readable(path)
    try:
        file = parquet.open_file(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot read Parquet file: {error}") from error
    with file:
        for batch in file.iter_batches(BATCH_ROWS, columns=["doc_id", "vector"]):
            yield pl.DataFrame(batch)


def _stack_vectors(frame: pl.DataFrame, path: Path, dimension: int | None) -> Vectors:
    lengths = set(frame["vector"].list.len().to_list()) if frame.height else {dimension or 1}
    if (
        len(lengths) != 1
        or None in lengths
        or 0 in lengths
        or (dimension and lengths != {dimension})
    ):
        expected = f"vectors of length {dimension}" if dimension else "vectors of the same length"
        raise DataError(f"{path}: expected {expected}, found lengths {sorted(map(str, lengths))}")
    (length,) = lengths
    flat = frame["vector"].explode(empty_as_null=False, keep_nulls=False).cast(pl.Float32)
    values = flat.to_numpy().reshape(frame.height, length)
    if flat.null_count() or not np.isfinite(values).all() or frame.to_series(0).null_count():
        raise DataError(f"{path}: expected an id and a vector of finite numbers in every row")
    return values


def _merge_top_documents(
    best: pl.DataFrame,
    scores: npt.NDArray[np.float64],
    query_ids: pl.Series,
    doc_ids: pl.Series,
    depth: int,
) -> pl.DataFrame:
    """Add the documents of a batch to the top documents per query; keep ties at rank `depth`."""
    frames = [best]
    for query, row in zip(query_ids, scores, strict=True):
        kept = np.arange(len(row))
        if len(row) > depth:
            kept = np.flatnonzero(row >= np.partition(row, -depth)[-depth])
        frames.append(
            pl.DataFrame({"doc_id": doc_ids.gather(kept), "score": row[kept]}).select(
                pl.lit(query, dtype=pl.String).alias("query_id"), "doc_id", "score"
            )
        )
    merged = pl.concat(frames)
    rank = pl.col("score").rank("min", descending=True).over("query_id")
    return merged.filter(rank <= depth)
