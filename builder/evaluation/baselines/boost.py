"""Boosting of documents that were judged relevant in earlier snapshots (qrel boost).

The scores of each query are scaled to [0, 1]. Then `weight` times the mean grade of the document in
earlier snapshots is added. Ids must be the same in all snapshots. Documents that are missing
from the run are not added, because the later snapshot may not contain them.
"""

from collections.abc import Sequence

import polars as pl

from builder.errors import DataError, UsageError
from builder.evaluation.runs.qrels import check_qrels
from builder.trec.runs import Run

_PAIR = ["query_id", "doc_id"]


def qrel_boost(
    run: Run, judgements: Sequence[pl.DataFrame], *, weight: float = 1.0, tag: str = "boost"
) -> Run:
    """Boost the scores of documents that were judged relevant to the query in earlier snapshots.

    Args:
        run: Run for the later snapshot.
        judgements: Qrels of each earlier snapshot: columns `query_id`, `doc_id`, `grade`.
        weight: Amount added to a score per unit of the mean grade; at least 0.
        tag: Name of the new run.

    Raises:
        UsageError: There are no judgements, or the weight is negative.
        DataError: A score of the run is infinite, the judgements contain nulls or duplicates, or no
            query-document pair of the run is judged.
    """
    if not judgements or weight < 0:
        raise UsageError(
            "qrel boost: expected at least one table of judgements and a weight >= 0, "
            f"found {len(judgements)} tables and weight {weight}"
        )
    score = pl.col("score")
    infinite = run.ranking.filter(score.is_infinite())
    if infinite.height:
        query, document = infinite.select(_PAIR).row(0)
        raise DataError(
            f"qrel boost: expected finite scores in run {run.tag}, found "
            f"{infinite['score'][0]} for query {query!r} and document {document!r}; replace the "
            "score, or omit the document"
        )
    low, high = score.min().over("query_id"), score.max().over("query_id")
    scaled = run.ranking.select(
        *_PAIR, scaled=pl.when(high > low).then((score - low) / (high - low)).otherwise(1.0)
    )
    earlier = pl.concat([check_qrels(qrels, "earlier judgements") for qrels in judgements])
    if earlier.join(run.ranking, on="query_id", how="semi").is_empty():
        raise DataError(
            f"qrel boost: no query of run {run.tag} has judgements in the earlier snapshots; "
            "expected the same query ids in all snapshots"
        )
    if earlier.join(run.ranking, on=_PAIR, how="semi").is_empty():
        raise DataError(
            f"qrel boost: no document of run {run.tag} was judged for the same query in the "
            "earlier snapshots; expected the same document ids in all snapshots"
        )
    prior = (
        earlier.filter(pl.col("grade") >= 0)
        .group_by(_PAIR)
        .agg(grade=pl.col("grade").sum(), times=pl.len())
    )
    joined = scaled.join(prior, on=_PAIR, how="left")
    gain = (pl.col("grade") / pl.col("times")).fill_null(0.0) * weight
    scores = joined.select(*_PAIR, score=pl.col("scaled") + gain)
    return Run.from_scores(scores, tag, run.depth)
