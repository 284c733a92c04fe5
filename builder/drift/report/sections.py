"""The sections of the report, each from its part of `drift.json`."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from builder.drift.report.findings import findings, unseen
from builder.reporting import numbers
from builder.reporting.parts import (
    Cell,
    Row,
    Segment,
    figure,
    folded,
    grid,
    heat_map,
    integer,
    intersections,
    items,
    nothing,
    paragraph,
    section,
    share,
    span,
    stacked_bars,
    table,
    warning,
)
from builder.reporting.render import join

Drift = Mapping[str, Any]
VERDICTS = {"construction": "changed", "clear": "clear", "cannot tell": "unknown"}
"""Verdicts with the class of their colour."""

MADE_DIFFERENTLY = (
    "These differences come from how the collection was made. Do not read them, or what follows "
    "from them, as a change of the web or of its users."
)
NOTHING_FOUND = (
    "No check found a change of construction: what follows is a change of the web and of its "
    "users, as far as the checks can see. How large a change each of them would have found stands "
    "with the checks; what none could have seen is listed here."
)


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
    """The exclusive intersections of the ids of snapshots."""
    return intersections(caption, names, [(row["snapshots"], row["ids"]) for row in rows])


def first_things(drift: Drift) -> Markup:
    """Findings, warnings first."""
    found = findings(drift)
    names = [snapshot["snapshot"] for snapshot in drift["snapshots"]]
    warnings = [_unbroken(f.text, names) for f in found if f.warns]
    facts = [_unbroken(f.text, names) for f in found if not f.warns]
    blind = [_unbroken(text, names) for text in unseen(drift)]
    return section(
        "findings",
        "Findings",
        None,
        warning("The construction changed", MADE_DIFFERENTLY, warnings)
        if warnings
        else paragraph(NOTHING_FOUND, "calm"),
        folded(f"What no check could have seen ({len(blind)})", items(blind, "facts"))
        if blind
        else None,
        items(facts, "facts") if facts else nothing("There is nothing to compare."),
    )


def _unbroken(text: str, names: Sequence[str]) -> Markup:
    """A text in which snapshot names stay on one line."""
    parts = re.split(f"({'|'.join(map(re.escape, names))})", text) if names else [text]
    return join(span(part, "name") if part in names else part for part in parts)


def sizes(drift: Drift) -> Markup:
    """The size of each snapshot."""
    rows: list[Row] = [
        [
            s["snapshot"],
            integer(s["documents"]),
            integer(s["tokens"]),
            integer(s["truncated"]),
            integer(s["queries"]["listed"]),
            integer(s["queries"]["judged"]),
            integer(sum(s["grades"])),
            *(share(value) for value in s["grade_shares"]),
        ]
        for s in drift["snapshots"]
    ]
    columns = ("Snapshot", "Pages", "Words", "Cut pages", "Queries", "Judged queries", "Judgements")
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
    return folded(f"{caption} ({len(checks)})", _check_table(caption, checks))


def _check_table(caption: str, checks: Sequence[Mapping[str, Any]]) -> Markup:
    rows: list[Row] = [
        [
            " \N{RIGHTWARDS ARROW} ".join(check["snapshots"]),
            Cell(check["asks"]),
            Cell(span(check["verdict"], f"verdict {VERDICTS[check['verdict']]}")),
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
        (pair_name(pair), [Segment(label, of(pair), colour) for label, colour, of in parts])
        for pair in pairs
    ]
    return figure(title, stacked_bars(rows))


MOST_OPEN = 4
"""Figures of pairs that are shown at once; more are folded."""


def fold_many(summary: str, figures: Sequence[Markup]) -> Markup | None:
    """Figures side by side; folded where there is one for each of many pairs."""
    if not figures:
        return None
    if len(figures) <= MOST_OPEN:
        return grid(*figures)
    return folded(f"{summary}: {len(figures)} pairs of snapshots", grid(*figures))
