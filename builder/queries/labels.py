"""Merges the qrels of query variants, so that each variant set becomes one query.

A variant set is a group of spellings, inflections and word orders of the same query. If
`variants.merge` is `labels`, every variant is graded separately, and then the qrels of the set
are merged. If several members of a set have a grade for a document, the rules of the LongEval
organizers apply: equal grades are kept, 1 and 2 become 1, and the document is dropped for this
query if it has both 0 and a positive grade (a conflict). The default, merging clicks before
grading, needs no such rules and loses no evidence.

A conflict only removes qrels of its own variant set. Unlike in an earlier published collection,
conflicts among held-out queries therefore never affect training queries.
"""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from builder.io.tables import write_frame
from builder.parameters import VariantParameters
from builder.runtime.ledger import RejectWriter, RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress
from builder.runtime.references import Before, Same
from builder.runtime.stage import stage
from builder.text.keys import id_to_key, key_to_id
from schemas import GradedPairs, GradedQueries, JudgedQueries, KeptCandidates, Qrels

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


@stage("qrels", version="2", writes=(Qrels, JudgedQueries))
def merge_labels(
    out: Path,
    *,
    graded_pairs: Same[GradedPairs],
    graded_queries: Same[GradedQueries],
    earlier_candidates: Before[KeptCandidates],
    params: VariantParameters,
    limits: ResourceLimits,
    progress: Progress,
) -> RowLedger:
    """Stage: merge the qrels of each variant set if `variants.merge` is `labels`.

    Args:
        out: Folder that receives `qrels.parquet`, `judged_queries.parquet` and
            `rejects.parquet`.
        graded_pairs: Table with the schema `Qrels`.
        graded_queries: Table with the schema `JudgedQueries`; queries are merged by `variant_set`.
        earlier_candidates: Candidates of earlier snapshots, in chronological order, which are
            preferred as representatives.
        params: Section `[variants]` of the definition; tables are copied unchanged unless `merge`
            is `labels`.
        limits: Unused; qrels are small.
        progress: Advances by the number of qrels.

    Returns:
        The ledger: numbers of qrels read, kept and rejected. Reject reasons: `label_merged`,
        `labels_conflict`.
    """
    del limits
    qrels = graded_pairs.scan().collect()
    progress.start("labels", qrels.height, "judgements")
    queries = graded_queries.scan().collect()
    representatives = queries.select("query_id", representative="query_id")
    if params.merge == "labels":
        columns = (key_to_id("query", "q").alias("query_id"), "impressions", "text")
        earlier = [table.scan().select(*columns).collect() for table in earlier_candidates]
        representatives = choose_representatives(queries, earlier)
        merged = merge_qrels(qrels, representatives)
    else:
        merged = qrels.with_columns(members=pl.lit(1), conflict=pl.lit(False))
    kept = merged.filter(~pl.col("conflict"))
    write_frame(kept, out / "qrels.parquet", Qrels)
    if params.merge == "labels":
        queries = merge_queries(queries, kept, representatives)
    write_frame(queries, out / "judged_queries.parquet", JudgedQueries)
    dropped = int(merged.filter("conflict")["members"].sum())
    ledger = RowLedger("judgements", qrels.height, kept.height)
    with RejectWriter(out, "qrels", ledger) as rejects:
        rejects.add("labels_conflict", rows=dropped)
        rejects.add("label_merged", rows=qrels.height - kept.height - dropped)
    progress.advance(qrels.height)
    progress.finish()
    return ledger


def choose_representatives(
    queries: pl.DataFrame, earlier_queries: Sequence[pl.DataFrame] = ()
) -> pl.DataFrame:
    """Map each query to its `representative`, one query of its variant set.

    The query that occurred in the earliest snapshot represents the set, so that the set keeps its
    id in later snapshots. If several queries occurred in that snapshot, the most frequent of them
    represents the set.

    Args:
        queries: Table with the schema `JudgedQueries`.
        earlier_queries: Queries of earlier snapshots, in chronological order, with the columns
            `query_id`, `impressions` and `text`.
    """
    columns = ("query_id", "impressions", "text")
    frames = [frame.select(columns) for frame in (*earlier_queries, queries)]
    occurrences = [
        frame.with_columns(since=pl.lit(index, pl.Int32)) for index, frame in enumerate(frames)
    ]
    first = pl.concat(occurrences).unique("query_id", keep="first", maintain_order=True)
    ordered = (
        queries.select("query_id", "variant_set")
        .join(first, on="query_id")
        .sort("since", "impressions", "text", descending=[False, True, False])
    )
    unit = pl.coalesce("variant_set", "query_id")
    return ordered.select("query_id", pl.col("query_id").first().over(unit).alias("representative"))


def merge_qrels(qrels: pl.DataFrame, representatives: pl.DataFrame) -> pl.DataFrame:
    """Merge the qrels of each variant set by the rules of the LongEval organizers.

    Args:
        qrels: Table with the schema `Qrels`.
        representatives: Columns `query_id` and `representative`; see `choose_representatives`.

    Returns:
        One row per representative and document: the columns of `Qrels`, `members` (number of
        merged qrels) and `conflict` (whether to drop the row). Counts are summed; estimates are
        null if several qrels were merged.
    """
    single = pl.len() == 1
    return (
        qrels.join(representatives, on="query_id")
        .group_by("representative", "doc_id")
        .agg(
            pl.col("grade").min(),
            pl.len().alias("members"),
            ((pl.col("grade").min() == 0) & (pl.col("grade").max() > 0)).alias("conflict"),
            *(pl.col(name).sum() for name in COUNTS),
            *(pl.when(single).then(pl.col(name).first()).alias(name) for name in ESTIMATES),
            pl.when((pl.col("source") == "manual").any())
            .then(pl.lit("manual"))
            .otherwise(pl.lit("click"))
            .alias("source"),
        )
        .rename({"representative": "query_id"})
        .sort("query_id", "doc_id")
    )


def merge_queries(
    queries: pl.DataFrame, qrels: pl.DataFrame, representatives: pl.DataFrame
) -> pl.DataFrame:
    """Merge the judged queries of each variant set into one row, and drop queries without qrels.

    Impressions and clicks are summed. The number of users is set to the maximum over the members, a
    lower bound, because distinct users cannot be counted without the log.

    Args:
        queries: Table with the schema `JudgedQueries`.
        qrels: Merged qrels; see `merge_qrels`.
        representatives: Columns `query_id` and `representative`; see `choose_representatives`.
    """
    judged = qrels.group_by("query_id").agg(
        pl.len().alias("judged"), (pl.col("grade") > 0).sum().alias("relevant")
    )
    summed = (
        queries.join(representatives, on="query_id")
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
