"""Explorer page of a document: versions, word diff, translation, URLs and judgements."""

import datetime
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup
from starlette.exceptions import HTTPException

from builder.explore.document_texts import diff_section, translation_section
from builder.explore.document_urls import urls_section
from builder.explore.page_request import PageRequest, page_url
from builder.explore.queries import query_link_cell
from builder.explore.render import Page, link, render_macro
from builder.explore.source import CollectionSource
from builder.explore.statements import Row, Statement
from builder.explore.tables import Column, render_table
from builder.reporting import numbers
from builder.reporting.parts import Cell, decimal_cell, percentage_cell, section

MAP_ROW = "SELECT url, url_key, snapshots, loose_id, crawled FROM documents_map WHERE doc_id = $doc"
RELEASE_IDS = "SELECT DISTINCT id FROM release_ids WHERE key = $doc AND kind = 'document'"
VERSIONS = """
SELECT snapshot, doc_id, url, title, title_en, fetched_at, published_at, modified_at, tokens,
  language, language_score, shown, sampled, truncated, duplicate_group, near_duplicate_group
FROM documents WHERE doc_id IN (SELECT unnest($ids)) AND doc_key = $doc ORDER BY snapshot
"""
DOCUMENT_CHANGES = """
SELECT from_snapshot, to_snapshot, status, band, dice, shingle_jaccard, tokens_from, tokens_to,
  matched_by, matched_id, crawled
FROM document_changes WHERE doc_id = $doc ORDER BY from_snapshot
"""
QRELS = """
SELECT qrels.snapshot, qrels.query_key AS query_id, text, grade, score, impressions, examinations,
  clicks, stability, source
FROM qrels LEFT JOIN (SELECT query_id AS query_key, text FROM queries_map) USING (query_key)
WHERE doc_key = $doc ORDER BY query_id, qrels.snapshot
"""


def document_page(source: CollectionSource, request: PageRequest, doc_id: str) -> Page:
    """Build the page `/page/<id>`, which describes one document.

    Raises:
        HTTPException: 404 if the collection does not contain the document.
    """
    sql_parameters: dict[str, Any] = {"doc": doc_id}
    map_rows = source.fetch_rows(Statement(MAP_ROW, sql_parameters))
    judged = source.fetch_rows(Statement(QRELS, sql_parameters))
    ids = [row["id"] for row in source.fetch_rows(Statement(RELEASE_IDS, sql_parameters))] or [
        doc_id
    ]
    sql_parameters["ids"] = ids
    versions = source.fetch_rows(Statement(VERSIONS, sql_parameters))
    changes = source.fetch_rows(Statement(DOCUMENT_CHANGES, sql_parameters))
    if not (map_rows or judged or versions):
        raise HTTPException(404, "The collection does not contain a page with this id.")
    title = next((v["title"] for v in reversed(versions) if v["title"]), None)
    url = map_rows[0]["url"] if map_rows else versions[-1]["url"] if versions else doc_id
    body = (
        _render_document_properties(source, doc_id, map_rows, versions),
        _versions_section(source, versions, changes, sql_parameters),
        diff_section(source, request, versions, sql_parameters),
        translation_section(source, request, versions, sql_parameters),
        urls_section(source, doc_id, map_rows, changes),
        _judgements_section(source, judged, sql_parameters),
    )
    parts = [
        ("versions", "Versions"),
        ("difference", "Difference"),
        ("translation", "Translation"),
        ("urls", "URLs"),
        ("judged", "Judgements"),
    ]
    return Page(title or url, [url] if title else [], body, "/pages", parts)


def _render_document_properties(
    source: CollectionSource, doc_id: str, map_rows: Sequence[Row], versions: Sequence[Row]
) -> Markup:
    """Render a document's id, why it is included, and which crawls and snapshots contain it."""
    facts = [("Id", doc_id), ("Reason for inclusion", _inclusion_reasons(source, versions))]
    if map_rows and map_rows[0]["crawled"] is not None:
        facts.append(("Crawled in", ", ".join(map_rows[0]["crawled"]) or "none of the snapshots"))
    if map_rows:
        facts.append(("In snapshots", ", ".join(map_rows[0]["snapshots"])))
    return render_macro("facts", facts)


def _inclusion_reasons(source: CollectionSource, versions: Sequence[Row]) -> str:
    """Return the reasons why the collection includes a document (shown, sampled or judged)."""
    if not versions:
        return "it was judged; the collection does not contain its text"
    if source.is_imported:
        return "it is in the imported release"
    parameters = source.collection.manifest["definition"]["parameters"].get("documents", {})
    sample_share = parameters.get("sample_share")
    reasons = []
    shown_in = [v["snapshot"] for v in versions if v["shown"]]
    sampled_in = [v["snapshot"] for v in versions if v["sampled"]]
    if shown_in:
        reasons.append(f"shown for a query of the collection ({', '.join(shown_in)})")
    if sampled_in:
        size = "" if sample_share is None else f"{numbers.format_percent(sample_share)} "
        reasons.append(f"part of the {size}sample of the crawl ({', '.join(sampled_in)})")
    return "; ".join(reasons)


def format_date(unix_time: int | None) -> str:
    """Format a Unix time in seconds as a UTC date; return a dash if it is missing or invalid."""
    if not unix_time:
        return numbers.DASH
    try:
        return datetime.datetime.fromtimestamp(unix_time, datetime.UTC).strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):
        return numbers.DASH


VERSION_COLUMNS = (
    Column("Snapshot", "snapshot"),
    Column("Title", "title", "Title in the source language"),
    Column("Fetched", lambda r: Cell(format_date(r["fetched_at"])), "Date of the fetch, UTC"),
    Column("Words", "tokens", "Number of words in title and text"),
    Column(
        "Language",
        lambda r: Cell(_format_language(r)),
        "Language detected in the text, with the detector's confidence",
    ),
    Column(
        "Shown",
        lambda r: Cell("yes" if r["shown"] else "no"),
        "Whether the page was among the results of a query of the collection",
    ),
    Column(
        "Sampled",
        lambda r: Cell("yes" if r["sampled"] else "no"),
        "Whether the page is in the hash-based sample of the crawl",
    ),
    Column(
        "Cut",
        lambda r: Cell(
            numbers.DASH if r["truncated"] is None else "yes" if r["truncated"] else "no"
        ),
        "Whether the text was truncated at the length limit of the crawl",
    ),
    Column(
        "Same text as",
        lambda r: _duplicate_link_cell(r, "duplicate_group"),
        "First page of the group of exact duplicates",
    ),
    Column(
        "Nearly same as",
        lambda r: _duplicate_link_cell(r, "near_duplicate_group"),
        "First page of the group of near-duplicates",
    ),
)


def _format_language(row: Row) -> str:
    if row["language"] is None:
        return numbers.DASH
    return f"{row['language']} ({numbers.format_percent(row['language_score'], 0)})"


def _duplicate_link_cell(row: Row, column: str) -> Cell:
    doc_id = row[column]
    return Cell(numbers.DASH if doc_id is None else link(f"/page/{doc_id}", doc_id))


def _versions_section(
    source: CollectionSource,
    versions: Sequence[Row],
    changes: Sequence[Row],
    sql_parameters: dict[str, Any],
) -> Markup:
    """Render a table of a document's versions and a table of the changes between them."""
    version_table = render_table(
        source,
        "The page in each snapshot",
        VERSION_COLUMNS,
        versions,
        Statement(VERSIONS, sql_parameters),
        empty_text="The collection does not contain the text of this page.",
    )
    columns = (
        Column("From", "from_snapshot"),
        Column("To", "to_snapshot"),
        Column(
            "What happened",
            lambda r: Cell(_format_status(r)),
            "added, removed, updated, unchanged, or why the page is missing from a snapshot",
        ),
        Column(
            "Dice",
            lambda r: decimal_cell(r["dice"]),
            "Dice coefficient of the word sets of both versions",
        ),
        Column(
            "5-word sequences",
            lambda r: decimal_cell(r["shingle_jaccard"]),
            "Jaccard coefficient of the sets of 5-word shingles of both versions",
        ),
        Column("Words before", "tokens_from"),
        Column("Words after", "tokens_to"),
        Column("Difference", lambda r: _diff_link_cell(r, str(sql_parameters["doc"]))),
    )
    change_table = render_table(
        source,
        "What happened between snapshots",
        columns,
        changes,
        Statement(DOCUMENT_CHANGES, sql_parameters),
        empty_text="No changes are recorded.",
    )
    return section(
        "versions", "Versions", "Every version of the page.", version_table, change_table
    )


def _format_status(row: Row) -> str:
    status = str(row["status"]).replace("_", " ")
    return f"{status}, {row['band']}" if row["band"] else status


def _diff_link_cell(row: Row, doc_id: str) -> Cell:
    if row["status"] not in ("updated", "unchanged"):
        return Cell(numbers.DASH)
    pair = {"from": row["from_snapshot"], "to": row["to_snapshot"]}
    return Cell(link(page_url(f"/page/{doc_id}", **pair) + "#difference", "compare"))


def _judgements_section(
    source: CollectionSource, judgements: Sequence[Row], sql_parameters: dict[str, Any]
) -> Markup:
    """Render a table of a document's relevance judgements."""
    columns = (
        Column("Query", lambda r: query_link_cell(r["query_id"], r["text"])),
        Column("Snapshot", "snapshot"),
        Column("Grade", "grade", "0 not relevant, 1 relevant, 2 highly relevant"),
        Column("Impressions", "impressions", "How often the page was shown for the query"),
        Column(
            "Examinations",
            "examinations",
            "Impressions in which users looked at the page, according to the click model",
        ),
        Column("Clicks", "clicks", "Impressions in which users clicked the page"),
        Column(
            "Score",
            lambda r: decimal_cell(r["score"]),
            "Probability of relevance, which determines the grade",
        ),
        Column(
            "Stability",
            lambda r: percentage_cell(r["stability"]),
            "Probability that the true score lies within the score range of the grade",
        ),
        Column("Source", "source", "click, manual or release"),
    )
    found = render_table(
        source,
        "Judgements of the page",
        columns,
        judgements,
        Statement(QRELS, sql_parameters),
        empty_text="The page has no judgements.",
    )
    return section("judged", "Judgements", "Every query for which the page was judged.", found)
