"""Renders line charts, scatter plots and bar charts as SVG, with a tooltip on every mark.

Charts are `<svg>` elements that are styled by the classes in `report.css`; missing values (None)
are omitted. This module computes the layout, and the template `parts.html` writes the markup.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from builder.reporting import numbers
from builder.reporting.parts import legend
from builder.reporting.render import join_markup, read_template_file, render_macro

Values = Sequence[float | None]

SERIES_COLORS = 8
"""Number of CSS classes `series-0`, `series-1`, ..., with the colors of Okabe and Ito."""

LEFT, RIGHT, TOP, BOTTOM = 52, 14, 26, 34
DIGIT_WIDTH = 7.7
"""Width of a digit in SVG units at font size 12 in the widest common font."""


@dataclass(frozen=True)
class LineSeries:
    """Line of a chart: name, color class, values, and confidence interval of each value."""

    name: str
    color: str
    values: Values
    low: Values = ()
    high: Values = ()


@dataclass(frozen=True)
class ScatterPoint:
    """Labeled point of a scatter plot, with its color class."""

    name: str
    color: str
    x: float
    y: float


def series_color(index: int) -> str:
    """Return the CSS color class of the series at a zero-based index; colors repeat after eight."""
    return f"series-{index % SERIES_COLORS}"


@dataclass
class Chart:
    """Chart, stored as lists of lines, labels, paths, dots and bars with positions in SVG units."""

    title: str
    width: int = 440
    height: int = 240
    right_margin: int = RIGHT
    left_margin: float = LEFT
    rules: list[tuple[float, float, float, float, str]] = field(default_factory=list)
    labels: list[tuple[float, float, str, str, str]] = field(default_factory=list)
    paths: list[tuple[str, str]] = field(default_factory=list)
    dots: list[tuple[float, float, str, str]] = field(default_factory=list)
    bars: list[tuple[float, float, float, float, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.labels.append((self.left_margin, TOP - 12, self.title, "start", "label"))

    @property
    def plot_area(self) -> tuple[float, float, float, float]:
        """Left, right, top and bottom edge of the plot area, in SVG units."""
        return self.left_margin, self.width - self.right_margin, TOP, self.height - BOTTOM

    def add_axis(
        self, scale: "LinearScale", format_tick: Callable[[float], str], *, is_vertical: bool
    ) -> None:
        """Add a grid line and a label at each tick of a scale."""
        left, right, top, bottom = self.plot_area
        for tick in scale.ticks():
            at = scale(tick)
            if is_vertical:
                self.rules.append((left, at, right, at, "rule"))
                self.labels.append((left - 6, at + 4, format_tick(tick), "end", ""))
            else:
                self.rules.append((at, top, at, bottom, "rule"))
                self.labels.append((at, bottom + 16, format_tick(tick), "middle", ""))

    def render(self) -> Markup:
        """Render the chart as SVG, with its title as the accessible name."""
        return render_macro("drawing", self)

    def render_svg_file(self) -> str:
        """Return the text of an SVG file with the chart and its styles."""
        style = Markup(read_template_file("chart.css"))  # noqa: S704 - a file of this package
        return str(render_macro("image", self, style))


class LinearScale:
    """Linear scale from data values to SVG units; the domain is extended to round numbers."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        low, high = min(values, default=0.0), max(values, default=1.0)
        if high - low < 1e-9:
            low, high = low - 0.5, high + 0.5
        self.step = nice_step((high - low) / 4)
        self._low = math.floor(low / self.step + 1e-9) * self.step
        self._high = math.ceil(high / self.step - 1e-9) * self.step
        self._start, self._end = start, end

    def __call__(self, value: float) -> float:
        """Return the position of a data value, in SVG units."""
        portion = (value - self._low) / (self._high - self._low)
        return round(self._start + portion * (self._end - self._start), 2)

    def ticks(self) -> list[float]:
        """Return the tick values, from one end of the domain to the other."""
        count = round((self._high - self._low) / self.step)
        return [self._low + index * self.step for index in range(count + 1)]


def nice_step(min_step: float) -> float:
    """Return the smallest value of at least `min_step` that is 1, 2 or 5 times a power of ten."""
    unit = 10.0 ** math.floor(math.log10(min_step))
    return next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= min_step * 0.999)


def format_tick(value: float) -> str:
    """Format a tick value without trailing zeros; even small values have no exponent."""
    text = f"{value:.6g}" if abs(value) >= 1e-4 else f"{value:.10f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "0") else text


def line_chart(
    title: str,
    x_labels: Sequence[str],
    series: Sequence[LineSeries],
    *,
    as_shares: bool = False,
) -> Markup:
    """Render a line chart of series over categories, such as snapshots.

    Args:
        title: Chart title.
        x_labels: Labels of the horizontal axis.
        series: Lines with one value per label.
        as_shares: Whether values are shares, drawn on a scale from 0 to 100 %.
    """
    known = [
        v for s in series for part_ in (s.values, s.low, s.high) for v in part_ if v is not None
    ]
    drawing = Chart(title)
    left, right, top, bottom = drawing.plot_area
    scale = LinearScale([0.0, 1.0] if as_shares else known, bottom, top)
    text: Callable[[float], str] = (lambda v: f"{100 * v:.0f} %") if as_shares else format_tick
    drawing.add_axis(scale, text, is_vertical=True)
    step = (right - left) / max(len(x_labels), 1)
    places = [round(left + step * (n + 0.5), 2) for n in range(len(x_labels))]
    widest = max(map(len, x_labels), default=0) * DIGIT_WIDTH
    every = max(1, math.ceil((widest + DIGIT_WIDTH) / step))
    for n in range(0, len(x_labels), every):
        x = min(places[n], drawing.width - widest / 2)
        drawing.labels.append((x, bottom + 16, x_labels[n], "middle", ""))
    for number, line in enumerate(series):
        shift = 3 * (number - (len(series) - 1) / 2) if line.low else 0.0
        at = [round(place + shift, 2) for place in places]
        drawing.paths.append((_svg_path(line.values, at, scale), f"line {line.color}"))
        for low, high, x in zip(line.low, line.high, at, strict=False):
            if low is not None and high is not None:
                drawing.rules.append((x, scale(low), x, scale(high), f"whisker {line.color}"))
        shown = numbers.format_percent if as_shares else numbers.format_decimal
        drawing.dots += [
            (x, scale(value), line.color, f"{line.name}, {x_label}: {shown(value)}")
            for x_label, x, value in zip(x_labels, at, line.values, strict=True)
            if value is not None
        ]
    return join_markup(legend([(line.name, line.color) for line in series]), drawing.render())


def _svg_path(values: Values, xs: Sequence[float], scale: LinearScale) -> str:
    """Return the SVG path data of a line through values, interrupted at missing values."""
    path, command = "", "M"
    for place, value in zip(xs, values, strict=True):
        if value is None:
            command = "M"
        else:
            path, command = f"{path}{command}{place} {scale(value)}", "L"
    return path


def scatter_plot(
    title: str,
    points: Sequence[ScatterPoint],
    x_label: str,
    y_label: str,
    ideal: tuple[float, float],
) -> Markup:
    """Render a scatter plot as SVG, with a horizontal and a vertical line through an ideal point.

    Args:
        title: Chart title.
        points: Points to draw.
        x_label: Label of the horizontal axis.
        y_label: Label of the vertical axis.
        ideal: Coordinates (x, y) that an ideal system would have.
    """
    name, vertical = f"{title}: {y_label} against {x_label}", [*(p.y for p in points), ideal[1]]
    drawing = Chart(name, left_margin=_left_margin(vertical))
    left, right, top, bottom = drawing.plot_area
    x = LinearScale([p.x for p in points] + [ideal[0]], left, right)
    y = LinearScale(vertical, bottom, top)
    drawing.add_axis(y, format_tick, is_vertical=True)
    drawing.add_axis(x, format_tick, is_vertical=False)
    drawing.rules.append((x(ideal[0]), top, x(ideal[0]), bottom, "ideal"))
    drawing.rules.append((left, y(ideal[1]), right, y(ideal[1]), "ideal"))
    shown = numbers.format_score
    drawing.dots += [
        (x(p.x), y(p.y), p.color, f"{p.name}: {shown(p.x)}, {shown(p.y)}") for p in points
    ]
    return join_markup(legend([(p.name, p.color) for p in points]), drawing.render())


def _left_margin(values: Sequence[float]) -> float:
    """Return the width of a left margin in which all tick labels of the vertical axis fit."""
    widest = max(len(format_tick(tick)) for tick in LinearScale(values, 0.0, 1.0).ticks())
    return max(LEFT, math.ceil(widest * DIGIT_WIDTH) + 6)


def bar_chart(
    title: str,
    values: Sequence[float],
    color: str,
    tooltips: Sequence[str] = (),
    ticks: Sequence[str] = (),
) -> Markup:
    """Render a bar chart as SVG, with vertical bars in the given order.

    Args:
        title: Chart title.
        values: Height of each bar.
        color: Color class of the bars.
        tooltips: Tooltip of each bar; by default, the value of the bar.
        ticks: Labels at equal distances below the bars.
    """
    drawing = Chart(title, height=190)
    left, right, top, bottom = drawing.plot_area
    scale = LinearScale([*values, 0.0], bottom, top)
    drawing.add_axis(scale, format_tick, is_vertical=True)
    zero, width = scale(0.0), (right - left) / max(len(values), 1)
    for number, value in enumerate(values):
        y = scale(value)
        x = round(left + number * width + 0.05 * width, 2)
        tooltip = tooltips[number] if tooltips else numbers.format_score(value)
        height = round(abs(zero - y), 2)
        drawing.bars.append((x, min(y, zero), round(0.9 * width, 2), height, color, tooltip))
    drawing.rules.append((left, zero, right, zero, "ideal"))
    drawing.labels += list(_tick_labels(ticks, left, right, bottom + 16))
    return drawing.render()


def _tick_labels(
    ticks: Sequence[str], left: float, right: float, y: float
) -> Iterator[tuple[float, float, str, str, str]]:
    for number, tick in enumerate(ticks):
        portion = number / max(len(ticks) - 1, 1)
        anchor = "start" if portion == 0 else "end" if portion == 1 else "middle"
        yield round(left + portion * (right - left), 2), y, tick, anchor, ""


def histogram(title: str, counts: Sequence[int], color: str) -> Markup:
    """Render a histogram as SVG from the counts of equal-width bins over [0, 1]."""
    bins = len(counts)
    tooltips = [
        f"{n / bins:.2f} to {(n + 1) / bins:.2f}: {numbers.format_count(c)}"
        for n, c in enumerate(counts)
    ]
    return bar_chart(title, counts, color, tooltips, [f"{n / 4:.2f}" for n in range(5)])
