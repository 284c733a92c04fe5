"""A page over the snapshots: versions, their difference, translation, addresses, judgements."""

import datetime
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup
from starlette.exceptions import HTTPException

from builder.explore.asked import Asked, address
from builder.explore.page_addresses import addresses
from builder.explore.page_texts import differences, translation
from builder.explore.queries import query_link
from builder.explore.render import Page, link, macro
from builder.explore.source import Source
from builder.explore.statements import Row, Statement
from builder.explore.tables import Column, table
from builder.reporting import numbers
from builder.reporting.parts import Cell, decimal_cell, section, share_cell

KNOWN = "SELECT url, url_key, snapshots, loose_id, crawled FROM documents_map WHERE doc_id = $doc"
IDS = "SELECT DISTINCT id FROM release_ids WHERE key = $doc AND kind = 'document'"
VERSIONS = """
SELECT snapshot, doc_id, url, title, title_en, fetched_at, published_at, modified_at, tokens,
  language, language_score, shown, sampled, truncated, duplicate_group, near_duplicate_group
FROM documents WHERE doc_id IN (SELECT unnest($ids)) AND doc_key = $doc ORDER BY snapshot
"""
CHANGES = """
SELECT from_snapshot, to_snapshot, status, band, dice, shingle_jaccard, tokens_from, tokens_to,
  matched_by, matched_id, crawled
FROM document_changes WHERE doc_id = $doc ORDER BY from_snapshot
"""
JUDGED = """
SELECT qrels.snapshot, qrels.query_key AS query_id, text, grade, score, impressions, examinations,
  clicks, stability, source
FROM qrels LEFT JOIN (SELECT query_id AS query_key, text FROM queries_map) USING (query_key)
WHERE doc_key = $doc ORDER BY query_id, qrels.snapshot
"""


def page(source: Source, asked: Asked, key: str) -> Page:
    """The page `/page/<id>`."""
    values: dict[str, Any] = {"doc": key}
    known = source.rows(Statement(KNOWN, values))
    judged = source.rows(Statement(JUDGED, values))
    ids = [row["id"] for row in source.rows(Statement(IDS, values))] or [key]
    values["ids"] = ids
    versions = source.rows(Statement(VERSIONS, values))
    changes = source.rows(Statement(CHANGES, values))
    if not (known or judged or versions):
        raise HTTPException(404, "The collection has no page with this id.")
    title = next((v["title"] for v in reversed(versions) if v["title"]), None)
    url = known[0]["url"] if known else versions[-1]["url"] if versions else key
    body = (
        _facts(source, key, known, versions),
        _versions(source, versions, changes, values),
        differences(source, asked, versions, values),
        translation(source, asked, versions, values),
        addresses(source, key, known, changes),
        _judged(source, judged, values),
    )
    parts = [
        ("versions", "Versions"),
        ("difference", "Difference"),
        ("translation", "Translation"),
        ("addresses", "Addresses"),
        ("judged", "Judgements"),
    ]
    return Page(title or url, [url] if title else [], body, "/pages", parts)


def _facts(source: Source, key: str, known: Sequence[Row], versions: Sequence[Row]) -> Markup:
    facts = [("Id", key), ("In the collection because", _why(source, versions))]
    if known and known[0]["crawled"] is not None:
        facts.append(("Crawled in", ", ".join(known[0]["crawled"]) or "no snapshot"))
    if known:
        facts.append(("In snapshots", ", ".join(known[0]["snapshots"])))
    return macro("facts", facts)


def _why(source: Source, versions: Sequence[Row]) -> str:
    """Why the collection has the page."""
    if not versions:
        return "it is judged; the collection does not have its text"
    if source.is_imported:
        return "the release has it"
    parameters = source.collection.manifest["definition"]["parameters"].get("documents", {})
    portion = parameters.get("sample_share")
    reasons = []
    seen = [v["snapshot"] for v in versions if v["shown"]]
    drawn = [v["snapshot"] for v in versions if v["sampled"]]
    if seen:
        reasons.append(f"a kept query showed it ({', '.join(seen)})")
    if drawn:
        of = f" of {numbers.format_percent(portion)} of the crawl" if portion is not None else ""
        reasons.append(f"the sample{of} drew its id ({', '.join(drawn)})")
    return "; ".join(reasons)


def day(seconds: int | None) -> str:
    """A day of Unix seconds, in UTC; a dash where it is not known."""
    if not seconds:
        return numbers.DASH
    try:
        return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):
        return numbers.DASH


VERSION_COLUMNS = (
    Column("Snapshot", "snapshot"),
    Column("Title", "title", "Title in the source language"),
    Column("Fetched", lambda r: Cell(day(r["fetched_at"])), "Day of the fetch, UTC"),
    Column("Words", "tokens", "Words of title and text"),
    Column(
        "Language",
        lambda r: Cell(_language(r)),
        "Language found in the text, with the confidence of the detection",
    ),
    Column(
        "Shown",
        lambda r: Cell("yes" if r["shown"] else "no"),
        "Whether a result list of a kept query has it",
    ),
    Column(
        "Sampled",
        lambda r: Cell("yes" if r["sampled"] else "no"),
        "Whether the keyed sample of the crawl has it",
    ),
    Column(
        "Cut",
        lambda r: Cell(
            numbers.DASH if r["truncated"] is None else "yes" if r["truncated"] else "no"
        ),
        "Whether the text was cut at the length limit of the crawl",
    ),
    Column(
        "Same text as",
        lambda r: _twin(r, "duplicate_group"),
        "First page of the group with the same text",
    ),
    Column(
        "Nearly same as",
        lambda r: _twin(r, "near_duplicate_group"),
        "First page of the group with nearly the same text",
    ),
)


def _language(row: Row) -> str:
    if row["language"] is None:
        return numbers.DASH
    return f"{row['language']} ({numbers.format_percent(row['language_score'], 0)})"


def _twin(row: Row, column: str) -> Cell:
    other = row[column]
    return Cell(numbers.DASH if other is None else link(f"/page/{other}", other))


def _versions(
    source: Source, versions: Sequence[Row], changes: Sequence[Row], values: dict[str, Any]
) -> Markup:
    found = table(
        source,
        "The page in each snapshot",
        VERSION_COLUMNS,
        versions,
        Statement(VERSIONS, values),
        empty="The collection does not have the text of this page.",
    )
    columns = (
        Column("From", "from_snapshot"),
        Column("To", "to_snapshot"),
        Column(
            "What happened",
            lambda r: Cell(_status(r)),
            "added, removed, updated, unchanged, or why a snapshot does not have it",
        ),
        Column("Dice", lambda r: decimal_cell(r["dice"]), "Overlap of the words of both versions"),
        Column(
            "5-word sequences",
            lambda r: decimal_cell(r["shingle_jaccard"]),
            "Overlap (Jaccard) of the sequences of five words",
        ),
        Column("Words before", "tokens_from"),
        Column("Words after", "tokens_to"),
        Column("Difference", lambda r: _to_difference(r, str(values["doc"]))),
    )
    happened = table(
        source,
        "What happened between snapshots",
        columns,
        changes,
        Statement(CHANGES, values),
        empty="No change is recorded.",
    )
    return section("versions", "Versions", "The page as each snapshot has it.", found, happened)


def _status(row: Row) -> str:
    status = str(row["status"]).replace("_", " ")
    return f"{status}, {row['band']}" if row["band"] else status


def _to_difference(row: Row, key: str) -> Cell:
    if row["status"] not in ("updated", "unchanged"):
        return Cell(numbers.DASH)
    values = {"from": row["from_snapshot"], "to": row["to_snapshot"]}
    return Cell(link(address(f"/page/{key}", **values) + "#difference", "compare"))


def _judged(source: Source, judged: Sequence[Row], values: dict[str, Any]) -> Markup:
    columns = (
        Column("Query", lambda r: query_link(r["query_id"], r["text"])),
        Column("Snapshot", "snapshot"),
        Column("Grade", "grade", "0 not relevant, 1 relevant, 2 highly relevant"),
        Column("Impressions", "impressions", "Times the page was shown for the query"),
        Column("Examinations", "examinations", "Times that it was looked at, by the click model"),
        Column("Clicks", "clicks", "Impressions in which it was clicked"),
        Column(
            "Score", lambda r: decimal_cell(r["score"]), "The probability that is cut into grades"
        ),
        Column(
            "Stability",
            lambda r: share_cell(r["stability"]),
            "Probability that the score lies within the same grade",
        ),
        Column("Source", "source", "click, manual or release"),
    )
    found = table(
        source,
        "Judgements of the page",
        columns,
        judged,
        Statement(JUDGED, values),
        empty="No query judges this page.",
    )
    return section("judged", "Judgements", "Every query that judges the page.", found)
