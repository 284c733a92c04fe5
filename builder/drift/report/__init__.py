"""Renders the drift report, a single HTML file, from `drift.json` alone.

The report is self-contained and readable without JavaScript: its script only sorts tables and
switches between light and dark colors.
"""

from collections.abc import Mapping
from typing import Any

from builder.drift.report import clicks, documents, judgements, queries, sections, topics, words
from builder.reporting.numbers import pluralize
from builder.reporting.render import render_page

CONTENTS = (
    ("findings", "Findings"),
    ("sizes", "Sizes"),
    ("pages", "Pages"),
    ("words", "Words"),
    ("queries", "Queries"),
    ("topics", "Topics"),
    ("judgements", "Judgements"),
    ("clicks", "Clicks"),
    ("checks", "Checks"),
)

FOOTER = (
    "Every number on this page is in drift.json, in the same folder. Quantiles are observed values "
    "(type 1 of Hyndman and Fan). Ratios are computed from exact counts."
)


def render_report(drift: Mapping[str, Any]) -> str:
    """Render the drift report of a collection.

    Args:
        drift: Content of `drift.json`.

    Returns:
        A complete HTML document; all text from data is escaped.
    """
    names = [s["snapshot"] for s in drift["snapshots"]]
    span = f"{names[0]} to {names[-1]}" if len(names) > 1 else "".join(names)
    body = (
        sections.findings_section(drift),
        sections.sizes_section(drift),
        documents.pages_section(drift),
        words.words_section(drift),
        queries.queries_section(drift),
        topics.topics_section(drift),
        judgements.judgements_section(drift),
        clicks.clicks_section(drift),
        sections.checks_section(drift),
    )
    subtitle = f"{span} \N{MIDDLE DOT} {pluralize(len(names), 'snapshot')}"
    return render_page(f"Drift report, {span}", "What changed", subtitle, CONTENTS, body, FOOTER)
