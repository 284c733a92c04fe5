"""Reciprocal rank fusion of runs, and re-ranking of a run with scores from a file."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from builder.errors import DataError, UsageError
from builder.trec.bounded import MAX_BYTES, read_decompressed_bytes
from builder.trec.lines import RUN, SCORES, first_nonblank_line, parse_trec
from builder.trec.runs import Run, check_depth

DEFAULT_RRF_K = 60
"""Value of k used by Cormack, Clarke & Büttcher 2009."""

_PAIR = ["query_id", "doc_id"]


def reciprocal_rank_fusion(
    runs: Sequence[Run], *, k: int = DEFAULT_RRF_K, tag: str = "rrf", depth: int | None = None
) -> Run:
    """Fuse runs by reciprocal rank (Cormack, Clarke & Büttcher 2009).

    The score of a document is the sum of 1 / (k + rank) over the runs that contain it.

    Args:
        runs: One or more runs for the same snapshot.
        k: Smoothing constant; larger values reduce the influence of the top ranks.
        tag: Name of the new run.
        depth: Number of documents to keep per query; None for all.

    Raises:
        UsageError: There are no runs, or k is negative.
        DataError: A run has no query in common with the first run, or no document in common with
            the preceding runs.
    """
    if not runs or k < 0:
        raise UsageError(
            f"rank fusion: expected at least one run and k >= 0, found {len(runs)} runs and k={k}"
        )
    fused = runs[0].ranking.select(*_PAIR, _reciprocal_rank_column("share_0", k))
    for number, run in enumerate(runs[1:], start=1):
        if run.ranking.join(runs[0].ranking, on="query_id", how="semi").is_empty():
            raise DataError(
                f"rank fusion: runs {runs[0].tag} and {run.tag} have no query in common; "
                "expected runs for the same snapshot, with the same query ids"
            )
        if run.ranking.join(fused, on="doc_id", how="semi").is_empty():
            raise DataError(
                f"rank fusion: run {run.tag} has no document in common with the runs before it; "
                "expected runs for the same snapshot, with the same document ids"
            )
        other = run.ranking.select(*_PAIR, _reciprocal_rank_column(f"share_{number}", k))
        fused = fused.join(other, on=_PAIR, how="full", coalesce=True)
    # one column per run, added in a fixed order; a grouped sum could add in any order
    shares = [pl.col(f"share_{number}").fill_null(0.0) for number in range(len(runs))]
    return Run.from_scores(fused.select(*_PAIR, score=pl.sum_horizontal(shares)), tag, depth)


def _reciprocal_rank_column(name: str, k: int) -> pl.Expr:
    return (1.0 / (pl.col("rank").cast(pl.Float64) + k)).alias(name)


def read_scores(path: Path, *, max_bytes: int = MAX_BYTES) -> pl.DataFrame:
    """Read scores of query-document pairs from a file.

    Args:
        path: File with lines `query document score`, or a TREC run; plain, gzip or zstd.
        max_bytes: Maximum decompressed size of the file.

    Returns:
        Columns `query_id`, `doc_id`, `score`, with one row per query-document pair.

    Raises:
        UsageError: The path is not a readable file.
        FormatError: A line is malformed or repeats a query-document pair.
    """
    data = read_decompressed_bytes(path, max_bytes)
    columns = len(first_nonblank_line(data).split())
    return parse_trec(data, RUN if columns == len(RUN.columns) else SCORES, path)


def rerank(
    run: Run, scores: pl.DataFrame, *, top: int = 100, tag: str = "rerank", depth: int | None = None
) -> Run:
    """Re-rank the top documents of a run by new scores.

    Of the first `top` documents of a query, those with a new score come first, by descending new
    score; all other documents follow in their original order. Ties keep their original order. The
    scores of the new run are descending integers.

    Args:
        run: Run to re-rank.
        scores: Columns `query_id`, `doc_id`, `score`, such as the result of `read_scores`; pairs
            that are not in the run are ignored.
        top: Number of documents per query to re-rank.
        tag: Name of the new run.
        depth: Number of documents to keep per query; None for all.

    Raises:
        UsageError: `top` is less than 1.
        DataError: A score is null or NaN, a query-document pair has several scores, or no pair in
            the run has a score.
    """
    check_depth(top)
    checked = Run.from_scores(scores, tag).ranking
    if run.ranking.height and run.ranking.join(checked, on=_PAIR, how="semi").is_empty():
        raise DataError(
            "expected scores for query-document pairs of the run, found none; compare the ids in "
            "both files"
        )
    new_scores = checked.select(*_PAIR, new=pl.col("score"))
    order = (
        run.ranking.join(new_scores, on=_PAIR, how="left")
        .with_columns(new=pl.when(pl.col("rank") <= top).then(pl.col("new")))
        .sort("query_id", "new", "rank", descending=[False, True, False], nulls_last=True)
        .with_columns(index=pl.int_range(pl.len()).over("query_id"))
    )
    descending = pl.len().over("query_id") - pl.col("index")
    return Run.from_scores(order.select(*_PAIR, score=descending.cast(pl.Float64)), tag, depth)
