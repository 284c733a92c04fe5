"""An evaluation as one HTML page that works offline: tables and charts, no script.

In: an `Evaluation`. Out: the page as text. Charts follow Keller et al. 2024: means over snapshots
(figure 2), effect ratio against delta RI (figure 3), drop per query (figure 4).
"""

from html import escape
from typing import Any

import polars as pl

from builder.evaluation.charts import Point, Series, bars, lines, scatter
from builder.evaluation.evaluator import Evaluation
from builder.evaluation.summary import summary_rows
from builder.evaluation.topicsets import TOPIC_SETS
from builder.reporting.numbers import score

_STYLE = """
body{font:14px/1.45 sans-serif;max-width:72rem;margin:1.5rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;font-size:12px;margin:.6rem 0}
td,th{padding:2px 8px;border-bottom:1px solid #ddd;text-align:right;white-space:nowrap}
td:nth-child(-n+3),th:nth-child(-n+3){text-align:left}
code{font-size:11px;word-break:break-all}
.charts{display:flex;flex-wrap:wrap;gap:.8rem}
.grid{stroke:#e5e5e5}.ideal{stroke:#888;stroke-dasharray:4 3}
"""

_LEGEND = (
    "Positive drops are losses. An effect ratio of 1 and a delta RI of 0 mean that a system kept "
    "its distance to the pivot. Vertical lines are bootstrap intervals."
)

_ABOUT = {
    "full": "Every judged query of each snapshot.",
    "core": "Queries that are judged in every snapshot.",
}


def html_report(evaluation: Evaluation) -> str:
    """The page.

    Args:
        evaluation: What to show.

    Returns:
        A complete HTML document; the same evaluation gives the same text.
    """
    parts = [
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
        f"<title>Effectiveness over time</title><style>{_STYLE}</style></head><body>",
        "<h1>Effectiveness over time</h1>",
        f"<p><code>{escape(evaluation.signature())}</code></p>",
        f"<p>{_LEGEND}</p>",
    ]
    for topic_set in TOPIC_SETS:
        parts.append(f"<h2>{topic_set.capitalize()} queries</h2><p>{_ABOUT[topic_set]}</p>")
        parts.append(f'<div class="charts">{"".join(_charts(evaluation, topic_set))}</div>')
        parts.append(_table(summary_rows(evaluation, topic_set)))
    parts.append("<h2>Drop per query</h2><p>Queries judged in both snapshots, sorted.</p>")
    parts.append(f'<div class="charts">{"".join(_drops(evaluation))}</div>')
    return "".join([*parts, "</body></html>\n"])


def _charts(evaluation: Evaluation, topic_set: str) -> list[str]:
    charts = [_over_time(evaluation, topic_set, m) for m in evaluation.parameters.measures]
    chosen = evaluation.persistence.filter(
        pl.col("topic_set") == topic_set, pl.col("quantity").is_in(["effect_ratio", "delta_ri"])
    )
    keys = ["from_snapshot", "to_snapshot", "measure"]
    for (first, second, measure), rows in chosen.group_by(keys, maintain_order=True):
        wide = rows.pivot("quantity", index="system", values="value").drop_nulls()
        points = [
            Point(name, evaluation.systems.index(name), ratio, delta)
            for name, ratio, delta in wide.select("system", "effect_ratio", "delta_ri").iter_rows()
        ]
        if points:
            title = f"{measure}, {first} to {second}"
            charts.append(scatter(title, points, "effect ratio", "delta RI", (1.0, 0.0)))
    return charts


def _over_time(evaluation: Evaluation, topic_set: str, measure: str) -> str:
    rows = evaluation.effectiveness.filter(
        pl.col("topic_set") == topic_set, pl.col("measure") == measure
    )
    cells = {(row["system"], row["snapshot"]): row for row in rows.iter_rows(named=True)}

    def values(system: str, column: str) -> list[float | None]:
        return [cells.get((system, s), {}).get(column) for s in evaluation.snapshots]

    series = [
        Series(name, place, *(values(name, column) for column in ("value", "ci_low", "ci_high")))
        for place, name in enumerate(evaluation.systems)
    ]
    return lines(measure, evaluation.snapshots, series, f"mean {measure}")


def _drops(evaluation: Evaluation) -> list[str]:
    """Bars for the first measure: one chart per pair of snapshots and system."""
    measure = evaluation.parameters.measures[0]
    rows = evaluation.query_drops.filter(pl.col("measure") == measure)
    keys = ["from_snapshot", "to_snapshot", "system"]
    return [
        bars(
            f"{system}, {first} to {second}", group["drop"].to_list(), "query", f"drop of {measure}"
        )
        for (first, second, system), group in rows.group_by(keys, maintain_order=True)
    ]


def _table(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return "<p>No run.</p>"
    head = "".join(f"<th>{escape(name)}</th>" for name in rows[0])
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(_cell(value))}</td>' for value in row.values())}</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return score(value) if isinstance(value, float) else str(value)
