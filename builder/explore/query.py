"""Explorer page of a query: statistics per snapshot, grades, grade changes and translation."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup
from starlette.exceptions import HTTPException

from builder.explore.grades import GRADES, document_link, format_grade, render_grade_matrix
from builder.explore.page_request import PageRequest, page_url
from builder.explore.query_systems import systems_sections
from builder.explore.render import Page, link, render_macro
from builder.explore.source import CollectionSource
from builder.explore.statements import Row, Statement
from builder.explore.tables import Column, render_statement_table, render_table
from builder.reporting import charts
from builder.reporting.parts import Cell, decimal_cell, empty_note, section

SNAPSHOT_ROWS = """
WITH listed AS (SELECT * FROM queries WHERE query_key = $query
), graded AS (
  SELECT snapshot, count(*) AS judged, count(*) FILTER (grade = 0) AS grade_0,
    count(*) FILTER (grade = 1) AS grade_1, count(*) FILTER (grade = 2) AS grade_2
  FROM qrels WHERE query_key = $query GROUP BY snapshot
)
SELECT snapshot, listed.query_id IS NOT NULL AS listed, listed.query_id AS own_id, split,
  text, text_en, listed.topics, impressions, users, clicks,
  coalesce(graded.judged, 0) AS judged, coalesce(grade_0, 0) AS grade_0,
  coalesce(grade_1, 0) AS grade_1, coalesce(grade_2, 0) AS grade_2
FROM snapshots LEFT JOIN listed USING (snapshot) LEFT JOIN graded USING (snapshot)
ORDER BY snapshot
"""
MAP_ROW = "SELECT text, core, aliases FROM queries_map WHERE query_id = $query"
TOPIC_LABELS = "SELECT topic_id, label FROM topics WHERE list_contains($topics, topic_id)"
GRADE_CHANGES = """
WITH flips AS (
  SELECT * FROM qrel_changes WHERE query_id = $query AND grade_from IS DISTINCT FROM grade_to
)
SELECT flips.from_snapshot, flips.to_snapshot, flips.doc_id, grade_from, grade_to,
  examinations_from, examinations_to, status, band, dice
FROM flips LEFT JOIN (
    SELECT * FROM document_changes WHERE doc_id IN (SELECT doc_id FROM flips)
  ) AS pages ON pages.doc_id = flips.doc_id AND pages.from_snapshot = flips.from_snapshot
    AND pages.to_snapshot = flips.to_snapshot
ORDER BY flips.from_snapshot, flips.doc_id
"""
TRANSLATIONS = """
SELECT snapshot, fr, en, flags FROM sentences WHERE id = $query ORDER BY snapshot, sentence
"""


def query_page(source: CollectionSource, request: PageRequest, query_id: str) -> Page:
    """Build the page `/query/<id>`, which describes one query.

    Raises:
        HTTPException: 404 if the collection does not contain the query.
    """
    sql_parameters = {"query": query_id}
    snapshot_rows = source.fetch_rows(Statement(SNAPSHOT_ROWS, sql_parameters))
    if not any(row["listed"] or row["judged"] for row in snapshot_rows):
        raise HTTPException(404, "The collection does not contain a query with this id.")
    map_rows = source.fetch_rows(Statement(MAP_ROW, sql_parameters))
    listed = [row for row in snapshot_rows if row["listed"]]
    text = listed[-1]["text"] if listed else map_rows[0]["text"] if map_rows else query_id
    english = next((row["text_en"] for row in reversed(listed) if row["text_en"]), None)
    lead = [english] if english else []
    grades = source.fetch_rows(Statement(GRADES, sql_parameters))
    scores = systems_sections(source, request, query_id)
    body = (
        _render_query_properties(source, query_id, map_rows, listed),
        _statistics_over_time_section(source, snapshot_rows, sql_parameters),
        render_grade_matrix(source, grades, sql_parameters),
        _grade_changes_section(source, grades, sql_parameters),
        *scores,
        _translation_section(source, sql_parameters),
    )
    parts = [("life", "Over time"), ("grades", "Grades"), ("moves", "Why grades changed")]
    parts += [("runs", "Systems")] if scores else []
    return Page(text, lead, body, "/queries", [*parts, ("translation", "Translation")])


def _render_query_properties(
    source: CollectionSource, query_id: str, map_rows: Sequence[Row], listed_rows: Sequence[Row]
) -> Markup:
    """Render a query's id, topics and variants, and whether every snapshot lists the query."""
    topics = sorted({topic for row in listed_rows for topic in row["topics"] or ()})
    rows = source.fetch_rows(Statement(TOPIC_LABELS, {"topics": topics})) if topics else []
    labels = {row["topic_id"]: row["label"] for row in rows}
    topic_links = [
        link(page_url("/queries", topic=t), labels[t]) if t in labels else t for t in topics
    ]
    facts: list[tuple[str, Any]] = [("Id", query_id)]
    facts.append(("Topics", Markup(", ").join(topic_links) if topics else "none recorded"))
    if map_rows:
        facts.append(
            ("Core", "in every snapshot" if map_rows[0]["core"] else "not in every snapshot")
        )
        aliases = map_rows[0]["aliases"]
        facts.append(("Merged variants", ", ".join(aliases) if aliases else "none"))
    return render_macro("facts", facts)


SNAPSHOT_COLUMNS = (
    Column("Snapshot", "snapshot"),
    Column(
        "Listed",
        lambda r: Cell("listed" if r["listed"] else "not listed"),
        "Whether the query file of the snapshot contains the query",
    ),
    Column("Split", "split", "train, heldout, test, or seen (in training)"),
    Column("Typed as", "text", "Most frequent spelling in the snapshot"),
    Column("Impressions", "impressions", "How often users issued the query"),
    Column("Users", "users", "Distinct users who issued the query"),
    Column("Clicks", "clicks", "Clicked results, counted once per impression and rank"),
    Column("Judged", "judged", "Number of judged pages"),
    Column("Not relevant", "grade_0", "Pages of grade 0"),
    Column("Relevant", "grade_1", "Pages of grade 1"),
    Column("Highly relevant", "grade_2", "Pages of grade 2"),
)


LOG_COLUMNS = ("impressions", "users", "clicks")
"""Columns omitted for imported collections, which store 0 because they have no query logs."""


def _statistics_over_time_section(
    source: CollectionSource, snapshot_rows: Sequence[Row], sql_parameters: dict[str, Any]
) -> Markup:
    """Render a table of a query's statistics per snapshot and a line chart of its impressions."""
    columns = [c for c in SNAPSHOT_COLUMNS if not (source.is_imported and c.value in LOG_COLUMNS)]
    statement = Statement(SNAPSHOT_ROWS, sql_parameters)
    found = render_table(
        source, "The query in each snapshot", columns, snapshot_rows, statement, empty_text=""
    )
    names = [row["snapshot"] for row in snapshot_rows]
    counts = [row["impressions"] for row in snapshot_rows]
    if source.is_imported and not any(counts):
        chart: Markup = empty_note("The release does not contain impression counts.")
    else:
        series = charts.LineSeries("impressions", "series-0", counts)
        chart = charts.line_chart("Impressions of the query", names, [series])
    return section("life", "Over time", "Statistics of the query per snapshot.", found, chart)


def _grade_changes_section(
    source: CollectionSource, grades: Sequence[Row], sql_parameters: dict[str, Any]
) -> Markup:
    """Render a table of a query's changed grades, with click evidence and document changes."""
    urls = {row["doc_key"]: row["url"] for row in grades}
    columns = (
        Column("Page", lambda r: Cell(document_link(r["doc_id"], urls.get(r["doc_id"])))),
        Column("From", "from_snapshot"),
        Column("To", "to_snapshot"),
        Column("Grade before", lambda r: Cell(format_grade(r["grade_from"]))),
        Column("Grade after", lambda r: Cell(format_grade(r["grade_to"]))),
        Column(
            "Examined before", "examinations_from", "Number of examinations in the earlier snapshot"
        ),
        Column("Examined after", "examinations_to", "Number of examinations in the later snapshot"),
        Column("The page", _document_change_cell, "How the text of the page changed"),
        Column(
            "Dice",
            lambda r: decimal_cell(r["dice"]),
            "Dice coefficient of the word sets of both versions, for updated pages",
        ),
    )
    found = render_statement_table(
        source,
        "Grades that differ between consecutive snapshots",
        columns,
        Statement(GRADE_CHANGES, sql_parameters),
        empty_text="No grades differ between snapshots.",
    )
    lead = (
        "Every changed grade, with the click evidence of both snapshots and how the page changed. "
        "If the page is unchanged, the grade changed because of the clicks, not because of the "
        "text."
    )
    return section("moves", "Why grades changed", lead, found)


def _document_change_cell(row: Row) -> Cell:
    """Return a table cell that says how a document changed; an update links to the word diff."""
    status, band = row["status"], row["band"]
    if status is None:
        return Cell("not recorded")
    text = f"{status.replace('_', ' ')}, {band}" if band else status.replace("_", " ")
    if status != "updated":
        return Cell(text)
    pair = {"from": row["from_snapshot"], "to": row["to_snapshot"]}
    return Cell(link(page_url(f"/page/{row['doc_id']}", **pair) + "#difference", text))


def _translation_section(source: CollectionSource, sql_parameters: dict[str, Any]) -> Markup:
    """Render a table of a query's translations, one row per sentence and snapshot."""
    columns = (
        Column("Snapshot", "snapshot"),
        Column("Source", "fr", "Query text that was translated"),
        Column("English", "en", "English translation"),
        Column(
            "Flags",
            lambda r: Cell(", ".join(r["flags"]) or "none"),
            "Possible errors in the translation",
        ),
    )
    found = render_statement_table(
        source,
        "Translation of the query",
        columns,
        Statement(TRANSLATIONS, sql_parameters),
        empty_text="The collection does not contain a translation of this query.",
    )
    return section("translation", "Translation", None, found)
