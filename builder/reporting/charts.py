"""Drawn charts: lines, points and bars as SVG, with a title and a hint on every mark.

In: numbers and names. Out: one `<svg>` element in the classes of `report.css`; missing values
(None) are left out. Layout is computed here; `parts.html` writes it.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from builder.reporting import numbers
from builder.reporting.parts import key
from builder.reporting.render import join, part

Values = Sequence[float | None]

COLOURS = 8
"""Classes `series-0` to `series-7` of the style sheet: Okabe and Ito's palette."""

LEFT, RIGHT, TOP, BOTTOM = 52, 14, 26, 34
LETTER = 6.5
"""Width of a digit; what labels need."""


@dataclass(frozen=True)
class Series:
    """A line: its name, colour class, values, and the ends of their intervals."""

    name: str
    colour: str
    values: Values
    low: Values = ()
    high: Values = ()


@dataclass(frozen=True)
class Point:
    """A named point in the plane."""

    name: str
    colour: str
    x: float
    y: float


def series_colour(place: int) -> str:
    """The colour class of the series at a position among all of a report."""
    return f"series-{place % COLOURS}"


@dataclass
class Drawing:
    """Marks in SVG units."""

    title: str
    width: int = 440
    height: int = 240
    rules: list[tuple[float, float, float, float, str]] = field(default_factory=list)
    labels: list[tuple[float, float, str, str, str]] = field(default_factory=list)
    paths: list[tuple[str, str]] = field(default_factory=list)
    dots: list[tuple[float, float, str, str]] = field(default_factory=list)
    bars: list[tuple[float, float, float, float, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.labels.append((LEFT, TOP - 12, self.title, "start", "label"))

    @property
    def inside(self) -> tuple[float, float, float, float]:
        """Left, right, top and bottom of the plane."""
        return LEFT, self.width - RIGHT, TOP, self.height - BOTTOM

    def axis(self, scale: "Scale", text: Callable[[float], str], *, is_vertical: bool) -> None:
        """Rules and labels at the ticks of a scale."""
        left, right, top, bottom = self.inside
        for tick in scale.ticks():
            at = scale(tick)
            if is_vertical:
                self.rules.append((left, at, right, at, "rule"))
                self.labels.append((left - 6, at + 4, text(tick), "end", ""))
            else:
                self.rules.append((at, top, at, bottom, "rule"))
                self.labels.append((at, bottom + 16, text(tick), "middle", ""))

    def markup(self) -> Markup:
        """The image; a screen reader calls it by its title."""
        return part("drawing", self)


class Scale:
    """A linear map from data to SVG units that shows all values and ends at round numbers."""

    def __init__(self, values: Sequence[float], first: float, last: float) -> None:
        low, high = min(values, default=0.0), max(values, default=1.0)
        if high - low < 1e-9:
            low, high = low - 0.5, high + 0.5
        self.step = round_step((high - low) / 4)
        self._low = math.floor(low / self.step + 1e-9) * self.step
        self._high = math.ceil(high / self.step - 1e-9) * self.step
        self._first, self._last = first, last

    def __call__(self, value: float) -> float:
        """Where a value lies, in SVG units."""
        portion = (value - self._low) / (self._high - self._low)
        return round(self._first + portion * (self._last - self._first), 2)

    def ticks(self) -> list[float]:
        """Round numbers from end to end."""
        count = round((self._high - self._low) / self.step)
        return [self._low + index * self.step for index in range(count + 1)]


def round_step(rough: float) -> float:
    """The least of 1, 2, 5 times a power of ten that is not below a step."""
    unit = 10.0 ** math.floor(math.log10(rough))
    return next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough * 0.999)


def plain(value: float) -> str:
    """A tick as a number."""
    text = f"{value:.6g}"
    return "0" if text in ("-0", "0") else text


def lines(
    title: str,
    positions: Sequence[str],
    series: Sequence[Series],
    *,
    as_shares: bool = False,
) -> Markup:
    """Series over named positions, such as snapshots, with their intervals and a legend.

    Args:
        title: What is drawn.
        positions: Names along the horizontal axis.
        series: One value per position each.
        as_shares: Values are shares, drawn from 0 to 100 %.
    """
    known = [
        v for s in series for part_ in (s.values, s.low, s.high) for v in part_ if v is not None
    ]
    drawing = Drawing(title)
    left, right, top, bottom = drawing.inside
    scale = Scale([0.0, 1.0] if as_shares else known, bottom, top)
    text: Callable[[float], str] = (lambda v: f"{100 * v:.0f} %") if as_shares else plain
    drawing.axis(scale, text, is_vertical=True)
    step = (right - left) / max(len(positions), 1)
    places = [round(left + step * (n + 0.5), 2) for n in range(len(positions))]
    widest = max(map(len, positions), default=0) * LETTER
    every = max(1, math.ceil(widest / step))
    for n in range(0, len(positions), every):
        drawing.labels.append((places[n], bottom + 16, positions[n], "middle", ""))
    for number, one in enumerate(series):
        shift = 3 * (number - (len(series) - 1) / 2) if one.low else 0.0
        at = [round(place + shift, 2) for place in places]
        drawing.paths.append((_path(one.values, at, scale), f"line {one.colour}"))
        for low, high, x in zip(one.low, one.high, at, strict=False):
            if low is not None and high is not None:
                drawing.rules.append((x, scale(low), x, scale(high), f"whisker {one.colour}"))
        shown = numbers.percent if as_shares else numbers.decimal
        drawing.dots += [
            (x, scale(value), one.colour, f"{one.name}, {position}: {shown(value)}")
            for position, x, value in zip(positions, at, one.values, strict=True)
            if value is not None
        ]
    return join(key([(one.name, one.colour) for one in series]), drawing.markup())


def _path(values: Values, places: Sequence[float], scale: Scale) -> str:
    """A line that breaks where a value is missing."""
    path, command = "", "M"
    for place, value in zip(places, values, strict=True):
        if value is None:
            command = "M"
        else:
            path, command = f"{path}{command}{place} {scale(value)}", "L"
    return path


def scatter(
    title: str, points: Sequence[Point], x_label: str, y_label: str, ideal: tuple[float, float]
) -> Markup:
    """Points in the plane, with lines through the ideal point.

    Args:
        title: What is drawn.
        points: What is compared.
        x_label: What is measured to the right.
        y_label: What is measured upwards.
        ideal: Where a perfect system would be.
    """
    drawing = Drawing(f"{title}: {y_label} against {x_label}")
    left, right, top, bottom = drawing.inside
    x = Scale([p.x for p in points] + [ideal[0]], left, right)
    y = Scale([p.y for p in points] + [ideal[1]], bottom, top)
    drawing.axis(y, plain, is_vertical=True)
    drawing.axis(x, plain, is_vertical=False)
    drawing.rules.append((x(ideal[0]), top, x(ideal[0]), bottom, "ideal"))
    drawing.rules.append((left, y(ideal[1]), right, y(ideal[1]), "ideal"))
    drawing.dots += [(x(p.x), y(p.y), p.colour, f"{p.name}: {p.x:.4f}, {p.y:.4f}") for p in points]
    return join(key([(p.name, p.colour) for p in points]), drawing.markup())


def bars(
    title: str,
    values: Sequence[float],
    colour: str,
    hints: Sequence[str] = (),
    ticks: Sequence[str] = (),
) -> Markup:
    """Bars from zero, in the order of their values.

    Args:
        title: What is drawn.
        values: One per bar.
        colour: Class of the bars.
        hints: What each bar stands for; absent: its value.
        ticks: Labels of equally spaced borders below the bars.
    """
    drawing = Drawing(title, height=190)
    left, right, top, bottom = drawing.inside
    scale = Scale([*values, 0.0], bottom, top)
    drawing.axis(scale, plain, is_vertical=True)
    zero, width = scale(0.0), (right - left) / max(len(values), 1)
    for number, value in enumerate(values):
        y = scale(value)
        x = round(left + number * width + 0.05 * width, 2)
        hint = hints[number] if hints else f"{value:.4f}"
        height = round(abs(zero - y), 2)
        drawing.bars.append((x, min(y, zero), round(0.9 * width, 2), height, colour, hint))
    drawing.rules.append((left, zero, right, zero, "ideal"))
    drawing.labels += list(_ticks(ticks, left, right, bottom + 16))
    return drawing.markup()


def _ticks(
    ticks: Sequence[str], left: float, right: float, y: float
) -> Iterator[tuple[float, float, str, str, str]]:
    for number, tick in enumerate(ticks):
        portion = number / max(len(ticks) - 1, 1)
        anchor = "start" if portion == 0 else "end" if portion == 1 else "middle"
        yield round(left + portion * (right - left), 2), y, tick, anchor, ""


def histogram(title: str, counts: Sequence[int], colour: str) -> Markup:
    """Counts of equal bins over [0, 1]."""
    bins = len(counts)
    hints = [
        f"{n / bins:.2f} to {(n + 1) / bins:.2f}: {numbers.count(c)}" for n, c in enumerate(counts)
    ]
    return bars(title, counts, colour, hints, [f"{n / 4:.2f}" for n in range(5)])
