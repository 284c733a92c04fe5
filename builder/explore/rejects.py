"""What stages left out: by stage and reason, with file and line."""

from collections.abc import Mapping

from markupsafe import Markup

from builder.explore.asked import Asked, address
from builder.explore.forms import ALL, form, search, select
from builder.explore.render import Page, link
from builder.explore.source import Source
from builder.explore.statements import Row, Statement
from builder.explore.tables import Column, listing, table
from builder.reporting import numbers
from builder.reporting.parts import Cell, section

REASONS = """
SELECT snapshot, stage, reason, count(*) AS entries, sum(rows)::BIGINT AS rows,
  count(line) AS lines
FROM rejects WHERE $snapshot = '' OR snapshot = $snapshot
GROUP BY snapshot, stage, reason ORDER BY snapshot, stage, reason
"""
REJECTS = """
SELECT snapshot, stage, reason, file, line, key, rows FROM rejects
WHERE ($snapshot = '' OR snapshot = $snapshot) AND ($stage = '' OR stage = $stage)
  AND ($reason = '' OR reason = $reason) AND ($file = '' OR contains(file, $file))
"""
ORDERS = {
    "file": "snapshot, stage, reason, file NULLS FIRST, line NULLS FIRST, key NULLS FIRST, rows",
    "rows": "rows DESC, snapshot, stage, reason, file NULLS FIRST, line NULLS FIRST, key",
}
KNOWN = "SELECT DISTINCT stage, reason FROM rejects ORDER BY stage, reason"


def rejects(source: Source, asked: Asked) -> Page:
    """The page `/rejects`."""
    known = source.rows(Statement(KNOWN))
    stages = sorted({row["stage"] for row in known})
    reasons = sorted({row["reason"] for row in known})
    values = {
        "snapshot": asked.choice("snapshot", source.snapshots),
        "stage": asked.choice("stage", stages),
        "reason": asked.choice("reason", reasons),
        "file": asked.text("file"),
    }
    summary = _summary(source, values)
    listed = {"snapshot": source.snapshots, "stage": stages, "reason": reasons}
    fields = [
        select(
            name,
            name.capitalize(),
            values[name],
            [ALL, *((one, one.replace("_", " ")) for one in options)],
        )
        for name, options in listed.items()
    ]
    chosen = form(asked, *fields, search("file", "Part of the file name", values["file"]))
    found = listing(
        source,
        asked,
        "Rows left out",
        COLUMNS,
        Statement(REJECTS, dict(values)),
        ORDERS,
        empty="Nothing like that was left out.",
    )
    lead = "Rows in are rows out plus rejects: each stage names what it left out, and why."
    body = (
        section("reasons", "By reason", None, summary),
        section("list", "One by one", None, chosen, found),
    )
    return Page("Rejects", lead, body, "/rejects")


def _summary(source: Source, values: Mapping[str, str]) -> Markup:
    """A row per stage and reason, a column per snapshot."""
    statement = Statement(REASONS, dict(values))
    raw = source.rows(statement)
    counts = {(r["stage"], r["reason"], r["snapshot"]): r["rows"] for r in raw}
    named = sorted({(r["stage"], r["reason"]) for r in raw})
    rows = [{"stage": stage, "reason": reason} for stage, reason in named]
    names = [n for n in source.snapshots if values["snapshot"] in ("", n)]

    def count(name: str) -> Column:
        def show(row: Row) -> Cell:
            number = counts.get((row["stage"], row["reason"], name))
            if number is None:
                return Cell(numbers.DASH)
            target = address("/rejects", snapshot=name, **row) + "#list"
            return Cell(link(target, numbers.format_count(number)), number)

        return Column(name, show)

    columns = (
        Column(
            "Reason",
            lambda r: Cell(r["reason"].replace("_", " ")),
            "The rule that left the rows out",
        ),
        Column("Stage", "stage", "The stage that left them out"),
        *map(count, names),
    )
    return table(
        source,
        "Rows left out, by reason, stage and snapshot",
        columns,
        rows,
        statement,
        empty="Nothing was left out.",
        raw=raw,
    )


COLUMNS = (
    Column("Reason", lambda r: Cell(r["reason"].replace("_", " "))),
    Column("Stage", "stage"),
    Column("Snapshot", "snapshot"),
    Column(
        "File",
        lambda r: Cell(r["file"] or numbers.DASH),
        "Source file, relative to the definition",
        "file",
    ),
    Column("Line", "line", "Line or record number, from 1"),
    Column("Key", "key", "Key of the row, where it may be shown"),
    Column("Rows", "rows", "Rows that the entry counts", "rows"),
)
