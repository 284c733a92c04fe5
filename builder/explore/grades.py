"""Table of a query's grades by document and snapshot, with the evidence for each grade."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from builder.explore.render import link, render_macro
from builder.explore.source import CollectionSource
from builder.explore.statements import Row, Statement
from builder.explore.tables import render_copyable_code
from builder.reporting import numbers
from builder.reporting.parts import empty_note, legend, paragraph, section
from schemas import GRADES as GRADE_NAMES

MAX_DOCUMENTS = 100
"""Maximum number of documents shown in a grade table; the copyable rows contain all documents."""
MIN_STABILITY = 0.8
"""Stability below which a grade is marked as uncertain."""

GRADES = """
SELECT qrels.snapshot, doc_key, doc_id, url, grade, score, score_low, score_high, stability,
  impressions, examinations, clicks, last_clicks, attractiveness, satisfaction, source,
  click_grade, manual_grade
FROM qrels LEFT JOIN (
    SELECT doc_id AS doc_key, url FROM documents_map
    WHERE doc_id IN (SELECT doc_key FROM qrels WHERE query_key = $query)
  ) USING (doc_key)
WHERE query_key = $query ORDER BY doc_key, qrels.snapshot
"""


def render_grade_matrix(
    source: CollectionSource, grades: Sequence[Row], sql_parameters: dict[str, Any]
) -> Markup:
    """Render grades as a table with one row per document and one column per snapshot.

    Documents with the highest grades come first.

    Args:
        source: Connection to the collection.
        grades: Rows returned by the SQL statement `GRADES`.
        sql_parameters: Parameters of that statement.
    """
    by_document: dict[str, dict[str, Row]] = {}
    for row in grades:
        by_document.setdefault(row["doc_key"], {})[row["snapshot"]] = row
    ordered = sorted(
        by_document,
        key=lambda doc: (
            -max(r["grade"] for r in by_document[doc].values()),
            -len(by_document[doc]),
            doc,
        ),
    )
    rows = [
        (
            document_link(
                doc, next((r["url"] for r in by_document[doc].values() if r["url"]), None)
            ),
            [
                _grade_cell_variables(by_document[doc].get(name), f"e{number}-{column}")
                for column, name in enumerate(source.snapshots)
            ],
        )
        for number, doc in enumerate(ordered[:MAX_DOCUMENTS])
    ]
    lead = (
        "Select a grade to see its evidence: how often the page was shown, examined and clicked. "
        "A dotted border marks uncertain grades."
    )
    if not rows:
        return section("grades", "Grades", lead, empty_note("No pages were judged for this query."))
    note = (
        f"Only the first {MAX_DOCUMENTS} of {len(ordered):,} pages are shown; copy the data below "
        "to get all of them."
        if len(ordered) > MAX_DOCUMENTS
        else None
    )
    return section(
        "grades",
        "Grades",
        lead,
        legend([(f"{grade} {name}", f"grade-{grade}") for grade, name in GRADE_NAMES.items()]),
        render_macro("matrix", "Grades of judged pages by snapshot", source.snapshots, rows),
        paragraph(note, "note") if note else None,
        render_copyable_code(
            source, "Grades of judged pages", grades, Statement(GRADES, sql_parameters)
        ),
    )


def document_link(doc_id: str, url: str | None) -> Markup:
    """Return a link to a document's page, labeled with the URL (without scheme) or else the id."""
    text = (url or doc_id).removeprefix("https://").removeprefix("http://")
    return link(f"/page/{doc_id}", text)


def _grade_cell_variables(row: Row | None, element_id: str) -> dict[str, Any] | None:
    """Return the template variables of a grade table cell; None if the document is not judged."""
    if row is None:
        return None
    is_unsure = row["stability"] is not None and row["stability"] < MIN_STABILITY
    facts = format_grade_evidence(row)
    return {
        "grade": row["grade"],
        "unsure": is_unsure,
        "identifier": element_id,
        "heading": f"Grade {row['grade']} in {row['snapshot']}",
        "facts": facts,
        "hint": "; ".join(f"{label}: {text}" for label, text in facts),
    }


def format_grade_evidence(row: Row) -> list[tuple[str, str]]:
    """Return the evidence for a grade, such as clicks, as (label, formatted value) pairs."""
    facts = [("Source", row["source"])]
    if row["score"] is not None or row["impressions"]:
        facts += [
            ("Impressions", numbers.format_count(row["impressions"])),
            ("Examinations", numbers.format_count(row["examinations"])),
            ("Clicks", numbers.format_count(row["clicks"])),
            ("Last clicks", numbers.format_count(row["last_clicks"])),
            ("Score", numbers.format_decimal(row["score"])),
        ]
        if row["score_low"] is not None:
            low, high = (
                numbers.format_decimal(row["score_low"]),
                numbers.format_decimal(row["score_high"]),
            )
            facts.append(("Credible interval", f"{low} to {high}"))
        if row["stability"] is not None:
            facts.append(("Stability", numbers.format_percent(row["stability"])))
    else:
        facts.append(("Evidence", "none recorded"))
    if row["manual_grade"] is not None:
        facts.append(("Grade by assessors", str(row["manual_grade"])))
        facts.append(
            (
                "Grade by clicks",
                numbers.DASH if row["click_grade"] is None else str(row["click_grade"]),
            )
        )
    return facts


def format_grade(grade: int | None) -> str:
    """Format a grade as text; None becomes `not judged`."""
    return "not judged" if grade is None else str(grade)
