"""Checks references between tables, and the ids and intervals of all snapshots."""

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import polars as pl

from builder.collection.checks.context import ValidationContext
from builder.collection.checks.finding import Check, Defect
from builder.reporting.numbers import pluralize

DefectFinder = Callable[[ValidationContext], Iterable[Defect]]


def _anti_join_keys(left: pl.LazyFrame, right: pl.LazyFrame, key: str) -> pl.DataFrame:
    """Return the keys of `left` that are missing from `right`, with their row counts in `left`."""
    keys = left.group_by(key).len()
    return keys.join(right.select(key), on=key, how="anti").sort(key).collect(engine="streaming")


def _find_missing_judged_documents(context: ValidationContext) -> Iterator[Defect]:
    if not context.has_documents:
        return
    for name, (documents, qrels) in context.scan_snapshots("documents", "qrels"):
        missing = _anti_join_keys(qrels, documents, "doc_id")
        if missing.height:
            missing_documents = pluralize(missing.height, "document that is", "documents that are")
            message = f"judgements refer to {missing_documents} not in the snapshot"
            count, examples = int(missing["len"].sum()), tuple(missing["doc_id"].head(3))
            yield f"snapshots/{name}/qrels", message, count, examples


def _find_missing_judged_queries(context: ValidationContext) -> Iterator[Defect]:
    everywhere = [queries.select("query_id") for _, queries in context.scan_snapshots("queries")]
    for name, (queries, qrels) in context.scan_snapshots("queries", "qrels"):
        missing = _anti_join_keys(qrels, queries, "query_id")
        if missing.height:
            judged = qrels.select(pl.col("query_id").n_unique()).collect().item()
            unknown = (
                missing.lazy().join(pl.concat(everywhere), on="query_id", how="anti").collect()
            )
            message = f"{missing.height:,} of {judged:,} judged queries are not in the snapshot: "
            message += _describe_missing_query_texts(missing, unknown)
            yield (
                f"snapshots/{name}/qrels",
                message,
                missing.height,
                tuple(missing["query_id"].head(3)),
            )


def _describe_missing_query_texts(
    missing_queries: pl.DataFrame, unknown_queries: pl.DataFrame
) -> str:
    """Say whether judged queries that are missing from a snapshot are in other snapshots.

    Args:
        missing_queries: Judged queries that are not in the snapshot.
        unknown_queries: Missing queries that no other snapshot contains either; the column `len`
            is the number of their judgements.
    """
    unknown_texts = (
        f"the query text is unknown for {int(unknown_queries['len'].sum()):,} of the judgements"
    )
    if unknown_queries.height == missing_queries.height:
        return unknown_texts
    if unknown_queries.is_empty():
        return "their texts occur only in other snapshots"
    return f"{unknown_texts}; the remaining texts occur only in other snapshots"


def _find_unjudged_queries(context: ValidationContext) -> Iterator[Defect]:
    for name, (queries, qrels) in context.scan_snapshots("queries", "qrels"):
        missing = _anti_join_keys(queries, qrels.select("query_id").unique(), "query_id")
        if missing.height:
            message = "queries have no judgements"
            examples = tuple(missing["query_id"].head(3))
            yield f"snapshots/{name}/queries", message, missing.height, examples


def _find_wrong_judgement_counts(context: ValidationContext) -> Iterator[Defect]:
    """Report queries whose counts `judged` or `relevant` do not match the qrels."""
    for name, (queries, qrels) in context.scan_snapshots("queries", "qrels"):
        counted = qrels.group_by("query_id").agg(
            found_judged=pl.len(), found_relevant=(pl.col("grade") > 0).sum()
        )
        found = queries.join(counted, on="query_id", how="inner").filter(
            (pl.col("judged") != pl.col("found_judged"))
            | (pl.col("relevant") != pl.col("found_relevant"))
        )
        wrong = found.select("query_id").sort("query_id").collect()
        if wrong.height:
            message = "the numbers of judgements recorded for queries differ from the qrels"
            examples = tuple(wrong["query_id"].head(3))
            yield f"snapshots/{name}/queries", message, wrong.height, examples


def _find_inconsistent_grades(context: ValidationContext) -> Iterator[Defect]:
    """Report judgements whose `grade` differs from the click or manual grade named by `source`."""
    own = pl.when(pl.col("source") == "manual").then("manual_grade").otherwise("click_grade")
    for name, qrels in context.scan_snapshots("qrels"):
        named = qrels.filter(pl.col("source") != "release")
        wrong = named.filter(own.is_not_null() & (pl.col("grade") != own))
        found = wrong.select("query_id", "doc_id").collect()
        if found.height:
            message = "grades differ from the click or manual grade named by the column `source`"
            examples = tuple(" ".join(row) for row in found.head(3).iter_rows())
            yield f"snapshots/{name}/qrels", message, found.height, examples


def _find_id_map_mismatches(context: ValidationContext) -> Iterator[Defect]:
    """Report ids whose snapshots in `documents_map` or `queries_map` are wrong."""
    for kind, key in (("documents", "doc_id"), ("queries", "query_id")):
        mapped = context.scan_table(f"{kind}_map")
        present = [
            context.replace_ids_with_keys(frame, name, key).select(key, snapshots=pl.lit(name))
            for name, frame in context.scan_snapshots(kind)
        ]
        if mapped is None or len(present) < len(context.collection.snapshots):
            continue
        rows = mapped.select(key, "snapshots").explode("snapshots")
        both = pl.concat(present).join(
            rows.with_columns(mapped=True), on=[key, "snapshots"], how="full", coalesce=True
        )
        in_snapshots = pl.concat(present).with_columns(present=True)
        wrong = both.join(in_snapshots, on=[key, "snapshots"], how="left")
        wrong = wrong.filter(pl.col("mapped").is_null() | pl.col("present").is_null())
        found = wrong.select(key).unique().sort(key).collect(engine="streaming")
        if found.height:
            message = f"the id map and the snapshots contain different {kind}"
            yield f"{kind}_map", message, found.height, tuple(found[key].head(3))


def _find_overlapping_intervals(context: ValidationContext) -> Iterator[Defect]:
    intervals = context.intervals
    for entry in context.manifest["definition"]["snapshots"]:
        interval = intervals[entry["name"]]
        if interval is None or interval.start >= interval.stop:
            message = (
                "expected ISO 8601 times whose start is before the end, found "
                f"{entry['start']} to {entry['end']}"
            )
            yield f"snapshots/{entry['name']}", message, 1, ()
    known = [
        (entry, interval)
        for entry in context.manifest["definition"]["snapshots"]
        if (interval := intervals[entry["name"]])
    ]
    for (before, earlier), (after, later) in pairwise(known):
        if later.start < earlier.stop:
            message = (
                f"the snapshot overlaps {before['name']}: it starts on {after['start']}, but "
                f"{before['name']} ends on {before['end']}"
            )
            yield f"snapshots/{after['name']}", message, 1, ()


CHECKS = (
    Check(
        "LB111",
        "judged documents are in their snapshot",
        "error",
        "judgements of documents that no run can retrieve",
        "judge only documents of the snapshot",
        _find_missing_judged_documents,
    ),
    Check(
        "LB112",
        "judged queries are in their snapshot",
        "error",
        "6,430 to 10,774 judged queries per month missing from the query file",
        "include all judged queries; join judgements to queries by query id, not by (truncated) "
        "query text",
        _find_missing_judged_queries,
    ),
    Check(
        "LB113",
        "all queries are judged",
        "error",
        "11,000 queries per month without judgements",
        "set `qrels.min_judged = 1` or higher, which excludes queries without judgements",
        _find_unjudged_queries,
    ),
    Check(
        "LB115",
        "the number of judgements recorded for each query matches the qrels",
        "error",
        "qrels that were changed without updating derived counts",
        "rebuild the version from its definition",
        _find_wrong_judgement_counts,
    ),
    Check(
        "LB116",
        "each grade equals the grade from its recorded source (click or manual)",
        "error",
        "grades that contradict the recorded evidence",
        "rebuild the version from its definition",
        _find_inconsistent_grades,
    ),
    Check(
        "LB117",
        "id maps contain exactly the ids of the snapshots",
        "error",
        "ids that cannot be followed from one snapshot to the next",
        "rebuild the version from its definition",
        _find_id_map_mismatches,
    ),
    Check(
        "LB118",
        "intervals of snapshots are in chronological order and do not overlap",
        "error",
        "test queries logged during the training interval",
        "give snapshots disjoint intervals",
        _find_overlapping_intervals,
    ),
)
