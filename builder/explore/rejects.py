"""Explorer page that lists rejected rows with their stage, reason, file and line."""

from collections.abc import Mapping

from markupsafe import Markup

from builder.explore.forms import ALL, create_search_field, create_select_field, render_filter_form
from builder.explore.page_request import PageRequest, page_url
from builder.explore.render import Page, link
from builder.explore.source import CollectionSource
from builder.explore.statements import Row, Statement
from builder.explore.tables import Column, render_paged_table, render_table
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
STAGE_REASONS = "SELECT DISTINCT stage, reason FROM rejects ORDER BY stage, reason"


def rejects_page(source: CollectionSource, request: PageRequest) -> Page:
    """Build the page `/rejects`, which counts and lists rejected rows."""
    known = source.fetch_rows(Statement(STAGE_REASONS))
    stages = sorted({row["stage"] for row in known})
    reasons = sorted({row["reason"] for row in known})
    filter_values = {
        "snapshot": request.choice_parameter("snapshot", source.snapshots),
        "stage": request.choice_parameter("stage", stages),
        "reason": request.choice_parameter("reason", reasons),
        "file": request.text_parameter("file"),
    }
    summary = _render_summary_table(source, filter_values)
    listed = {"snapshot": source.snapshots, "stage": stages, "reason": reasons}
    fields = [
        create_select_field(
            name,
            name.capitalize(),
            filter_values[name],
            [ALL, *((one, one.replace("_", " ")) for one in options)],
        )
        for name, options in listed.items()
    ]
    chosen = render_filter_form(
        request,
        *fields,
        create_search_field("file", "Part of the file name", filter_values["file"]),
    )
    found = render_paged_table(
        source,
        request,
        "Rejected rows",
        COLUMNS,
        Statement(REJECTS, dict(filter_values)),
        ORDERS,
        empty_text="No rejects match these filters.",
    )
    lead = "Every row that a stage rejected, with the reason: rows in = rows out + rejects."
    body = (
        section("reasons", "By reason", None, summary),
        section("list", "All rejects", None, chosen, found),
    )
    return Page("Rejects", lead, body, "/rejects")


def _render_summary_table(source: CollectionSource, filter_values: Mapping[str, str]) -> Markup:
    """Render counts of rejected rows: one row per stage and reason, one column per snapshot."""
    statement = Statement(REASONS, dict(filter_values))
    statement_rows = source.fetch_rows(statement)
    counts = {(r["stage"], r["reason"], r["snapshot"]): r["rows"] for r in statement_rows}
    named = sorted({(r["stage"], r["reason"]) for r in statement_rows})
    rows = [{"stage": stage, "reason": reason} for stage, reason in named]
    names = [n for n in source.snapshots if filter_values["snapshot"] in ("", n)]

    def create_count_column(snapshot: str) -> Column:
        def count_cell(row: Row) -> Cell:
            number = counts.get((row["stage"], row["reason"], snapshot))
            if number is None:
                return Cell(numbers.DASH)
            target = page_url("/rejects", snapshot=snapshot, **row) + "#list"
            return Cell(link(target, numbers.format_count(number)), number)

        return Column(snapshot, count_cell)

    columns = (
        Column(
            "Reason",
            lambda r: Cell(r["reason"].replace("_", " ")),
            "Rule that rejected the rows",
        ),
        Column("Stage", "stage", "Stage that rejected the rows"),
        *map(create_count_column, names),
    )
    return render_table(
        source,
        "Rejected rows by reason, stage and snapshot",
        columns,
        rows,
        statement,
        empty_text="No rows were rejected.",
        statement_rows=statement_rows,
    )


COLUMNS = (
    Column("Reason", lambda r: Cell(r["reason"].replace("_", " "))),
    Column("Stage", "stage"),
    Column("Snapshot", "snapshot"),
    Column(
        "File",
        lambda r: Cell(r["file"] or numbers.DASH),
        "Source file, relative to the definition file",
        "file",
    ),
    Column("Line", "line", "Line or record number, starting at 1"),
    Column("Key", "key", "Key of the row, if it may be published"),
    Column("Rows", "rows", "Number of rejected rows", "rows"),
)
