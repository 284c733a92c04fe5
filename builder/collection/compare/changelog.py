"""A difference of two versions as a change log, in Markdown."""

from builder.collection.compare import Difference
from builder.collection.compare.judgements import JudgementDifference
from builder.collection.compare.tables import TableDifference
from builder.collection.markdown import as_code

MOST = 40
"""Lines of a section; further ones are counted."""

NAMED = 5
"""Parameters that are named; further ones are counted."""


def changelog(difference: Difference) -> str:
    """The change log of a version."""
    title = difference.new.partition("|")[0]
    lines = [f"# {title}", "", f"Since {difference.old.partition('|')[0]}.", ""]
    lines += _section("Rows", [_row(table) for table in difference.tables])
    lines += _section("Labels", [line for j in difference.judgements for line in _labels(j)])
    lines += _section("Definition", [as_code(line) for line in difference.definition])
    lines += _section("Tools", [as_code(line) for line in difference.tools])
    lines += _section("Not compared", list(difference.lost))
    if len(lines) == 4:
        lines += ["Nothing differs.", ""]
    return "\n".join(lines)


def report_lines(difference: Difference) -> list[str]:
    """What is not in the table of rows, one plain line each."""
    labels = [line for found in difference.judgements for line in _labels(found)]
    return [*labels, *difference.definition[:MOST], *difference.tools]


def _section(title: str, items: list[str]) -> list[str]:
    if not items:
        return []
    more = [f"- and {len(items) - MOST:,} more"] if len(items) > MOST else []
    return [f"## {title}", "", *(f"- {item}" for item in items[:MOST]), *more, ""]


def _row(found: TableDifference) -> str:
    counts = f"{found.added:,} added, {found.removed:,} removed, {found.changed:,} changed"
    return f"`{found.table}`: {counts}"


def _labels(found: JudgementDifference) -> list[str]:
    lines = [f"{found.snapshot}: {n:,} grades changed by {c}" for c, n in found.causes.items()]
    if found.parameters:
        named = ", ".join(found.parameters[:NAMED])
        more = len(found.parameters) - NAMED
        lines.append(
            f"{found.snapshot}: parameters that decide about grades and differ: {named}"
            + (f" and {more:,} more" if more > 0 else "")
        )
    if found.other_text:
        lines.append(
            f"{found.snapshot}: {found.other_text:,} of {found.compared:,} judgements of the old "
            f"version that have a query text and a document judged in both "
            f"({found.other_text / found.compared:.0%}) judge another query text than the new one "
            f"does; the old version has {found.judged:,} judgements"
        )
    return lines
