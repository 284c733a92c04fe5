"""Combine runs: reciprocal rank fusion, and re-ranking by any file of scores.

In: runs of one snapshot; scores of a model that is not ours. Out: a new `Run`.
"""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from builder.errors import UsageError
from builder.trec.bounded import MAX_BYTES, read_bounded
from builder.trec.lines import RUN, SCORES, first_nonblank_line, parse_trec
from builder.trec.runs import Run, check_depth

DEFAULT_RRF_K = 60
"""The constant of Cormack, Clarke & Büttcher 2009."""

_PAIR = ["query_id", "doc_id"]


def reciprocal_rank_fusion(
    runs: Sequence[Run], *, k: int = DEFAULT_RRF_K, tag: str = "rrf", depth: int | None = None
) -> Run:
    """Fuse runs by reciprocal rank (Cormack, Clarke & Büttcher 2009).

    The score of a document is the sum over the runs that hold it of 1 / (k + rank).

    Args:
        runs: At least one run, of the same snapshot.
        k: Constant that damps the top ranks.
        tag: Name of the new run.
        depth: Documents to keep per query; None keeps all.

    Raises:
        UsageError: no runs, or a negative k.
    """
    if not runs or k < 0:
        raise UsageError(f"rank fusion: expected runs and k of at least 0, found {len(runs)}, {k}")
    fused = runs[0].ranking.select(*_PAIR, _share("share_0", k))
    for number, run in enumerate(runs[1:], start=1):
        other = run.ranking.select(*_PAIR, _share(f"share_{number}", k))
        fused = fused.join(other, on=_PAIR, how="full", coalesce=True)
    # one column per run, added in the order given: a grouped sum could add in any order
    shares = [pl.col(f"share_{number}").fill_null(0.0) for number in range(len(runs))]
    return Run.from_scores(fused.select(*_PAIR, score=pl.sum_horizontal(shares)), tag, depth)


def _share(name: str, k: int) -> pl.Expr:
    return (1.0 / (pl.col("rank").cast(pl.Float64) + k)).alias(name)


def read_scores(path: Path, *, max_bytes: int = MAX_BYTES) -> pl.DataFrame:
    """Read scores of documents for queries, whoever computed them.

    Args:
        path: Lines `query document score`, or a TREC run; plain, gzip or zstd.
        max_bytes: Largest decompressed size accepted.

    Returns:
        Columns `query_id`, `doc_id`, `score`, unique by the first two.

    Raises:
        UsageError: the path is not a readable file.
        FormatError: a line is malformed, or scores a pair twice; names file and line.
    """
    data = read_bounded(path, max_bytes)
    columns = len(first_nonblank_line(data).split())
    return parse_trec(data, RUN if columns == len(RUN.columns) else SCORES, path)


def rerank(
    run: Run, scores: pl.DataFrame, *, top: int = 100, tag: str = "rerank", depth: int | None = None
) -> Run:
    """Reorder the top of a run by scores.

    Of the first `top` documents of each query, those with a score come first, by descending score;
    then come all other documents in their old order. Ties keep their old order. The scores of the
    new run are falling integers: they say the order and nothing else.

    Args:
        run: What to re-rank.
        scores: Columns `query_id`, `doc_id`, `score`, as of `read_scores`; other documents in it
            are ignored.
        top: Documents per query that may move.
        tag: Name of the new run.
        depth: Documents to keep per query; None keeps all.

    Raises:
        UsageError: `top` is below 1.
        DataError: a score is null or NaN, or a pair is scored twice.
    """
    check_depth(top)
    checked = Run.from_scores(scores, tag).ranking
    found = checked.select(*_PAIR, new=pl.col("score"))
    order = (
        run.ranking.join(found, on=_PAIR, how="left")
        .with_columns(new=pl.when(pl.col("rank") <= top).then(pl.col("new")))
        .sort("query_id", "new", "rank", descending=[False, True, False], nulls_last=True)
        .with_columns(place=pl.int_range(pl.len()).over("query_id"))
    )
    falling = pl.len().over("query_id") - pl.col("place")
    return Run.from_scores(order.select(*_PAIR, score=falling.cast(pl.Float64)), tag, depth)
