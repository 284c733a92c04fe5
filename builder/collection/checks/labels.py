"""Checks for defects in relevance judgements."""

from collections.abc import Iterator

import polars as pl

from builder.collection.checks.context import ValidationContext
from builder.collection.checks.finding import Check, Defect

OUTLIER_FACTOR = 5
"""A query is an outlier if its number of judgements exceeds this multiple of the 99th
percentile over all queries."""
MIN_JUDGEMENTS = 100
"""A query with at most this many judgements is never an outlier, and grades are compared only if
two snapshots share at least this many judged pairs."""
MAX_FLIP_SHARE = 0.15
"""Maximum share of query-document pairs whose grade changes by 2 between two snapshots."""
MAX_UNCLICKED_SHARE = 0.5
"""Maximum share of relevant documents that were never clicked."""


def _find_judgement_count_outliers(context: ValidationContext) -> Iterator[Defect]:
    for name, qrels in context.scan_snapshots("qrels"):
        lines = pl.concat([qrels.select("query_id"), _scan_rejected_judgements(context, name)])
        counts = lines.group_by("query_id").len().sort("len", "query_id", descending=True).collect()
        typical = counts["len"].quantile(0.99, "lower") or 0
        outliers = counts.filter(
            (pl.col("len") > MIN_JUDGEMENTS) & (pl.col("len") > OUTLIER_FACTOR * typical)
        )
        if outliers.height:
            maximum = outliers["len"][0]
            message = f"queries have up to {maximum:,} judgements; 99 % have at most {typical:.0f}"
            yield (
                f"snapshots/{name}/qrels",
                message,
                outliers.height,
                tuple(outliers["query_id"].head(3)),
            )


def _scan_rejected_judgements(context: ValidationContext, snapshot: str) -> pl.LazyFrame:
    """Scan the query ids of the judgements that an import rejected as repeated or contradictory."""
    rejects = context.scan_table(f"snapshots/{snapshot}/rejects")
    if rejects is None:
        return pl.LazyFrame(schema={"query_id": pl.String})
    repeated = rejects.filter(pl.col("reason").str.ends_with("_judgement"))
    return repeated.select(query_id=pl.col("key").str.split(" ").list.first())


def _find_unstable_grades(context: ValidationContext) -> Iterator[Defect]:
    changes = context.scan_table("changes/qrels")
    if changes is None:
        return
    shared = changes.filter(pl.col("grade_from").is_not_null() & pl.col("grade_to").is_not_null())
    difference = pl.col("grade_from").cast(pl.Int8) - pl.col("grade_to").cast(pl.Int8)
    pair = ("from_snapshot", "to_snapshot")
    counts = shared.group_by(pair).agg(pl.len(), flips=(difference.abs() == 2).sum())
    for before, after, pairs, flips in counts.sort(pair).collect().iter_rows():
        if pairs >= MIN_JUDGEMENTS and flips > MAX_FLIP_SHARE * pairs:
            message = (
                f"{flips / pairs:.0%} of the pairs changed between grades 0 and 2 since {before}"
            )
            yield f"snapshots/{after}/qrels", message, flips, ()


def _find_unclicked_relevant_pairs(context: ValidationContext) -> Iterator[Defect]:
    """Report snapshots in which most of the documents graded as relevant were never clicked."""
    for name, qrels in context.scan_snapshots("qrels"):
        graded = qrels.filter((pl.col("source") == "click") & (pl.col("grade") > 0))
        pairs = graded.select("query_id", "doc_id", unclicked=pl.col("clicks") == 0).collect()
        found = pairs.filter("unclicked").sort("query_id", "doc_id")
        if found.height > MAX_UNCLICKED_SHARE * pairs.height:
            message = f"too many of the {pairs.height:,} relevant documents were never clicked"
            examples = tuple(" ".join(row[:2]) for row in found.head(3).iter_rows())
            yield f"snapshots/{name}/qrels", message, found.height, examples


CHECKS = (
    Check(
        "LB211",
        "no query has unusually many judgements",
        "warning",
        "a query with 726 judgements; after correction, no query had more than 49",
        "join judgements to queries by query id, not by (truncated) query text",
        _find_judgement_count_outliers,
    ),
    Check(
        "LB220",
        "grades are stable over time",
        "warning",
        "6.6 to 8.8 % of pairs changed between grades 0 and 2 from month to month",
        "publish the click counts; raise the threshold, for example `select.min_impressions = 10`",
        _find_unstable_grades,
    ),
    Check(
        "LB227",
        "the majority of relevant documents were clicked",
        "warning",
        "unclicked documents with a grade above 0, whose score is close to the prior mean",
        "raise the thresholds, for example `qrels.min_examinations = 5` or "
        '`qrels.cuts = [0.2, 0.5]`, or set `clicks.prior = "beta"`',
        _find_unclicked_relevant_pairs,
    ),
)
