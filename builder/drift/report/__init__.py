"""The report: one HTML file from `drift.json` alone.

It needs no network, no library and no script to be read; the script only sorts tables and
switches between light and dark.
"""

from collections.abc import Mapping
from typing import Any

from builder.drift.report import clicks, documents, judgements, queries, sections, topics, words
from builder.reporting.render import page

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
    "Every number of this page is in drift.json beside it. Quantiles are values that occur (the "
    "least that at least the given share does not exceed). Ratios are exact counts divided once."
)


def render_report(drift: Mapping[str, Any]) -> str:
    """The report on a collection.

    Args:
        drift: The content of `drift.json`.

    Returns:
        A whole HTML document. All text from data is escaped.
    """
    names = [s["snapshot"] for s in drift["snapshots"]]
    span = f"{names[0]} to {names[-1]}" if len(names) > 1 else "".join(names)
    body = (
        sections.first_things(drift),
        sections.sizes(drift),
        documents.pages(drift),
        words.words(drift),
        queries.queries(drift),
        topics.topics(drift),
        judgements.judgements(drift),
        clicks.clicks(drift),
        sections.all_checks(drift),
    )
    subtitle = f"{span} \N{MIDDLE DOT} {len(names)} snapshots"
    return page(f"Drift report, {span}", "What changed", subtitle, CONTENTS, body, FOOTER)
