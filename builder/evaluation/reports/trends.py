"""SVG chart of trends over time: the scores and the fitted line of each system."""

import math
from datetime import UTC, datetime

import polars as pl

from builder.errors import UsageError
from builder.evaluation.trend_reports import SECONDS_PER_DAY, TrendReport
from builder.reporting.charts import DIGIT_WIDTH, Chart, LinearScale, format_tick, series_color
from builder.reporting.numbers import format_decimal

WIDTH, LEGEND_WIDTH, LINE_HEIGHT = 640, 180, 18


def trend_chart(report: TrendReport) -> str:
    """Draw the trend of each system as an SVG image.

    If a system has several trends, only the best-ranked is drawn. Dots are scores of batches; lines
    are fitted trends from the first to the last batch.

    Args:
        report: Trends of one measure.

    Raises:
        UsageError: The report has several measures.
    """
    measures = report.trends["measure"].unique().sort().to_list()
    if len(measures) != 1:
        raise UsageError(f"trend chart: expected one measure, found {', '.join(measures)}")
    keys = [name for name in report.ranking.columns if name in report.scores.columns]
    best = report.ranking.select(keys).join(
        report.trends, on=keys, nulls_equal=True, maintain_order="left"
    )
    scores = report.scores.join(best, on=keys, how="semi", nulls_equal=True)
    drawing = Chart(f"Trend of {measures[0]}", WIDTH, right_margin=LEGEND_WIDTH)
    times = scores["time"].unique().sort().to_list()
    lines = {
        row["system"]: _fitted_end_values(row, (times[-1] - times[0]) / SECONDS_PER_DAY)
        for row in best.iter_rows(named=True)
    }
    _draw_trends(drawing, scores, lines, times)
    return drawing.render_svg_file()


def _fitted_end_values(trend: dict[str, float | None], days: float) -> tuple[float, float] | None:
    """Return a fitted line's values at the first and last batch; None if no line was fitted."""
    start, slope = trend["intercept"], trend["slope_per_day"]
    return None if start is None or slope is None else (start, start + slope * days)


def _draw_trends(
    drawing: Chart,
    scores: pl.DataFrame,
    lines: dict[str, tuple[float, float] | None],
    times: list[int],
) -> None:
    left, right, top, bottom = drawing.plot_area
    ends = [value for line in lines.values() for value in line or ()]
    y = LinearScale([*scores["score"].drop_nulls(), *ends], bottom, top)
    drawing.add_axis(y, format_tick, is_vertical=True)
    xs = dict(zip(times, _scale_times(times, left + 10, right - 10), strict=True))
    labels = _time_labels(times)
    every = max(1, math.ceil(len(times) * len(labels[0]) * DIGIT_WIDTH * 1.3 / (right - left)))
    for time, label in list(zip(times, labels, strict=True))[::every]:
        drawing.labels.append((xs[time], bottom + 16, label, "middle", ""))
    for number, (system, line) in enumerate(lines.items()):
        color = series_color(number)
        drawing.labels.append((right + 12, top + 10 + LINE_HEIGHT * number, system, "start", color))
        if line is not None:
            path = f"M{xs[times[0]]} {y(line[0])}L{xs[times[-1]]} {y(line[1])}"
            drawing.paths.append((path, f"line {color}"))
        points = scores.filter(pl.col("system") == system, pl.col("score").is_not_null())
        drawing.dots += [
            (xs[time], y(score), color, f"{system}, {label}: {format_decimal(score)}")
            for time, score in points.sort("time").select("time", "score").iter_rows()
            for label in [labels[times.index(time)]]
        ]


def _scale_times(times: list[int], left: float, right: float) -> list[float]:
    """Map ascending times (Unix seconds) linearly to x-coordinates from `left` to `right`."""
    seconds = max(times[-1] - times[0], 1)
    return [round(left + (time - times[0]) / seconds * (right - left), 2) for time in times]


def _time_labels(times: list[int]) -> list[str]:
    """Format times (Unix seconds) as dates in UTC, with hour and minute unless all are midnight."""
    pattern = "%Y-%m-%d %H:%M" if any(time % SECONDS_PER_DAY for time in times) else "%Y-%m-%d"
    return [datetime.fromtimestamp(time, UTC).strftime(pattern) for time in times]
