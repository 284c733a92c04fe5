"""A query over the snapshots: its life, the grades of its pages, and why they moved."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup
from starlette.exceptions import HTTPException

from builder.explore.asked import Asked, address
from builder.explore.grades import GRADES, grade_text, matrix, page_link
from builder.explore.query_systems import of_query
from builder.explore.render import Page, link, macro
from builder.explore.source import Source
from builder.explore.statements import Row, Statement
from builder.explore.tables import Column, shown, table
from builder.reporting import charts
from builder.reporting.parts import Cell, decimal_cell, empty_note, section

LIFE = """
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
KNOWN = "SELECT text, core, aliases FROM queries_map WHERE query_id = $query"
LABELS = "SELECT topic_id, label FROM topics WHERE list_contains($topics, topic_id)"
MOVES = """
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
SENTENCE = """
SELECT snapshot, fr, en, flags FROM sentences WHERE id = $query ORDER BY snapshot, sentence
"""


def query(source: Source, asked: Asked, name: str) -> Page:
    """The page `/query/<id>`."""
    values = {"query": name}
    life = source.rows(Statement(LIFE, values))
    if not any(row["listed"] or row["judged"] for row in life):
        raise HTTPException(404, "The collection has no query with this id.")
    known = source.rows(Statement(KNOWN, values))
    listed = [row for row in life if row["listed"]]
    text = listed[-1]["text"] if listed else known[0]["text"] if known else name
    english = next((row["text_en"] for row in reversed(listed) if row["text_en"]), None)
    lead = [english] if english else []
    grades = source.rows(Statement(GRADES, values))
    scores = of_query(source, asked, name)
    body = (
        _facts(source, name, known, listed),
        _life(source, life, values),
        matrix(source, grades, values),
        _moves(source, grades, values),
        *scores,
        _translation(source, values),
    )
    parts = [("life", "Over time"), ("grades", "Grades"), ("moves", "Why grades moved")]
    parts += [("runs", "Systems")] if scores else []
    return Page(text, lead, body, "/queries", [*parts, ("translation", "Translation")])


def _facts(source: Source, name: str, known: Sequence[Row], listed: Sequence[Row]) -> Markup:
    topics = sorted({topic for row in listed for topic in row["topics"] or ()})
    rows = source.rows(Statement(LABELS, {"topics": topics})) if topics else []
    labels = {row["topic_id"]: row["label"] for row in rows}
    shown_topics = [
        link(address("/queries", topic=t), labels[t]) if t in labels else t for t in topics
    ]
    facts: list[tuple[str, Any]] = [("Id", name)]
    facts.append(("Topics", Markup(", ").join(shown_topics) if topics else "none recorded"))
    if known:
        facts.append(("Core", "in every snapshot" if known[0]["core"] else "not in every snapshot"))
        aliases = known[0]["aliases"]
        facts.append(("Variants counted with it", ", ".join(aliases) if aliases else "none"))
    return macro("facts", facts)


LIFE_COLUMNS = (
    Column("Snapshot", "snapshot"),
    Column(
        "Listed",
        lambda r: Cell("listed" if r["listed"] else "not listed"),
        "Whether the query file of the snapshot has it",
    ),
    Column("Split", "split", "train, heldout, test, or seen in training"),
    Column("Typed as", "text", "Its most frequent form in the snapshot"),
    Column("Impressions", "impressions", "Times it was asked"),
    Column("Users", "users", "Distinct users who asked it"),
    Column("Clicks", "clicks", "Results clicked, once per impression and rank"),
    Column("Judged", "judged", "Pages with a grade"),
    Column("Not relevant", "grade_0", "Pages of grade 0"),
    Column("Relevant", "grade_1", "Pages of grade 1"),
    Column("Highly relevant", "grade_2", "Pages of grade 2"),
)


UNSTATED = ("impressions", "users", "clicks")
"""Columns that imported releases have as 0, because they do not state them."""


def _life(source: Source, life: Sequence[Row], values: dict[str, Any]) -> Markup:
    columns = [c for c in LIFE_COLUMNS if not (source.is_imported and c.show in UNSTATED)]
    found = table(
        source, "The query in each snapshot", columns, life, Statement(LIFE, values), empty=""
    )
    names = [row["snapshot"] for row in life]
    asked = charts.LineSeries("impressions", "series-0", [row["impressions"] for row in life])
    if source.is_imported and not any(asked.values):
        chart: Markup = empty_note("The release does not say how often queries were asked.")
    else:
        chart = charts.line_chart("Impressions of the query", names, [asked])
    return section("life", "Over time", "What each snapshot says of the query.", found, chart)


def _moves(source: Source, grades: Sequence[Row], values: dict[str, Any]) -> Markup:
    urls = {row["doc_key"]: row["url"] for row in grades}
    columns = (
        Column("Page", lambda r: Cell(page_link(r["doc_id"], urls.get(r["doc_id"])))),
        Column("From", "from_snapshot"),
        Column("To", "to_snapshot"),
        Column("Grade before", lambda r: Cell(grade_text(r["grade_from"]))),
        Column("Grade after", lambda r: Cell(grade_text(r["grade_to"]))),
        Column("Examined before", "examinations_from", "Examinations behind the earlier grade"),
        Column("Examined after", "examinations_to", "Examinations behind the later grade"),
        Column("The page", _happened, "What happened to the text of the page meanwhile"),
        Column(
            "Dice",
            lambda r: decimal_cell(r["dice"]),
            "Overlap of the words of both versions, where the page was updated",
        ),
    )
    _, found = shown(
        source,
        "Grades that differ between neighbouring snapshots",
        columns,
        Statement(MOVES, values),
        empty="No grade differs between snapshots.",
    )
    lead = (
        "Each grade that changed, with its evidence on both sides and what happened to the "
        "page: a flip of an unchanged page comes from clicks, not from its text."
    )
    return section("moves", "Why grades moved", lead, found)


def _happened(row: Row) -> Cell:
    """What happened to a page, linked to its difference."""
    status, band = row["status"], row["band"]
    if status is None:
        return Cell("not in this snapshot pair")
    text = f"{status.replace('_', ' ')}, {band}" if band else status.replace("_", " ")
    if status != "updated":
        return Cell(text)
    values = {"from": row["from_snapshot"], "to": row["to_snapshot"]}
    return Cell(link(address(f"/page/{row['doc_id']}", **values) + "#difference", text))


def _translation(source: Source, values: dict[str, Any]) -> Markup:
    columns = (
        Column("Snapshot", "snapshot"),
        Column("Source", "fr", "The query as it was translated"),
        Column("English", "en", "Its translation"),
        Column(
            "Flags",
            lambda r: Cell(", ".join(r["flags"]) or "none"),
            "What is doubtful about the translation",
        ),
    )
    _, found = shown(
        source,
        "Translation of the query",
        columns,
        Statement(SENTENCE, values),
        empty="The collection has no translation of this query.",
    )
    return section("translation", "Translation", None, found)
