"""Checks published values that are derived from parameters or from other tables."""

from collections.abc import Iterator
from itertools import pairwise

import polars as pl

from builder.collection.checks.context import ValidationContext
from builder.collection.checks.finding import Check, Defect
from builder.text.keys import id_to_key

_CHANGES = {
    "documents": (["doc_id"], "tokens"),
    "queries": (["query_id"], "impressions"),
    "qrels": (["query_id", "doc_id"], "grade"),
}
"""Id columns and compared value column of each table that has a change table."""


def _find_rare_queries(context: ValidationContext) -> Iterator[Defect]:
    """Report queries with fewer users, impressions or clicks than the definition requires."""
    if context.is_imported:
        return
    select = context.manifest["definition"]["parameters"]["select"]
    for column in ("users", "impressions", "clicks"):
        minimum = int(select.get(f"min_{column}", 0))
        for name, queries in context.scan_snapshots("queries"):
            rare = queries.filter(pl.col(column) < minimum).select("query_id").sort("query_id")
            found = rare.collect()
            if found.height:
                message = (
                    f"queries have fewer than {minimum:,} {column}, the minimum set in the "
                    f"definition (select.min_{column})"
                )
                examples = tuple(found["query_id"].head(3))
                yield f"snapshots/{name}/queries", message, found.height, examples


def _find_wrong_change_tables(context: ValidationContext) -> Iterator[Defect]:
    """Report change tables that do not contain exactly the ids of the snapshots they compare.

    A change table lists each id that occurs in either of two consecutive snapshots. In built
    collections, its values must match those snapshots as well.
    """
    for kind, (ids, value) in _CHANGES.items():
        changes = context.scan_table(f"changes/{kind}")
        frames = dict(context.scan_snapshots(kind))
        if changes is None:
            continue
        values = [] if context.is_imported else [f"{value}_from", f"{value}_to"]
        for before, after in pairwise(context.collection.snapshots):
            if before not in frames or after not in frames:
                continue
            old, new = (
                _select_ids_and_values(context, frames[name], name, ids, {value: f"{value}_{side}"})
                for name, side in ((before, "from"), (after, "to"))
            )
            expected = old.join(new, on=ids, how="full", coalesce=True).select(*ids, *values)
            is_pair = (pl.col("from_snapshot") == before) & (pl.col("to_snapshot") == after)
            listed = changes.filter(is_pair).select(*ids, *values)
            columns = [*ids, *values]
            wrong = pl.concat(
                first.join(second, on=columns, how="anti", nulls_equal=True).select(ids)
                for first, second in ((expected, listed), (listed, expected))
            ).unique()
            found = wrong.select(pl.concat_str(ids, separator=" ").sort()).collect().to_series()
            if len(found):
                message = f"the changes from {before} to {after} differ from the {kind} of the two "
                message += "snapshots"
                yield f"changes/{kind}", message, len(found), tuple(found.head(3))


def _select_ids_and_values(
    context: ValidationContext,
    rows: pl.LazyFrame,
    snapshot: str,
    ids: list[str],
    values: dict[str, str],
) -> pl.LazyFrame:
    """Select the id columns and the given value columns of a table, with one row per id.

    The ids of an imported release, which may differ between snapshots, are replaced by keys that
    are the same in all snapshots.
    """
    for column in ids:
        rows = context.replace_ids_with_keys(rows, snapshot, column)
    return rows.rename(values).select(*ids, *values.values()).unique(ids)


def _find_pages_outside_interval(context: ValidationContext) -> Iterator[Defect]:
    """Report documents fetched outside the interval of their snapshot, if the crawl enforces it."""
    crawl = context.manifest["definition"]["parameters"].get("crawl", {})
    if context.is_imported or crawl.get("interval") != "enforce":
        return
    for name, documents in context.scan_snapshots("documents"):
        interval = context.intervals[name]
        if interval is not None:
            inside = pl.col("fetched_at").is_between(interval.start, interval.stop, closed="left")
            outside = documents.filter(~inside).select("doc_id").sort("doc_id").collect()
            if outside.height:
                message = "documents were fetched outside the interval of the snapshot"
                examples = tuple(outside["doc_id"].head(3))
                yield f"snapshots/{name}/documents", message, outside.height, examples


def _find_unknown_topics(context: ValidationContext) -> Iterator[Defect]:
    topics = context.scan_table("topics")
    if context.is_imported or topics is None:
        return
    known = topics.select(topics="topic_id")
    for name, queries in context.scan_snapshots("queries"):
        listed = queries.select("query_id", "topics").explode("topics").drop_nulls("topics")
        unknown = listed.join(known, on="topics", how="anti").select("topics").unique()
        found = unknown.sort("topics").collect()["topics"]
        if len(found):
            message = "topic ids of queries are missing from the table `topics`"
            yield f"snapshots/{name}/queries", message, len(found), tuple(found.head(3))


def _find_contradicting_evidence(context: ValidationContext) -> Iterator[Defect]:
    """Report click-based judgements whose click evidence differs from the click estimates.

    Collections in which query variants share merged grades (`variants.merge = "labels"`) are not
    checked, because merged grades have no estimates of their own.
    """
    variants = context.manifest["definition"]["parameters"].get("variants", {})
    if context.is_imported or variants.get("merge") == "labels":
        return
    columns = ("impressions", "examinations", "clicks", "last_clicks", "attractiveness")
    for name, (qrels, estimates) in context.scan_snapshots("qrels", "click_estimates"):
        graded = qrels.filter(source="click").select(
            "query_id",
            "doc_id",
            *columns,
            query=id_to_key("query_id"),
            doc=id_to_key("doc_id"),
        )
        keys = ["query", "doc", *columns]
        wrong = graded.join(estimates.select(keys), on=keys, how="anti", nulls_equal=True)
        found = wrong.select("query_id", "doc_id").sort("query_id", "doc_id").collect()
        if found.height:
            message = "the click evidence of judgements differs from click_estimates"
            examples = tuple(" ".join(row) for row in found.head(3).iter_rows())
            yield f"snapshots/{name}/qrels", message, found.height, examples


CHECKS = (
    Check(
        "LB119",
        "queries reach the minimum numbers of users, impressions and clicks",
        "error",
        "queries of a single user, which can identify a person",
        "rebuild the version from its definition",
        _find_rare_queries,
    ),
    Check(
        "LB120",
        "change tables match the documents, queries and judgements of the snapshots that they "
        "compare",
        "error",
        "change statistics that were computed from data other than the published data",
        "rebuild the version from its definition",
        _find_wrong_change_tables,
    ),
    Check(
        "LB121",
        "documents were fetched in the interval of their snapshot",
        "error",
        "pages from a later crawl, which reveal what happened after the queries were submitted",
        "rebuild the version from its definition",
        _find_pages_outside_interval,
    ),
    Check(
        "LB122",
        "all topics of queries exist",
        "error",
        "a topic table that was changed after the queries had been selected",
        "rebuild the version from its definition",
        _find_unknown_topics,
    ),
    Check(
        "LB124",
        "click evidence of judgements matches the click estimates",
        "error",
        "grades whose evidence was copied from other pairs or another month",
        "rebuild the version from its definition",
        _find_contradicting_evidence,
    ),
)
