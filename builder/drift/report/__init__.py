"""The report: one HTML file from `drift.json` alone.

It needs no network, no library and no script to be read; the script only sorts tables and
switches between light and dark. A content security policy forbids every request.
"""

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from builder.drift.report import clicks, documents, queries, sections
from builder.drift.report.markup import Markup, element, join

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


def render_report(drift: Mapping[str, Any]) -> str:
    """The report on a collection.

    Args:
        drift: The content of `drift.json`.

    Returns:
        A whole HTML document. All text from data is escaped.
    """
    template = files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    names = [s["snapshot"] for s in drift["snapshots"]]
    span = f"{names[0]} to {names[-1]}" if len(names) > 1 else "".join(names)
    body = join(
        sections.first_things(drift),
        sections.sizes(drift),
        documents.pages(drift),
        documents.words(drift),
        queries.queries(drift),
        queries.topics(drift),
        queries.judgements(drift),
        clicks.clicks(drift),
        sections.all_checks(drift),
    )
    navigation = join(element("a", label, href=f"#{target}") for target, label in CONTENTS)
    subtitle = f"{span} \N{MIDDLE DOT} {len(names)} snapshots"
    filled = {
        "title": Markup(element("title", f"Drift report, {span}")),
        "subtitle": join(subtitle),
        "navigation": navigation,
        "body": body,
        "policy": join(_policy(template)),
    }
    for name, value in filled.items():
        head, _, tail = template.partition(f"<!--{name}-->")
        template = head + value + tail
    return template


def _policy(template: str) -> str:
    """Forbid every request, and every script but ours."""
    script = template.partition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
