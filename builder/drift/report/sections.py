"""Sections of the drift report on findings, sizes and checks; and charts for other sections."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from builder.drift.report.findings import list_findings
from builder.drift.report.undecided import list_undecided_checks
from builder.reporting import numbers
from builder.reporting.parts import (
    BarSegment,
    Cell,
    Row,
    bullet_list,
    collapsible,
    empty_note,
    figure,
    grid,
    heat_map,
    integer_cell,
    paragraph,
    percentage_cell,
    section,
    span,
    stacked_bars,
    table,
    upset_plot,
    warning,
)
from builder.reporting.render import join_markup

Drift = Mapping[str, Any]
VERDICTS = {"construction": "changed", "clear": "clear", "cannot tell": "unknown"}
"""CSS class for each result of a check in `drift.json`."""

MADE_DIFFERENTLY = (
    "These differences were caused by how the collection was built. Do not interpret them, or "
    "their consequences, as changes in the web or in its users."
)
NOTHING_FOUND = (
    "No check found a construction change. A change that is smaller than the checks can detect, "
    "or of a kind that none of them covers, would still look like a change in the web or in its "
    "users. The section on checks lists the smallest change that each check would have detected; "
    'checks with the answer "cannot tell" are listed here.'
)
UNDECIDED_HEADING = 'Checks with the answer "cannot tell"'


def format_snapshot_pair(pair: Mapping[str, Any]) -> str:
    """Format a pair of snapshots as two names with an arrow between them."""
    return f"{pair['from']} \N{RIGHTWARDS ARROW} {pair['to']}"


def overlap_heat_map(caption: str, overlap: Mapping[str, Any]) -> Markup:
    """Render a heat map of the Jaccard coefficient of every pair of snapshots."""
    names = overlap["snapshots"]
    texts = [
        [
            numbers.format_count(overlap["common"][i][j])
            if i == j
            else numbers.format_decimal(overlap["jaccard"][i][j], 3)
            for j in range(len(names))
        ]
        for i in range(len(names))
    ]
    return heat_map(caption, names, names, overlap["jaccard"], texts)


def snapshot_upset_plot(
    caption: str, names: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> Markup:
    """Render an UpSet plot of how many ids occur in each combination of snapshots."""
    return upset_plot(caption, names, [(row["snapshots"], row["ids"]) for row in rows])


def findings_section(drift: Drift) -> Markup:
    """Render a report section with all findings, starting with those about construction changes."""
    found = list_findings(drift)
    names = [snapshot["snapshot"] for snapshot in drift["snapshots"]]
    warnings = [_wrap_snapshot_names(f.text, names) for f in found if f.is_warning]
    facts = [_wrap_snapshot_names(f.text, names) for f in found if not f.is_warning]
    blind = [_wrap_snapshot_names(text, names) for text in list_undecided_checks(drift)]
    return section(
        "findings",
        "Findings",
        None,
        warning("The construction changed", MADE_DIFFERENTLY, warnings)
        if warnings
        else paragraph(NOTHING_FOUND, "calm"),
        collapsible(f"{UNDECIDED_HEADING} ({len(blind)})", bullet_list(blind, "facts"))
        if blind
        else None,
        bullet_list(facts, "facts") if facts else empty_note("There is nothing to compare."),
    )


def _wrap_snapshot_names(text: str, snapshot_names: Sequence[str]) -> Markup:
    """Wrap each snapshot name in a span that prevents line breaks."""
    parts = (
        re.split(f"({'|'.join(map(re.escape, snapshot_names))})", text)
        if snapshot_names
        else [text]
    )
    return join_markup(span(part, "name") if part in snapshot_names else part for part in parts)


def sizes_section(drift: Drift) -> Markup:
    """Render a report section with the numbers of pages, words, queries and judgements."""
    rows: list[Row] = [
        [
            s["snapshot"],
            integer_cell(s["documents"]),
            integer_cell(s["tokens"]),
            integer_cell(s["truncated"]),
            integer_cell(s["queries"]["listed"]),
            integer_cell(s["queries"]["judged"]),
            integer_cell(sum(s["grades"])),
            *(percentage_cell(value) for value in s["grade_shares"]),
        ]
        for s in drift["snapshots"]
    ]
    columns = (
        "Snapshot",
        "Pages",
        "Words",
        "Truncated pages",
        "Queries",
        "Judged queries",
        "Judgements",
    )
    grades = ("Not relevant", "Relevant", "Highly relevant")
    return section(
        "sizes",
        "Sizes",
        "Pages, words, queries and judgements of each snapshot.",
        table("Sizes of the snapshots", (*columns, *grades), rows),
    )


def checks_section(drift: Drift) -> Markup:
    """Render a report section with all checks; only those that found a change are expanded."""
    checks = drift["checks"]
    found = [check for check in checks if check["verdict"] == "construction"]
    unknown = [check for check in checks if check["verdict"] == "cannot tell"]
    clear = [check for check in checks if check["verdict"] == "clear"]
    return section(
        "checks",
        "Construction checks",
        f"{numbers.pluralize(len(checks), 'check')}: {len(found)} found a construction change, "
        f"{len(clear)} did not, {len(unknown)} could not decide from this collection.",
        _render_checks_table("Construction changes", found) if found else None,
        _render_collapsed_checks_table("Checks without a change", clear),
        _render_collapsed_checks_table(UNDECIDED_HEADING, unknown),
    )


def _render_collapsed_checks_table(
    caption: str, checks: Sequence[Mapping[str, Any]]
) -> Markup | None:
    if not checks:
        return None
    return collapsible(f"{caption} ({len(checks)})", _render_checks_table(caption, checks))


def _render_checks_table(caption: str, checks: Sequence[Mapping[str, Any]]) -> Markup:
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
    columns = ("Snapshots", "Question", "Answer", "Evidence", "Detectable change")
    return table(caption, columns, rows, stack_when_narrow=True)


def status_chart(title: str, pairs: Sequence[Mapping[str, Any]], statuses: Sequence[Any]) -> Markup:
    """Render stacked bars of document or query statuses, with one bar per pair of snapshots.

    Args:
        title: Caption of the chart.
        pairs: Entries of `pairs` in `drift.json`.
        statuses: For each status, its label, color class, and function from a pair to a count.
    """
    rows = [
        (
            format_snapshot_pair(pair),
            [BarSegment(label, count(pair), color) for label, color, count in statuses],
        )
        for pair in pairs
    ]
    return figure(title, stacked_bars(rows))


MAX_OPEN_FIGURES = 4
"""Maximum number of figures that are initially expanded; if there are more, they are collapsed."""

MAX_OPEN_ROWS = 36
"""Maximum number of rows of a table that is initially expanded; longer tables are collapsed."""


def collapse_figures_if_many(summary: str, figures: Sequence[Markup]) -> Markup | None:
    """Render figures in a grid, collapsed if there are more than `MAX_OPEN_FIGURES`."""
    return _collapse_content_if_many(summary, figures, grid(*figures))


def nest_tables_if_many(summary: str, tables: Sequence[Markup]) -> Markup | None:
    """Join collapsible tables, within one more collapsible if there are over `MAX_OPEN_FIGURES`."""
    return _collapse_content_if_many(summary, tables, join_markup(tables))


def _collapse_content_if_many(
    summary: str, figures: Sequence[Markup], content: Markup
) -> Markup | None:
    if not figures:
        return None
    if len(figures) <= MAX_OPEN_FIGURES:
        return content
    return collapsible(f"{summary}: {len(figures)} pairs of snapshots", content)


def collapse_table_if_long(caption: str, columns: Sequence[str], rows: Sequence[Row]) -> Markup:
    """Render a table, collapsed if it has more than `MAX_OPEN_ROWS` rows."""
    content = table(caption, columns, rows)
    return collapsible(caption, content) if len(rows) > MAX_OPEN_ROWS else content
