"""Checks for the defects of labels that published collections had, or could have."""

from collections.abc import Iterator

import polars as pl

from builder.collection.checks.finding import Check, Found
from builder.collection.checks.reading import Reading

FAR = 5
"""Times the judgements of the 99th percentile query that make one query an outlier."""
MANY = 100
"""Judgements below which no query is an outlier."""
FLIPS = 0.15
"""Share of shared pairs that may change between not and highly relevant."""
UNCLICKED = 0.5
"""Share of the relevant documents that may be so without a click: where a cut is near the score of
documents that were examined a few times in vain, some are."""


def _outliers(reading: Reading) -> Iterator[Found]:
    for name, qrels in reading.snapshots("qrels"):
        lines = pl.concat([qrels.select("query_id"), _left_out(reading, name)])
        counts = lines.group_by("query_id").len().sort("len", "query_id", descending=True).collect()
        usual = counts["len"].quantile(0.99, "lower") or 0
        far = counts.filter((pl.col("len") > MANY) & (pl.col("len") > FAR * usual))
        if far.height:
            most = far["len"][0]
            message = f"queries have up to {most:,} judgements; 99 % have at most {usual:.0f}"
            yield f"snapshots/{name}/qrels", message, far.height, tuple(far["query_id"].head(3))


def _left_out(reading: Reading, snapshot: str) -> pl.LazyFrame:
    """The query of each judgement that an import left out because it was there already."""
    rejects = reading.scan(f"snapshots/{snapshot}/rejects")
    if rejects is None:
        return pl.LazyFrame(schema={"query_id": pl.String})
    repeated = rejects.filter(pl.col("reason").str.ends_with("_judgement"))
    return repeated.select(query_id=pl.col("key").str.split(" ").list.first())


def _flips(reading: Reading) -> Iterator[Found]:
    changes = reading.scan("changes/qrels")
    if changes is None:
        return
    shared = changes.filter(pl.col("grade_from").is_not_null() & pl.col("grade_to").is_not_null())
    difference = pl.col("grade_from").cast(pl.Int8) - pl.col("grade_to").cast(pl.Int8)
    pair = ("from_snapshot", "to_snapshot")
    counts = shared.group_by(pair).agg(pl.len(), flips=(difference.abs() == 2).sum())
    for before, after, pairs, flips in counts.sort(pair).collect().iter_rows():
        if pairs >= MANY and flips > FLIPS * pairs:
            message = (
                f"{flips / pairs:.0%} of the pairs judged in {before} went from 0 to 2 or back"
            )
            yield f"snapshots/{after}/qrels", message, flips, ()


def _without_click(reading: Reading) -> Iterator[Found]:
    """Labels from clicks above 0 for documents that nobody clicked: the prior alone made them."""
    for name, qrels in reading.snapshots("qrels"):
        graded = qrels.filter((pl.col("source") == "click") & (pl.col("grade") > 0))
        pairs = graded.select("query_id", "doc_id", unclicked=pl.col("clicks") == 0).collect()
        found = pairs.filter("unclicked").sort("query_id", "doc_id")
        if found.height > UNCLICKED * pairs.height:
            message = f"of {pairs.height:,} relevant documents so many were never clicked"
            yield f"snapshots/{name}/qrels", message, found.height, found.row(0)[:2]


CHECKS = (
    Check(
        "LB211",
        "no query gathers judgements",
        "warning",
        "a query with 726 judgements, where the repaired file has at most 49",
        "join judgements by id, never by a prefix of the text",
        _outliers,
    ),
    Check(
        "LB220",
        "labels are stable",
        "warning",
        "6.6 to 8.8 % of shared pairs flip between 0 and 2 from month to month",
        "publish the evidence; raise the minimum, such as `select.min_impressions = 10`",
        _flips,
    ),
    Check(
        "LB227",
        "most of what is relevant was clicked",
        "warning",
        "grades above 0 for documents without a click, whose score is nearly the prior's mean",
        "raise `qrels.min_examinations = 5` or `qrels.cuts = [0.2, 0.5]`, or set "
        '`clicks.prior = "beta"`',
        _without_click,
    ),
)
