"""The sections of the report, each from its part of `drift.json`."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from builder.drift.report.charts import Part, figure, heat_map, stacked_bars
from builder.drift.report.findings import findings, unseen
from builder.drift.report.markup import Content, Markup, element, join
from builder.drift.report.tables import Cell, Row, integer, share, table
from builder.reporting import numbers

Drift = Mapping[str, Any]
VERDICTS = {"construction": "changed", "clear": "clear", "cannot tell": "unknown"}
"""Verdicts with the class of their colour."""


def section(identifier: str, heading: str, lead: Content, *content: Content) -> Markup:
    """A section with its heading and one sentence that says what it shows."""
    return element(
        "section",
        element("h2", heading, id=f"{identifier}-heading"),
        element("p", lead, class_="lead") if lead else None,
        *content,
        id=identifier,
        aria_labelledby=f"{identifier}-heading",
    )


def grid(*figures: Content) -> Markup:
    """Figures side by side where there is room."""
    return element("div", *figures, class_="grid")


def nothing(text: str) -> Markup:
    """A sentence in place of a figure without data."""
    return element("p", text, class_="nothing")


def pair_name(pair: Mapping[str, Any]) -> str:
    """`2022-06 to 2022-09`, with an arrow."""
    return f"{pair['from']} \N{RIGHTWARDS ARROW} {pair['to']}"


def overlap_map(caption: str, overlap: Mapping[str, Any]) -> Markup:
    """A heat map of the Jaccard coefficients of all pairs of snapshots."""
    names = overlap["snapshots"]
    texts = [
        [
            numbers.count(overlap["common"][i][j])
            if i == j
            else numbers.decimal(overlap["jaccard"][i][j], 3)
            for j in range(len(names))
        ]
        for i in range(len(names))
    ]
    return heat_map(caption, names, names, overlap["jaccard"], texts)


def upset(caption: str, names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Markup:
    """The exclusive intersections as a table of dots and bars."""
    most = max((row["ids"] for row in rows), default=1)
    head = element(
        "tr",
        [element("th", element("span", name), scope="col", class_="dot-head") for name in names],
        element("th", "only there", scope="col", class_="number"),
    )
    body = [
        element(
            "tr",
            _dots(names, row["snapshots"]),
            element(
                "td",
                numbers.count(row["ids"]),
                class_="number bar-cell",
                style=f"--bar:{100 * row['ids'] / most:.1f}%",
            ),
        )
        for row in rows
    ]
    whole = element(
        "table",
        element("caption", caption),
        element("thead", head),
        element("tbody", body),
        class_="upset",
    )
    return element("div", whole, class_="scroll", tabindex=0, role="region", aria_label=caption)


def _dots(names: Sequence[str], held: Sequence[str] | None) -> Markup:
    if held is None:
        return element("td", "all other combinations", colspan=len(names))
    return join(
        element(
            "td",
            element("span", "in" if name in held else "not in", class_="unseen"),
            class_="dot-on" if name in held else "dot-off",
        )
        for name in names
    )


def first_things(drift: Drift) -> Markup:
    """Findings, warnings first."""
    found = findings(drift)
    names = [snapshot["snapshot"] for snapshot in drift["snapshots"]]
    warnings = [element("li", _unbroken(f.text, names)) for f in found if f.warns]
    facts = [element("li", _unbroken(f.text, names)) for f in found if not f.warns]
    construction = (
        element(
            "div",
            element("h3", "The construction changed"),
            element(
                "p",
                "These differences come from how the collection was made. Do not read them, or "
                "what follows from them, as a change of the web or of its users.",
            ),
            element("ul", warnings),
            class_="warning",
        )
        if warnings
        else element(
            "p",
            "No check found a change of construction: what follows is a change of the web and of "
            "its users, as far as the tables can tell.",
            class_="calm",
        )
    )
    blind = [element("li", _unbroken(text, names)) for text in unseen(drift)]
    return section(
        "findings",
        "Findings",
        None,
        construction,
        element(
            "details",
            element("summary", f"What could not be seen ({len(blind)})"),
            element("ul", blind, class_="facts"),
            open="" if not warnings else None,
        )
        if blind
        else None,
        element("ul", facts, class_="facts") if facts else nothing("There is nothing to compare."),
    )


def _unbroken(text: str, names: Sequence[str]) -> Markup:
    """A text in which snapshot names stay on one line."""
    parts = re.split(f"({'|'.join(map(re.escape, names))})", text) if names else [text]
    return join(element("span", part, class_="name") if part in names else part for part in parts)


def sizes(drift: Drift) -> Markup:
    """The size of each snapshot."""
    rows: list[Row] = [
        [
            s["snapshot"],
            integer(s["documents"]),
            integer(s["tokens"]),
            integer(s["queries"]["listed"]),
            integer(s["queries"]["judged"]),
            integer(sum(s["grades"])),
            *(share(value) for value in s["grade_shares"]),
        ]
        for s in drift["snapshots"]
    ]
    columns = ("Snapshot", "Pages", "Words", "Queries", "Judged queries", "Judgements")
    grades = ("Not relevant", "Relevant", "Highly relevant")
    return section(
        "sizes",
        "Sizes",
        "What each snapshot holds.",
        table("Sizes of the snapshots", (*columns, *grades), rows),
    )


def all_checks(drift: Drift) -> Markup:
    """Every check; those that found nothing are folded."""
    checks = drift["checks"]
    found = [check for check in checks if check["verdict"] == "construction"]
    unknown = [check for check in checks if check["verdict"] == "cannot tell"]
    clear = [check for check in checks if check["verdict"] == "clear"]
    return section(
        "checks",
        "Construction checks",
        f"{numbers.plural(len(checks), 'check')}: {len(found)} found that the collection was made "
        f"differently, {len(clear)} did not, {len(unknown)} cannot tell from this collection.",
        _check_table("Differences of construction", found) if found else None,
        _folded_checks("Checks that found no difference", clear),
        _folded_checks("Checks that cannot tell", unknown),
    )


def _folded_checks(caption: str, checks: Sequence[Mapping[str, Any]]) -> Markup | None:
    if not checks:
        return None
    return element(
        "details", element("summary", f"{caption} ({len(checks)})"), _check_table(caption, checks)
    )


def _check_table(caption: str, checks: Sequence[Mapping[str, Any]]) -> Markup:
    rows: list[Row] = [
        [
            " \N{RIGHTWARDS ARROW} ".join(check["snapshots"]),
            Cell(check["asks"]),
            Cell(element("span", check["verdict"], class_=f"verdict {VERDICTS[check['verdict']]}")),
            Cell(check["evidence"]),
            Cell(check["sees"] or numbers.DASH),
        ]
        for check in checks
    ]
    return table(caption, ("Snapshots", "Question", "Answer", "Evidence", "Would have found"), rows)


def status_bars(title: str, pairs: Sequence[Mapping[str, Any]], parts: Sequence[Any]) -> Markup:
    """Stacked bars of what happened between consecutive snapshots.

    Args:
        title: Caption.
        pairs: Pairs of `drift.json`.
        parts: For each part its label, colour class, and function from a pair to a count.
    """
    rows = [
        (pair_name(pair), [Part(label, of(pair), colour) for label, colour, of in parts])
        for pair in pairs
    ]
    return figure(title, stacked_bars(rows))
