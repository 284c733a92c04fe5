"""Checks of published values that follow from parameters or from other tables."""

from collections.abc import Iterator
from itertools import pairwise

import polars as pl

from builder.collection.checks.context import ValidationContext
from builder.collection.checks.finding import Check, Defect

_IDS = {"documents": ("doc_id",), "queries": ("query_id",), "qrels": ("query_id", "doc_id")}
"""Id columns of each table for which there is a change table."""


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


def _find_incomplete_changes(context: ValidationContext) -> Iterator[Defect]:
    """Report rows missing from a change table, and rows in it that occur in neither snapshot."""
    for kind, ids in _IDS.items():
        changes = context.scan_table(f"changes/{kind}")
        frames = dict(context.scan_snapshots(kind))
        if changes is None:
            continue
        for before, after in pairwise(context.collection.snapshots):
            if before not in frames or after not in frames:
                continue
            present = [_scan_ids(context, frames[name], name, ids) for name in (before, after)]
            expected = pl.concat(present).unique()
            is_pair = (pl.col("from_snapshot") == before) & (pl.col("to_snapshot") == after)
            listed = changes.filter(is_pair).select(ids).with_columns(listed=True)
            both = expected.with_columns(present=True).join(
                listed, on=ids, how="full", coalesce=True
            )
            wrong = both.filter(pl.col("present").is_null() | pl.col("listed").is_null())
            found = wrong.select(pl.concat_str(ids, separator=" ").sort()).collect().to_series()
            if len(found):
                message = f"the changes from {before} to {after} do not list the same {kind} as "
                message += "the two snapshots"
                yield f"changes/{kind}", message, len(found), tuple(found.head(3))


def _scan_ids(
    context: ValidationContext, rows: pl.LazyFrame, snapshot: str, ids: tuple[str, ...]
) -> pl.LazyFrame:
    """Select the id columns of a table, with ids that are the same in all snapshots.

    The ids of an imported release, which may differ between snapshots, are replaced by their keys.
    """
    for column in ids:
        rows = context.replace_ids_with_keys(rows, snapshot, column)
    return rows.select(ids)


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
        "each change table lists the documents, queries and judgements of the two snapshots that "
        "it compares",
        "error",
        "change statistics that were computed from data other than the published data",
        "rebuild the version from its definition",
        _find_incomplete_changes,
    ),
)
