"""Checks for the defects of queries and labels that published collections had."""

import json
from collections.abc import Iterator
from typing import Any

import orjson
import polars as pl

from builder.collection.checks.finding import Check, Found
from builder.collection.checks.reading import Reading
from builder.parameters import CrawlParameters, LogParameters
from builder.queries.matching import match_topics
from builder.queries.personal import detect_personal_data
from builder.text.names import ENGLISH_SUFFIX

DESCRIPTIVE = frozenset(
    f"{name}.{key}"
    for name, section in (("log", LogParameters), ("crawl", CrawlParameters))
    for key in section.format_keys
)
"""Parameters that say how raw files are written; snapshots may differ in them."""
INSIDE = 0.2
"""Share of queries that may hold their topic inside another word."""


def _construction(reading: Reading) -> Iterator[Found]:
    """What the drift report calls a change of construction, between two snapshots."""
    try:
        text = (reading.collection.path / "drift.json").read_text("utf-8")
        checks: list[dict[str, Any]] = orjson.loads(text)["checks"]
    except (OSError, ValueError, KeyError):
        return
    for check in checks:
        if check["verdict"] == "construction" and len(check["snapshots"]) == 2:
            where = f"snapshots/{check['snapshots'][1]}"
            yield where, f"{check['evidence']} ({check['check']})", 1, tuple(check["snapshots"])


def _inside_words(reading: Reading) -> Iterator[Found]:
    select = reading.manifest["definition"]["parameters"].get("select", {})
    topics = reading.scan("topics")
    if select.get("matching") != "substring" or topics is None:
        return
    for name, queries in reading.snapshots("queries"):
        texts = queries.select("query_id", "text").collect()
        matched = match_topics(texts["text"], topics.collect(), "word")
        lost = texts.filter(matched.list.len().fill_null(0) == 0)
        if lost.height > INSIDE * texts.height:
            share = lost.height / texts.height
            message = f"{share:.0%} of the queries hold their topic only inside another word"
            yield f"snapshots/{name}/queries", message, lost.height, tuple(lost["text"].head(3))


def _filters(reading: Reading) -> Iterator[Found]:
    """Parameters of one stage that are not those of all snapshots."""
    seen: dict[str, dict[str, list[str]]] = {}
    for unit, entry in reading.manifest["units"].items():
        stage, _, key = unit.partition(" ")
        if key in reading.collection.snapshots:
            rules = {k: v for k, v in entry["parameters"].items() if k not in DESCRIPTIVE}
            recorded = json.dumps(rules, sort_keys=True)
            seen.setdefault(stage, {}).setdefault(recorded, []).append(key)
    for stage, groups in sorted(seen.items()):
        if len(groups) > 1:
            odd = min(groups.values(), key=len)
            message = f"stage {stage} has other parameters here than in other snapshots"
            yield f"snapshots/{odd[0]}", message, len(odd), tuple(odd[:3])


def _personal(reading: Reading) -> Iterator[Found]:
    for name, queries in reading.snapshots("queries"):
        texts = queries.select("query_id", "text").collect()
        kinds = texts.with_columns(kind=detect_personal_data(texts["text"])).drop_nulls("kind")
        for (kind,), group in kinds.sort("kind", "query_id").group_by("kind", maintain_order=True):
            message = f"texts hold personal data: {kind}"
            yield (
                f"snapshots/{name}/queries",
                message,
                group.height,
                tuple(group["query_id"].head(3)),
            )


def _languages(reading: Reading) -> Iterator[Found]:
    """Snapshots without any English text in a collection that is said to be in English too."""
    if ENGLISH_SUFFIX not in reading.collection.languages.values():
        return
    english = pl.col("text_en").is_not_null().any()
    for name, queries in reading.snapshots("queries"):
        counts = queries.select(pl.len(), english=english).collect()
        if counts["len"][0] and not counts["english"][0]:
            yield f"snapshots/{name}/queries", "no query has an English text", counts["len"][0], ()


def _collisions(reading: Reading) -> Iterator[Found]:
    """French queries that are one English text, and are not listed as such."""
    for name, queries in reading.snapshots("queries"):
        texts = queries.select("query_id", "text_en").filter(pl.col("text_en").is_not_null())
        same = texts.filter(pl.col("text_en").is_duplicated()).sort("text_en", "query_id")
        listed = reading.scan(f"snapshots/{name}/query_collisions")
        if listed is not None:
            same = same.join(listed.select("query_id"), on="query_id", how="anti")
        found = same.collect()
        if found.height:
            message = "queries share their English text with another one"
            yield (
                f"snapshots/{name}/queries",
                message,
                found.height,
                tuple(found["query_id"].head(3)),
            )


def _empty(reading: Reading) -> Iterator[Found]:
    """Tables without a row that a snapshot needs, and labels without one that is relevant.

    A release may hold its labels back.
    """
    needed = {"queries", "documents"} if reading.has_documents else {"queries"}
    needed |= set() if reading.is_imported else {"qrels"}
    for where, facts in reading.facts.items():
        room, _, name = where.rpartition("/")
        is_needed = room.startswith("snapshots/") and name in needed
        if is_needed and facts.is_readable and not facts.rows:
            yield where, f"there are no {name}", 1, ()
    for name, qrels in reading.snapshots("qrels"):
        counts = qrels.select(pl.len(), pl.col("grade").max()).collect()
        if counts["len"][0] and counts["grade"][0] == 0:
            yield f"snapshots/{name}/qrels", "no document is relevant", counts["len"][0], ()


CHECKS = (
    Check(
        "LB212",
        "snapshots differ by the world, not by their construction",
        "warning",
        "query files that overlap by 0.132 where judged queries overlap by 0.486; a topic with "
        "2,462 queries in one month and 8 in another",
        "build all snapshots with one definition",
        _construction,
    ),
    Check(
        "LB213",
        "topics are whole words",
        "warning",
        "eau in 52 % of the query texts, and a word in a tenth of these (bordeaux, chateau)",
        'set `select.matching = "word"`',
        _inside_words,
    ),
    Check(
        "LB214",
        "every snapshot is made with the same parameters",
        "error",
        "filters that were applied differently per month",
        "rebuild all snapshots with one definition",
        _filters,
    ),
    Check(
        "LB221",
        "queries hold no personal data",
        "error",
        "e-mail addresses and phone numbers among published queries",
        "select with the privacy rules on",
        _personal,
    ),
    Check(
        "LB223",
        "several queries do not become one in English",
        "warning",
        "several French queries that are one English text",
        "list them, so that they can be left out",
        _collisions,
    ),
    Check(
        "LB224",
        "a snapshot has documents, queries, judgements, and some that are relevant",
        "warning",
        "a month that nobody could search, since every line of its log was of another format",
        "look at the rejects of the stages log, crawl and select, and at how grades are cut",
        _empty,
    ),
    Check(
        "LB225",
        "texts are in the languages that the collection names",
        "error",
        "a collection of two languages whose English was never made",
        'set `translate.model = "embedded"`, or leave English out: `collection.languages = ["fr"]`',
        _languages,
    ),
)
