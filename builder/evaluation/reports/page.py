"""HTML report of an evaluation with tables and charts, in a single file that works offline.

The charts follow Keller et al. 2024: means over snapshots (figure 2), effect ratio versus delta RI
(figure 3), and drop per query (figure 4).
"""

from typing import Any

import polars as pl
from markupsafe import Markup, escape

from builder.evaluation.evaluator import Evaluation
from builder.evaluation.reports.summary import missing_interval_notes, summary_rows
from builder.evaluation.tables.topicsets import TOPIC_SETS
from builder.reporting.charts import (
    LineSeries,
    ScatterPoint,
    bar_chart,
    line_chart,
    scatter_plot,
    series_color,
)
from builder.reporting.numbers import DASH, format_score
from builder.reporting.parts import (
    Cell,
    Row,
    collapsible,
    empty_note,
    grid,
    grid_cell,
    paragraph,
    section,
    table,
)
from builder.reporting.render import join_markup, render_page

_LEGEND = (
    "A positive drop means that the score decreased. An effect ratio of 1 and a delta RI of 0 mean "
    "that the difference between a system and the pivot did not change. Vertical lines show "
    "bootstrap intervals."
)

_ABOUT = {
    "full": "All judged queries of each snapshot.",
    "core": "Queries that are judged in every snapshot.",
}


MAX_OPEN_CHARTS = 16
"""Maximum number of charts of snapshot pairs that are shown without a collapsible section."""

FOOTER = "A drop is the score in the earlier snapshot minus the score in the later one."


def html_report(evaluation: Evaluation) -> str:
    """Render an evaluation as a complete HTML document.

    The document is deterministic: equal evaluations give equal documents.
    """
    sections = [
        section(
            topic_set,
            f"{topic_set.capitalize()} queries",
            _ABOUT[topic_set],
            _render_charts(
                [_mean_chart(evaluation, topic_set, m) for m in evaluation.parameters.measures],
                "Delta RI against effect ratio",
                _scatter_plots(evaluation, topic_set),
            ),
            _summary_table(
                f"{topic_set.capitalize()} queries", summary_rows(evaluation, topic_set)
            ),
            [
                paragraph(f"Note: {note}.", "note")
                for note in missing_interval_notes(evaluation, topic_set)
            ],
        )
        for topic_set in TOPIC_SETS
    ]
    drops = section(
        "drops",
        "Drop per query",
        "Queries judged in both snapshots, sorted by drop.",
        _render_charts([], "Drop per query", _score_drop_charts(evaluation)),
    )
    contents = [(name, f"{name.capitalize()} queries") for name in TOPIC_SETS]
    return render_page(
        "Effectiveness over time",
        "Effectiveness over time",
        _allow_line_breaks(evaluation.signature(), "|"),
        [*contents, ("drops", "Drop per query")],
        (paragraph(_LEGEND, "note"), sections, drops),
        FOOTER,
    )


def _render_charts(charts: list[Markup], summary: str, pair_charts: list[Markup]) -> Markup:
    """Render charts in a grid; collapse `pair_charts` if there are more than `MAX_OPEN_CHARTS`.

    Args:
        charts: Charts that are always shown.
        summary: Label of the collapsed section.
        pair_charts: Charts that compare two snapshots.
    """
    if len(pair_charts) <= MAX_OPEN_CHARTS:
        return grid(map(grid_cell, [*charts, *pair_charts]))
    folded = collapsible(f"{summary}: {len(pair_charts)} charts", grid(map(grid_cell, pair_charts)))
    return join_markup([grid(map(grid_cell, charts)), folded]) if charts else folded


def _scatter_plots(evaluation: Evaluation, topic_set: str) -> list[Markup]:
    charts = []
    chosen = evaluation.persistence.filter(
        pl.col("topic_set") == topic_set, pl.col("quantity").is_in(["effect_ratio", "delta_ri"])
    )
    keys = ["from_snapshot", "to_snapshot", "measure"]
    for (first, second, measure), rows in chosen.group_by(keys, maintain_order=True):
        wide = rows.pivot("quantity", index="system", values="value").drop_nulls()
        points = [
            ScatterPoint(name, series_color(evaluation.systems.index(name)), ratio, delta)
            for name, ratio, delta in wide.select("system", "effect_ratio", "delta_ri").iter_rows()
        ]
        if points:
            title = f"{measure}, {first} to {second}"
            charts.append(scatter_plot(title, points, "effect ratio", "delta RI", (1.0, 0.0)))
    return charts


def _mean_chart(evaluation: Evaluation, topic_set: str, measure: str) -> Markup:
    rows = evaluation.effectiveness.filter(
        pl.col("topic_set") == topic_set, pl.col("measure") == measure
    )
    cells = {(row["system"], row["snapshot"]): row for row in rows.iter_rows(named=True)}

    def values_by_snapshot(system: str, column: str) -> list[float | None]:
        return [cells.get((system, s), {}).get(column) for s in evaluation.snapshots]

    series = [
        LineSeries(
            name,
            series_color(index),
            *(values_by_snapshot(name, column) for column in ("value", "ci_low", "ci_high")),
        )
        for index, name in enumerate(evaluation.systems)
    ]
    return line_chart(f"Mean {measure}", evaluation.snapshots, series)


def _score_drop_charts(evaluation: Evaluation) -> list[Markup]:
    """Draw a bar chart of per-query score drops for each system and pair of snapshots."""
    measure = evaluation.parameters.measures[0]
    rows = evaluation.query_drops.filter(pl.col("measure") == measure)
    keys = ["from_snapshot", "to_snapshot", "system"]
    return [
        bar_chart(
            f"{system}, {first} to {second}: drop in {measure}",
            sorted(group["drop"].to_list(), reverse=True),
            series_color(evaluation.systems.index(str(system))),
        )
        for (first, second, system), group in rows.group_by(keys, maintain_order=True)
    ]


def _summary_table(caption: str, rows: list[dict[str, Any]]) -> Markup:
    if not rows:
        return empty_note("No runs.")
    cells: list[Row] = [[_table_cell(value) for value in row.values()] for row in rows]
    return table(caption, [_allow_line_breaks(name, "_") for name in rows[0]], cells)


def _allow_line_breaks(text: str, separator: str) -> Markup:
    """Escape a text for HTML, and allow a line break after each separator."""
    return (escape(separator) + Markup("<wbr>")).join(text.split(separator))


def _table_cell(value: object) -> Cell:
    if value is None:
        return Cell(DASH, -1e300)
    if isinstance(value, int | float):
        return Cell(format_score(value) if isinstance(value, float) else str(value), float(value))
    return Cell(str(value))
