"""Merged labels: one judgement from those of several variants of a query, as LongEval did.

In: qrels and judged queries of a snapshot in which every variant was judged by itself. Out: the
same tables with one query for each variant set. Rules of the organisers, for the grades that the
members of a set have on one document: equal grades stay; {1, 2} -> 1; {0, >0} -> the pair is
dropped. Merging clicks before grading needs no such rule and loses no evidence, so it is the
default; this is `variants.merge = "labels"`.

A conflict only ever removes pairs of its own set. It cannot write into another query, so one among
held-out queries cannot reach the train set (a published collection once had that fault).
"""

from pathlib import Path

import polars as pl

from builder.io.tables import write_frame
from builder.parameters import VariantParameters
from builder.runtime.ledger import Ledger, RejectWriter
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress
from builder.runtime.references import Same
from builder.runtime.stage import stage
from builder.text.keys import id_to_key
from schemas import GradedPairs, GradedQueries, JudgedQueries, Qrels

COUNTS = ("impressions", "examinations", "clicks", "last_clicks")
ESTIMATES = (
    "score",
    "attractiveness",
    "satisfaction",
    "score_low",
    "score_high",
    "stability",
    "click_grade",
    "manual_grade",
)


@stage("qrels", version="1", writes=(Qrels, JudgedQueries))
def merge_labels(
    out: Path,
    *,
    graded_pairs: Same[GradedPairs],
    graded_queries: Same[GradedQueries],
    params: VariantParameters,
    limits: Limits,
    progress: Progress,
) -> Ledger:
    """Stage: merge the judgements of variant sets, where the parameters say so.

    Args:
        out: Folder that receives `qrels.parquet`, `judged_queries.parquet` and
            `rejects.parquet`.
        graded_pairs: See `schemas.Qrels`.
        graded_queries: See `schemas.JudgedQueries`; `variant_set` says what is merged.
        params: `[variants]`; tables pass through unless `merge` is `labels`.
        limits: Unused; qrels are few.
        progress: Told the judgements.

    Returns:
        An account of the judgements: `label_merged` into another, or `labels_conflict`.
    """
    del limits
    given = graded_pairs.scan().collect()
    progress.start("labels", given.height, "judgements")
    queries = graded_queries.scan().collect()
    if params.merge == "labels":
        merged = merge_qrels(given, representatives(queries))
    else:
        merged = given.with_columns(members=pl.lit(1), conflict=pl.lit(False))
    kept = merged.filter(~pl.col("conflict"))
    write_frame(kept, out / "qrels.parquet", Qrels)
    if params.merge == "labels":
        queries = merge_queries(queries, kept)
    write_frame(queries, out / "judged_queries.parquet", JudgedQueries)
    dropped = int(merged.filter("conflict")["members"].sum())
    ledger = Ledger("judgements", given.height, kept.height)
    with RejectWriter(out, "qrels", ledger) as rejects:
        rejects.add("labels_conflict", rows=dropped)
        rejects.add("label_merged", rows=given.height - kept.height - dropped)
    progress.advance(given.height)
    progress.finish()
    return ledger


def representatives(queries: pl.DataFrame) -> pl.DataFrame:
    """Columns `query_id`, `representative`: the most frequent query of each set, ties by text."""
    ordered = queries.sort("impressions", "text", descending=[True, False])
    unit = pl.coalesce("variant_set", "query_id")
    return ordered.select("query_id", pl.col("query_id").first().over(unit).alias("representative"))


def merge_qrels(qrels: pl.DataFrame, chosen: pl.DataFrame) -> pl.DataFrame:
    """Merge judgements by the organisers' rules.

    Args:
        qrels: See `schemas.Qrels`.
        chosen: See `representatives`.

    Returns:
        One row for each pair of a representative and a document: columns of `schemas.Qrels`,
        `members` (judgements merged) and `conflict` (to be dropped). Counts are summed; an
        estimate stands only where a single judgement does.
    """
    alone = pl.len() == 1
    return (
        qrels.join(chosen, on="query_id")
        .group_by("representative", "doc_id")
        .agg(
            pl.col("grade").min(),
            pl.len().alias("members"),
            ((pl.col("grade").min() == 0) & (pl.col("grade").max() > 0)).alias("conflict"),
            *(pl.col(name).sum() for name in COUNTS),
            *(pl.when(alone).then(pl.col(name).first()).alias(name) for name in ESTIMATES),
            pl.when((pl.col("source") == "manual").any())
            .then(pl.lit("manual"))
            .otherwise(pl.lit("click"))
            .alias("source"),
        )
        .rename({"representative": "query_id"})
        .sort("query_id", "doc_id")
    )


def merge_queries(queries: pl.DataFrame, qrels: pl.DataFrame) -> pl.DataFrame:
    """The judged queries that represent a set and still have a judgement.

    Impressions and clicks are summed. Users cannot be, without the log: the largest number of a
    member is a lower bound.
    """
    judged = qrels.group_by("query_id").agg(
        pl.len().alias("judged"), (pl.col("grade") > 0).sum().alias("relevant")
    )
    summed = (
        queries.join(representatives(queries), on="query_id")
        .group_by("representative")
        .agg(
            pl.col("text").filter(pl.col("query_id") == pl.col("representative")).first(),
            pl.col("topics").explode().unique().sort(),
            pl.col("impressions", "clicks").sum(),
            pl.col("users").max(),
            pl.col("variant_set").first(),
        )
    )
    return (
        summed.rename({"representative": "query_id"})
        .join(judged, on="query_id")
        .sort(id_to_key("query_id"))
    )
