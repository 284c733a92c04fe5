"""Checks the columns, rules, keys, sort order, row counts and ids of individual tables."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import polars as pl

from builder.collection.checks.context import ValidationContext
from builder.collection.checks.finding import Check, Defect
from builder.collection.files import REBUILD
from builder.collection.layout import CHANGE_TABLES
from builder.runtime.content import content_hash
from builder.runtime.limits import ResourceLimits
from builder.text.keys import doc_id, fold, key64, query_id


def _find_schema_violations(
    context: ValidationContext, *, unreadable_only: bool = False
) -> Iterator[Defect]:
    for where, summary in context.table_summaries.items():
        if unreadable_only and summary.is_readable:
            continue
        if not summary.paths:
            yield where, f"the table is missing ({summary.schema.__name__})", 1, ()
        for message, examples in summary.problems:
            yield where, message, 1, examples


def _find_unchecked_tables(context: ValidationContext) -> Iterator[Defect]:
    """Report tables that the preceding checks skipped as missing or unreadable."""
    if context.are_tables_loaded:
        yield from _find_schema_violations(context, unreadable_only=True)


def _find_rule_violations(context: ValidationContext) -> Iterator[Defect]:
    for where, summary in context.table_summaries.items():
        for (part, rule), count in sorted(summary.rule_violations.items()):
            yield where, f"rows of {part} violate the rule {rule}", count, ()


def _find_duplicate_keys(context: ValidationContext) -> Iterator[Defect]:
    for where, summary in context.table_summaries.items():
        count, examples = summary.duplicate_keys
        if count:
            names = ", ".join(summary.schema.primary_key())
            yield where, f"rows have a duplicate key ({names})", count, examples


def _find_unsorted_tables(context: ValidationContext) -> Iterator[Defect]:
    for where, summary in context.table_summaries.items():
        if summary.is_readable and not summary.is_sorted:
            key = ", ".join(summary.schema.sort_columns())
            yield where, f"rows are not sorted by {key}", 1, ()


def _find_content_mismatches(context: ValidationContext) -> Iterator[Defect]:
    """Report tables whose row count or content hash differs from the manifest.

    DuckDB computes the content hashes, so they are compared only if the collection was built with
    the installed version of DuckDB.
    """
    is_comparable = context.manifest["tools"].get("duckdb") == duckdb.__version__
    with TemporaryDirectory(prefix="longeval-") as scratch:
        limits = ResourceLimits(Path(scratch))
        for where, entry in sorted(context.manifest["tables"].items()):
            table_path, pair = _split_change_table_path(where)
            summary = context.table_summaries.get(table_path)
            if summary is None or not summary.is_readable:
                continue
            if pair is None and summary.rows != entry["rows"]:
                counts = f"expected {entry['rows']} rows according to the manifest"
                yield where, f"{counts}, found {summary.rows}", 1, ()
            elif is_comparable and entry.get("content"):
                found = content_hash(context.open_table(table_path), limits, pair)
                if found != entry["content"]:
                    yield where, "the rows differ from the content hash in the manifest", 1, ()


def _split_change_table_path(where: str) -> tuple[str, tuple[str, str] | None]:
    """Split a path such as `changes/qrels/2022-06_2022-07` into table path and snapshot pair.

    Returns:
        Path of the change table and the two snapshots; for any other table, its path and None.
    """
    table_path, _, pair = where.rpartition("/")
    before, separator, after = pair.partition("_")
    is_pair = separator and table_path in CHANGE_TABLES.values()
    return (table_path, (before, after)) if is_pair else (where, None)


def _find_missing_values(context: ValidationContext) -> Iterator[Defect]:
    """Report rows of built collections that lack a value which only imported releases may omit.

    These are queries without impressions or topics, qrels without click or manual evidence, and
    documents without a fetch time.
    """
    if context.is_imported:
        return
    missing_conditions = {
        "queries": (pl.col("impressions") == 0) | (pl.col("topics").list.len() == 0),
        "qrels": pl.col("source") == "release",
        "documents": pl.col("fetched_at") == 0,
    }
    for kind, condition in missing_conditions.items():
        for name, frame in context.scan_snapshots(kind):
            key = list(context.table_summaries[f"snapshots/{name}/{kind}"].schema.primary_key())
            found = frame.filter(condition).select(key).collect()
            if found.height:
                examples = tuple(" ".join(row) for row in found.head(3).iter_rows())
                message = "rows lack values that only imported releases may omit"
                yield f"snapshots/{name}/{kind}", message, found.height, examples


def _find_wrong_document_ids(context: ValidationContext) -> Iterator[Defect]:
    for name, frame in context.scan_snapshots("documents"):
        rows = frame.select("doc_id", "url_key").collect()
        wrong = [d for d, url in rows.iter_rows() if d != doc_id(key64(url))]
        if wrong and not context.is_imported:
            message = "document ids are not derived from canonical URLs"
            yield f"snapshots/{name}/documents", message, len(wrong), tuple(wrong[:3])


def _find_wrong_query_ids(context: ValidationContext) -> Iterator[Defect]:
    for name, frame in context.scan_snapshots("queries"):
        rows = frame.select("query_id", folded=fold(pl.col("text"))).collect()
        wrong = [q for q, folded in rows.iter_rows() if folded and q != query_id(key64(folded))]
        if wrong and not context.is_imported:
            message = "query ids are not derived from normalized (folded) texts"
            yield f"snapshots/{name}/queries", message, len(wrong), tuple(wrong[:3])


CHECKS = (
    Check(
        "LB101",
        "tables have the columns of their schema",
        "error",
        "files whose content does not match their extension, so that readers skip or misread them",
        REBUILD,
        _find_schema_violations,
    ),
    Check(
        "LB102",
        "rows satisfy the rules of their schema",
        "error",
        "empty texts, grades out of range, malformed ids",
        REBUILD,
        _find_rule_violations,
    ),
    Check(
        "LB103",
        "keys are unique",
        "error",
        "about 10 % duplicate document ids within a published month",
        REBUILD,
        _find_duplicate_keys,
    ),
    Check(
        "LB104",
        "rows are sorted",
        "error",
        "identical content in a different order, so that copies cannot be compared",
        REBUILD,
        _find_unsorted_tables,
    ),
    Check(
        "LB105",
        "rows match the row counts and content hashes in the manifest",
        "error",
        "wrong counts in published metadata; tables that were changed after publication",
        REBUILD,
        _find_content_mismatches,
    ),
    Check(
        "LB106",
        "snapshots that were built from logs (not imported) have impression counts, topics and "
        "crawl times",
        "error",
        "grades without the click counts behind them",
        REBUILD,
        _find_missing_values,
    ),
    Check(
        "LB107",
        "document ids are derived from URLs",
        "error",
        "the same document under a different id each month",
        "derive ids from canonical URLs, never from counters",
        _find_wrong_document_ids,
    ),
    Check(
        "LB108",
        "query ids are derived from normalized (folded) texts",
        "error",
        "query ids from a counter that changed between runs",
        "derive ids from normalized (folded) texts, never from counters",
        _find_wrong_query_ids,
    ),
)

UNCHECKED_TABLES = replace(CHECKS[0], find=_find_unchecked_tables)
"""Check that runs last, in place of LB101, if LB101 is not among the selected checks."""
