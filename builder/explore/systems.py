"""Explorer page that compares the scores of two systems per query and per snapshot."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from builder.explore.forms import create_select_field, render_filter_form
from builder.explore.page_request import PageRequest, page_url
from builder.explore.queries import query_link_cell
from builder.explore.query_systems import signed_score_cell
from builder.explore.render import Page, render_macro
from builder.explore.runs import MEASURES
from builder.explore.source import CollectionSource
from builder.explore.statements import Row, Statement
from builder.explore.tables import Column, render_table
from builder.reporting import charts
from builder.reporting.charts import Chart, LinearScale, format_tick, series_color
from builder.reporting.parts import decimal_cell, empty_note, grid, paragraph, section

MAX_ROWS = 25
"""Maximum number of queries in the table of the largest score differences."""
MAX_POINTS = 2000
"""Maximum number of queries in the scatter plot."""

PAIRS = """
SELECT a.query_key AS query_id, a.snapshot, a.score AS first, b.score AS second,
  a.score - b.score AS difference
FROM scores AS a JOIN scores AS b USING (snapshot, query_key, measure)
WHERE a.system = $first AND b.system = $second AND measure = $measure
  AND a.score IS NOT NULL AND b.score IS NOT NULL
ORDER BY a.snapshot, query_id
"""
TEXTS = "SELECT query_id, text FROM queries_map WHERE query_id IN (SELECT unnest($ids))"
LISTED_TEXTS = """
SELECT query_key AS query_id, arg_max(text, snapshot) AS text FROM queries
WHERE query_key IN (SELECT unnest($ids)) GROUP BY query_key
"""


def systems_page(source: CollectionSource, request: PageRequest) -> Page:
    """Build the page `/systems`, which compares two systems."""
    heading = "Two systems"
    lead = "Differences between two systems per query and per snapshot."
    if len(source.systems) < 2:
        found = f"found {', '.join(source.systems)}" if source.systems else "no runs were loaded"
        text = (
            "This page compares the runs of two systems; start `longeval explore` with "
            f"--runs FOLDER ({found})."
        )
        return Page(heading, lead, empty_note(text), "/systems")
    first = request.choice_parameter("first", source.systems, source.systems[0])
    second = request.choice_parameter("second", source.systems, source.systems[1])
    measure = request.choice_parameter("measure", MEASURES, MEASURES[0])
    values: dict[str, Any] = {"first": first, "second": second, "measure": measure}
    rows = source.fetch_rows(Statement(PAIRS, values))
    names = [name for name in source.snapshots if any(r["snapshot"] == name for r in rows)]
    snapshot = request.choice_parameter("snapshot", names, names[-1] if names else "")
    chosen = render_filter_form(
        request,
        create_select_field("first", "First", first, source.systems),
        create_select_field("second", "Second", second, source.systems),
        create_select_field("measure", "Measure", measure, MEASURES),
        create_select_field("snapshot", "Snapshot", snapshot, names),
    )
    if not rows:
        text = "No snapshot has runs of both systems."
        return Page(heading, lead, (chosen, empty_note(text)), "/systems")
    snapshot_rows = [row for row in rows if row["snapshot"] == snapshot]
    body = (
        chosen,
        _scores_over_time_section(source, names, rows, values),
        _snapshot_section(source, snapshot_rows, snapshot, first, second, measure),
    )
    return Page(heading, lead, body, "/systems", [("time", "Over time"), ("queries", "Queries")])


def _scores_over_time_section(
    source: CollectionSource,
    names: Sequence[str],
    rows: Sequence[Row],
    filter_values: dict[str, Any],
) -> Markup:
    over: list[Row] = []
    for name in names:
        found = [row["difference"] for row in rows if row["snapshot"] == name]
        over.append(
            {
                "snapshot": name,
                "queries": len(found),
                "mean": sum(found) / len(found),
                "first": sum(d > 0 for d in found),
                "second": sum(d < 0 for d in found),
                "equal": sum(d == 0 for d in found),
            }
        )
    columns = (
        Column("Snapshot", "snapshot"),
        Column("Queries", "queries", "Number of judged queries scored for both systems"),
        Column(
            "Mean difference",
            lambda r: signed_score_cell(r["mean"]),
            "Mean score of the first system minus mean score of the second",
        ),
        Column("First better", "first"),
        Column("Second better", "second"),
        Column("Equal", "equal"),
    )
    line = charts.LineSeries("mean difference", "series-0", [row["mean"] for row in over])
    title = f"{filter_values['measure']}, {filter_values['first']} minus {filter_values['second']}"
    return section(
        "time",
        "Over time",
        "The first system is better where the difference is positive.",
        grid(
            render_macro("block", charts.line_chart(title, names, [line])),
            render_table(source, "Differences by snapshot", columns, over, None, empty_text=""),
        ),
    )


def _snapshot_section(
    source: CollectionSource,
    rows: Sequence[Row],
    snapshot: str,
    first_system: str,
    second_system: str,
    measure: str,
) -> Markup:
    ordered = sorted(rows, key=lambda row: (-abs(row["difference"]), row["query_id"]))
    chosen = ordered[:MAX_ROWS]
    ids = [row["query_id"] for row in chosen]
    texts = {
        r["query_id"]: r["text"]
        for sql in (LISTED_TEXTS, TEXTS)
        for r in source.fetch_rows(Statement(sql, {"ids": ids}))
    }
    made = [{**row, "text": texts.get(row["query_id"])} for row in chosen]
    columns = (
        Column("Query", lambda r: query_link_cell(r["query_id"], r["text"])),
        Column(first_system, lambda r: decimal_cell(r["first"], 4)),
        Column(second_system, lambda r: decimal_cell(r["second"], 4)),
        Column("Difference", lambda r: signed_score_cell(r["difference"]), "First minus second"),
    )
    note = (
        f"The chart shows the {MAX_POINTS:,} queries with the largest differences."
        if len(rows) > MAX_POINTS
        else None
    )
    return section(
        "queries",
        f"Queries of {snapshot}",
        "Each point is a query; on the line, both scores are equal. Select a point to open its "
        "query.",
        grid(
            _render_scatter_plot(ordered[:MAX_POINTS], first_system, second_system, measure),
            render_table(
                source,
                "Largest differences",
                columns,
                made,
                None,
                empty_text="No queries were scored.",
            ),
        ),
        paragraph(note, "note") if note else None,
    )


def _render_scatter_plot(
    rows: Sequence[Row], first_system: str, second_system: str, measure: str
) -> Markup:
    """Render a scatter plot of two systems' per-query scores; each point links to its query."""
    drawing = Chart(
        f"{measure}: {second_system} (vertical) against {first_system} (horizontal)", height=400
    )
    left, right, top, bottom = drawing.plot_area
    values = [0.0, 1.0, *(row[side] for row in rows for side in ("first", "second"))]
    x, y = LinearScale(values, left, right), LinearScale(values, bottom, top)
    drawing.add_axis(y, format_tick, is_vertical=True)
    drawing.add_axis(x, format_tick, is_vertical=False)
    drawing.rules.append((x(min(values)), y(min(values)), x(max(values)), y(max(values)), "ideal"))
    dots = [
        (
            x(row["first"]),
            y(row["second"]),
            series_color(row["difference"] < 0),
            f"{row['query_id']}: {row['first']:.4f}, {row['second']:.4f}",
            page_url(f"/query/{row['query_id']}"),
        )
        for row in rows
    ]
    return render_macro("points", drawing, dots)
