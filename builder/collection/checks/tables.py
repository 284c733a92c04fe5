"""Checks on tables one by one: contracts, keys, order, counts, ids."""

from collections.abc import Iterator

import polars as pl

from builder.collection.checks.finding import Check, Found
from builder.collection.checks.reading import Reading
from builder.text.keys import doc_id, fold, key64, query_id

REBUILD = "rebuild the version from its definition"


def _contract(reading: Reading) -> Iterator[Found]:
    for where, facts in reading.facts.items():
        if not facts.paths:
            yield where, f"the table is missing ({facts.contract.__name__})", 1, ()
        for message, examples in facts.problems:
            yield where, message, 1, examples


def _rules(reading: Reading) -> Iterator[Found]:
    for where, facts in reading.facts.items():
        for (part, rule), count in sorted(facts.rules.items()):
            yield where, f"rows of {part} break the rule {rule}", count, ()


def _keys(reading: Reading) -> Iterator[Found]:
    for where, facts in reading.facts.items():
        count, examples = facts.repeated
        if count:
            names = ", ".join(facts.contract.primary_key())
            yield where, f"rows share one key ({names})", count, examples


def _order(reading: Reading) -> Iterator[Found]:
    for where, facts in reading.facts.items():
        if facts.is_readable and not facts.in_order:
            key = ", ".join(facts.contract.sort_key())
            yield where, f"rows are not in the order of {key}", 1, ()


def _counts(reading: Reading) -> Iterator[Found]:
    for where, entry in sorted(reading.manifest["tables"].items()):
        facts = reading.facts.get(where)
        if facts and facts.is_readable and facts.rows != entry["rows"]:
            yield where, f"the manifest says {entry['rows']} rows, found {facts.rows}", 1, ()


def _known(reading: Reading) -> Iterator[Found]:
    """What only an imported release may leave open."""
    if reading.is_imported:
        return
    unknown = {
        "queries": (pl.col("impressions") == 0) | (pl.col("topics").list.len() == 0),
        "qrels": pl.col("source") == "release",
        "documents": pl.col("fetched_at") == 0,
    }
    for kind, condition in unknown.items():
        for name, frame in reading.snapshots(kind):
            key = list(reading.facts[f"snapshots/{name}/{kind}"].contract.primary_key())
            found = frame.filter(condition).select(key).collect()
            if found.height:
                examples = tuple(" ".join(row) for row in found.head(3).iter_rows())
                message = "rows lack what only an imported release may lack"
                yield f"snapshots/{name}/{kind}", message, found.height, examples


def _document_ids(reading: Reading) -> Iterator[Found]:
    for name, frame in reading.snapshots("documents"):
        rows = frame.select("doc_id", "url_key").collect()
        wrong = [d for d, url in rows.iter_rows() if d != doc_id(key64(url))]
        if wrong and not reading.is_imported:
            message = "ids are not those of their addresses"
            yield f"snapshots/{name}/documents", message, len(wrong), tuple(wrong[:3])


def _query_ids(reading: Reading) -> Iterator[Found]:
    for name, frame in reading.snapshots("queries"):
        rows = frame.select("query_id", folded=fold(pl.col("text"))).collect()
        wrong = [q for q, folded in rows.iter_rows() if folded and q != query_id(key64(folded))]
        if wrong and not reading.is_imported:
            message = "ids are not those of their folded texts"
            yield f"snapshots/{name}/queries", message, len(wrong), tuple(wrong[:3])


CHECKS = (
    Check(
        "LB101",
        "tables have the columns of their contract",
        "error",
        "files of one format under the name of another, which readers skip or misread",
        REBUILD,
        _contract,
    ),
    Check(
        "LB102",
        "rows keep the rules of their contract",
        "error",
        "empty texts, grades out of range, malformed ids",
        REBUILD,
        _rules,
    ),
    Check(
        "LB103",
        "keys are unique",
        "error",
        "about 10 % duplicate document ids within a published month",
        REBUILD,
        _keys,
    ),
    Check(
        "LB104",
        "rows are in order",
        "error",
        "the same content in other bytes, so that no two copies can be compared",
        REBUILD,
        _order,
    ),
    Check(
        "LB105",
        "row counts are those of the manifest",
        "error",
        "wrong counts in published metadata",
        REBUILD,
        _counts,
    ),
    Check(
        "LB106",
        "built snapshots know their counts, topics and times",
        "error",
        "labels without the evidence behind them",
        REBUILD,
        _known,
    ),
    Check(
        "LB107",
        "document ids are made from addresses",
        "error",
        "the same page under another id each month",
        "make ids from canonical addresses, never from counters",
        _document_ids,
    ),
    Check(
        "LB108",
        "query ids are made from folded texts",
        "error",
        "query ids from a counter that is not stable between runs",
        "make ids from folded texts, never from counters",
        _query_ids,
    ),
)
