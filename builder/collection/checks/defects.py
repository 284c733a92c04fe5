"""Checks queries and snapshots for defects that have been found in published collections."""

import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from builder.collection.checks.context import ValidationContext
from builder.collection.checks.finding import Check, Defect
from builder.collection.drift_file import read_drift
from builder.collection.layout import DRIFT
from builder.errors import FormatError
from builder.parameters import CrawlParameters, LogParameters
from builder.queries.matching import match_topics
from builder.queries.personal import detect_personal_data
from builder.text.keys import fold_series
from builder.text.names import ENGLISH_SUFFIX

INPUT_FORMAT_PARAMETERS = frozenset(
    f"{name}.{key}"
    for name, section in (("log", LogParameters), ("crawl", CrawlParameters))
    for key in section.format_keys
)
"""Parameters that describe the format of raw files; they may differ between snapshots."""
MAX_SUBSTRING_SHARE = 0.2
"""Maximum share of queries that contain their topic only inside another word."""


def _find_construction_changes(context: ValidationContext) -> Iterator[Defect]:
    """Report consecutive snapshots that were built differently, according to `drift.json`."""
    try:
        changes = list(_read_construction_changes(context.collection.path))
    except (FormatError, KeyError, TypeError):
        yield DRIFT, "cannot read the drift checks of consecutive snapshots", 1, ()
        return
    for (before, after), evidence, name in changes:
        yield f"snapshots/{after}", f"{evidence} ({name})", 1, (before, after)


def _read_construction_changes(version: Path) -> Iterator[tuple[tuple[str, str], str, str]]:
    """Yield (snapshots, evidence, check name) for each drift check with verdict `construction`.

    The verdict means that two snapshots were built differently. Only drift checks that compare
    exactly two snapshots are read.
    """
    for check in (read_drift(version) or {"checks": ()})["checks"]:
        if check["verdict"] == "construction" and len(check["snapshots"]) == 2:
            yield tuple(check["snapshots"]), check["evidence"], check["check"]


def _find_topics_inside_words(context: ValidationContext) -> Iterator[Defect]:
    select = context.manifest["definition"]["parameters"].get("select", {})
    topics = context.scan_table("topics")
    if select.get("matching") != "substring" or topics is None:
        return
    for name, queries in context.scan_snapshots("queries"):
        texts = queries.select("query_id", "text").collect()
        matched = match_topics(fold_series(texts["text"]), topics.collect(), "word")
        unmatched = texts.filter(matched.list.len() == 0)
        if unmatched.height > MAX_SUBSTRING_SHARE * texts.height:
            share = unmatched.height / texts.height
            message = f"{share:.0%} of the queries contain their topic only inside another word"
            yield (
                f"snapshots/{name}/queries",
                message,
                unmatched.height,
                tuple(unmatched["text"].head(3)),
            )


def _find_parameter_differences(context: ValidationContext) -> Iterator[Defect]:
    """Report stages whose parameters differ between snapshots."""
    seen: dict[str, dict[str, list[str]]] = {}
    for step, entry in context.manifest["units"].items():
        stage, _, key = step.partition(" ")
        if key in context.collection.snapshots:
            rules = {
                k: v for k, v in entry["parameters"].items() if k not in INPUT_FORMAT_PARAMETERS
            }
            recorded = json.dumps(rules, sort_keys=True)
            seen.setdefault(stage, {}).setdefault(recorded, []).append(key)
    for stage, groups in sorted(seen.items()):
        if len(groups) > 1:
            deviating = min(groups.values(), key=len)
            message = f"parameters of stage {stage} differ from those of other snapshots"
            yield f"snapshots/{deviating[0]}", message, len(deviating), tuple(deviating[:3])


def _find_personal_data(context: ValidationContext) -> Iterator[Defect]:
    for name, queries in context.scan_snapshots("queries"):
        texts = queries.select("query_id", "text").collect()
        kinds = texts.with_columns(kind=detect_personal_data(texts["text"])).drop_nulls("kind")
        for (kind,), group in kinds.sort("kind", "query_id").group_by("kind", maintain_order=True):
            message = f"texts contain personal data: {kind}"
            yield (
                f"snapshots/{name}/queries",
                message,
                group.height,
                tuple(group["query_id"].head(3)),
            )


def _find_missing_english_texts(context: ValidationContext) -> Iterator[Defect]:
    """Report the queries and documents of a bilingual collection that have no English text.

    An imported release may translate only some queries and no documents, so it is reported only if
    none of the queries in a snapshot has an English text.
    """
    if ENGLISH_SUFFIX not in context.collection.languages.values():
        return
    kinds = {"queries": "query"} | ({} if context.is_imported else {"documents": "document"})
    english = pl.col("text_en").str.strip_chars().str.len_bytes() > 0
    for table, kind in kinds.items():
        for name, rows in context.scan_snapshots(table):
            where, missing = f"snapshots/{name}/{table}", pl.col("text_en").is_null()
            counts = rows.select(pl.len(), english=english.sum(), missing=missing.sum()).collect()
            count, found, without = counts.row(0)
            if count and not found:
                yield where, f"no {kind} has an English text", count, ()
            elif without and not context.is_imported:
                yield where, f"English texts of some {table} are missing", without, ()


def _find_unlisted_query_collisions(context: ValidationContext) -> Iterator[Defect]:
    """Report queries that share an English text but are not listed in `query_collisions`."""
    for name, queries in context.scan_snapshots("queries"):
        texts = queries.select("query_id", "text_en").filter(pl.col("text_en").is_not_null())
        colliding = texts.filter(pl.col("text_en").is_duplicated()).sort("text_en", "query_id")
        listed = context.scan_table(f"snapshots/{name}/query_collisions")
        if listed is not None:
            colliding = colliding.join(listed.select("query_id"), on="query_id", how="anti")
        found = colliding.collect()
        if found.height:
            message = "queries have the same English text as another query"
            yield (
                f"snapshots/{name}/queries",
                message,
                found.height,
                tuple(found["query_id"].head(3)),
            )


def _find_empty_tables(context: ValidationContext) -> Iterator[Defect]:
    """Report required tables without rows, and qrels without relevant documents.

    Qrels are optional in imported releases, which may withhold them.
    """
    required = {"queries", "documents"} if context.has_documents else {"queries"}
    required |= set() if context.is_imported else {"qrels"}
    for where, summary in context.table_summaries.items():
        folder, _, name = where.rpartition("/")
        is_required = folder.startswith("snapshots/") and name in required
        if is_required and summary.is_readable and not summary.rows:
            yield where, f"the table {name} is empty", 1, ()
    for name, qrels in context.scan_snapshots("qrels"):
        counts = qrels.select(pl.len(), pl.col("grade").max()).collect()
        if counts["len"][0] and counts["grade"][0] == 0:
            yield (
                f"snapshots/{name}/qrels",
                "qrels contain no relevant documents",
                counts["len"][0],
                (),
            )


CHECKS = (
    Check(
        "LB212",
        "differences between snapshots come from the data, not from how they were built",
        "warning",
        "an overlap between two months of 0.132 for all queries, but 0.486 for judged queries; a "
        "topic with 2,462 queries in one month and 8 in another",
        "build all snapshots with the same definition",
        _find_construction_changes,
    ),
    Check(
        "LB213",
        "topics match whole words",
        "warning",
        'the topic "eau" matched 52 % of the queries, a tenth of them as part of words such as '
        '"bordeaux"',
        'set `select.matching = "word"`',
        _find_topics_inside_words,
    ),
    Check(
        "LB214",
        "all snapshots are built with the same parameters",
        "error",
        "filters that were applied differently from month to month",
        "rebuild all snapshots with the same definition",
        _find_parameter_differences,
    ),
    Check(
        "LB221",
        "queries contain no personal data",
        "error",
        "e-mail addresses and phone numbers in published queries",
        "enable the privacy rules of query selection and rebuild",
        _find_personal_data,
    ),
    Check(
        "LB223",
        "distinct queries have distinct English texts",
        "warning",
        "several French queries with the same English translation",
        "list the queries in the table query_collisions, so that evaluations can exclude them",
        _find_unlisted_query_collisions,
    ),
    Check(
        "LB224",
        "every snapshot has documents, queries, qrels and relevant documents",
        "warning",
        "a month without queries, because all lines of its log had an unexpected format",
        "inspect the grade thresholds, and the rejects of the `log`, `crawl` and `select` stages",
        _find_empty_tables,
    ),
    Check(
        "LB225",
        "texts exist in all languages of the collection",
        "error",
        "a collection that was declared bilingual but had no English texts",
        'set `translate.model = "embedded"`, or remove English: `collection.languages = ["fr"]`',
        _find_missing_english_texts,
    ),
)
