"""Formats the differences between two versions of a collection as a Markdown change log."""

from builder.collection.compare import VersionDifference
from builder.collection.compare.judgements import JudgementDifference
from builder.collection.compare.tables import TableDifference
from builder.collection.markdown import code_span
from builder.reporting.numbers import pluralize

MAX_LINES = 40
"""Maximum number of lines in a section; any further lines are only counted."""

MAX_PARAMETERS = 5
"""Maximum number of parameters in a line; any further parameters are only counted."""


def format_changelog(difference: VersionDifference) -> str:
    """Format the differences between two versions as a Markdown change log of the new version."""
    title = difference.new.partition("|")[0]
    lines = [f"# {title}", "", f"Since {difference.old.partition('|')[0]}.", ""]
    lines += _format_section("Rows", [_format_row_changes(table) for table in difference.tables])
    lines += _format_section(
        "Labels", [line for j in difference.judgements for line in _format_judgement_lines(j)]
    )
    lines += _format_section("Drift statistics", [code_span(key) for key in difference.drift])
    lines += _format_section("Definition", [code_span(line) for line in difference.definition])
    lines += _format_section("Tools", [code_span(line) for line in difference.tools])
    lines += _format_section("Not compared", list(difference.lost))
    if len(lines) == 4:
        lines += ["No differences.", ""]
    return "\n".join(lines)


def summary_lines(difference: VersionDifference) -> list[str]:
    """Return one plain-text line per difference; omit added, removed and changed rows.

    At most `MAX_LINES` differences between the definitions are listed.
    """
    columns = [
        f"{table.table}: columns differ ({'; '.join(table.columns)})"
        for table in difference.tables
        if table.columns
    ]
    labels = [line for found in difference.judgements for line in _format_judgement_lines(found)]
    drift = [f"drift.json differs: {', '.join(difference.drift)}"] if difference.drift else []
    return [*columns, *labels, *drift, *difference.definition[:MAX_LINES], *difference.tools]


def _format_section(title: str, lines: list[str]) -> list[str]:
    if not lines:
        return []
    more = [f"- and {len(lines) - MAX_LINES:,} more"] if len(lines) > MAX_LINES else []
    return [f"## {title}", "", *(f"- {item}" for item in lines[:MAX_LINES]), *more, ""]


def _format_row_changes(difference: TableDifference) -> str:
    counts = (
        f"`{difference.table}`: {difference.added:,} added, {difference.removed:,} removed, "
        f"{difference.changed:,} changed"
    )
    columns = "; ".join(map(code_span, difference.columns))
    return f"{counts} (columns: {columns})" if columns else counts


def _format_judgement_lines(difference: JudgementDifference) -> list[str]:
    snapshot = difference.snapshot
    lines = [
        f"{snapshot}: {pluralize(n, 'grade')} changed (cause: {c})"
        for c, n in difference.causes.items()
    ]
    if difference.parameters:
        named = ", ".join(difference.parameters[:MAX_PARAMETERS])
        more = len(difference.parameters) - MAX_PARAMETERS
        lines.append(
            f"{snapshot}: changed parameters that affect grades: {named}"
            + (f" and {more:,} more" if more > 0 else "")
        )
    if difference.other_text:
        lines.append(f"{snapshot}: {_describe_text_mismatches(difference)}")
    return lines


def _describe_text_mismatches(difference: JudgementDifference) -> str:
    share = difference.other_text / difference.compared
    found = (
        "are attached to a different query text in the new version"
        if difference.released
        else "are missing from the new version, which judges the same documents for other queries "
        f"(cause: {difference.other_text_cause})"
    )
    return (
        f"{difference.other_text:,} of {difference.compared:,} comparable judgements of the old "
        f"version ({share:.0%}) {found}; {difference.judged - difference.compared:,} others cannot "
        "be compared, because the query has no text or the document is not judged in both versions"
    )
