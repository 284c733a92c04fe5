"""Judgements of earlier snapshots as a prior: the qrel boost of LongEval participants.

In: a run, and judgements of earlier snapshots. Out: the run with scores scaled to [0, 1] per query,
plus `weight` times the mean grade of the same query and document in the snapshots that judge it.
Ids must agree, as those of one collection do. Documents that the run lacks are not added: the later
snapshot may not have them.
"""

from collections.abc import Sequence

import polars as pl

from builder.errors import UsageError
from builder.evaluation.runs.qrels import check_qrels
from builder.trec.runs import Run

_PAIR = ["query_id", "doc_id"]


def qrel_boost(
    run: Run, judgements: Sequence[pl.DataFrame], *, weight: float = 1.0, tag: str = "boost"
) -> Run:
    """Move documents up that earlier snapshots judge relevant.

    Args:
        run: A run of the later snapshot.
        judgements: Columns `query_id`, `doc_id`, `grade`, per earlier snapshot.
        weight: What a grade of 1 adds to a score; at least 0.
        tag: Name of the new run.

    Raises:
        UsageError: no judgements, or a negative weight.
        DataError: judgements with nulls or duplicates.
    """
    if not judgements or weight < 0:
        raise UsageError(f"qrel boost: expected judgements and a weight of at least 0: {weight}")
    score = pl.col("score")
    low, high = score.min().over("query_id"), score.max().over("query_id")
    scaled = run.ranking.select(
        *_PAIR, scaled=pl.when(high > low).then((score - low) / (high - low)).otherwise(1.0)
    )
    earlier = pl.concat([check_qrels(qrels, "earlier judgements") for qrels in judgements])
    prior = (
        earlier.filter(pl.col("grade") >= 0)
        .group_by(_PAIR)
        .agg(grade=pl.col("grade").sum(), times=pl.len())
    )
    joined = scaled.join(prior, on=_PAIR, how="left")
    gain = (pl.col("grade") / pl.col("times")).fill_null(0.0) * weight
    scores = joined.select(*_PAIR, score=pl.col("scaled") + gain)
    return Run.from_scores(scores, tag, run.depth)
