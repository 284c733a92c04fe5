"""The grades of a query as a matrix of pages and snapshots, each with the evidence behind it."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from builder.explore.render import link, macro
from builder.explore.source import Source
from builder.explore.statements import Row, Statement
from builder.explore.tables import copied
from builder.reporting import numbers
from builder.reporting.parts import empty_note, legend, paragraph, section
from schemas import GRADES as GRADE_NAMES

MOST_PAGES = 100
"""Judged pages of a matrix; more are on the list of judgements."""
FIRM = 0.8
"""Stability from which a grade counts as firm."""

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


def matrix(source: Source, grades: Sequence[Row], values: dict[str, Any]) -> Markup:
    """The grades of all judged pages, best first; `values` are those of `GRADES`."""
    by_page: dict[str, dict[str, Row]] = {}
    for row in grades:
        by_page.setdefault(row["doc_key"], {})[row["snapshot"]] = row
    ordered = sorted(
        by_page,
        key=lambda doc: (-max(r["grade"] for r in by_page[doc].values()), -len(by_page[doc]), doc),
    )
    rows = [
        (
            page_link(doc, next((r["url"] for r in by_page[doc].values() if r["url"]), None)),
            [
                _grade(by_page[doc].get(name), f"e{number}-{column}")
                for column, name in enumerate(source.snapshots)
            ],
        )
        for number, doc in enumerate(ordered[:MOST_PAGES])
    ]
    lead = (
        "Press a grade for the evidence behind it: how often the page was shown, looked at and "
        "clicked. A dotted border marks a grade that the clicks leave uncertain."
    )
    if not rows:
        return section("grades", "Grades", lead, empty_note("Nobody judged pages for this query."))
    more = len(ordered) - MOST_PAGES
    note = f"{more:,} more pages are in the copied rows." if more > 0 else None
    return section(
        "grades",
        "Grades",
        lead,
        legend([(f"{grade} {name}", f"grade-{grade}") for grade, name in GRADE_NAMES.items()]),
        macro("matrix", "Grades of judged pages by snapshot", source.snapshots, rows),
        paragraph(note, "note") if note else None,
        copied(source, "Grades of judged pages", grades, Statement(GRADES, values)),
    )


def page_link(doc: str, url: str | None) -> Markup:
    """A link to a page by its address without scheme."""
    text = (url or doc).removeprefix("https://").removeprefix("http://")
    return link(f"/page/{doc}", text)


def _grade(row: Row | None, identifier: str) -> dict[str, Any] | None:
    """A cell of the matrix."""
    if row is None:
        return None
    is_unsure = row["stability"] is not None and row["stability"] < FIRM
    facts = evidence(row)
    return {
        "grade": row["grade"],
        "unsure": is_unsure,
        "identifier": identifier,
        "heading": f"Grade {row['grade']} in {row['snapshot']}",
        "facts": facts,
        "hint": "; ".join(f"{label}: {text}" for label, text in facts),
    }


def evidence(row: Row) -> list[tuple[str, str]]:
    """The evidence of a grade: label and text of each figure."""
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
            facts.append(("95 % interval", f"{low} to {high}"))
        if row["stability"] is not None:
            facts.append(("Stability", numbers.format_percent(row["stability"])))
    else:
        facts.append(("Evidence", "the collection records none"))
    if row["manual_grade"] is not None:
        facts.append(("Grade by assessors", str(row["manual_grade"])))
        facts.append(
            (
                "Grade by clicks",
                numbers.DASH if row["click_grade"] is None else str(row["click_grade"]),
            )
        )
    return facts


def grade_text(grade: int | None) -> str:
    """A grade, or that there is none."""
    return "not judged" if grade is None else str(grade)
