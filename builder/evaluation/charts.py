"""Small charts as SVG text: lines with bands, points with a target, sorted bars.

In: numbers and names. Out: one `<svg>` element, complete in itself: no script, no font, no network.
All text is escaped. Missing values (None) are left out.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

Value = float | None

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#8a8a8a")
"""Okabe and Ito's palette, distinct for colour-blind readers too."""

WIDTH, HEIGHT = 460, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 110, 26, 40
_LETTER = 6.5
"""Width of a digit; what labels need."""
_ENTRY = 15


@dataclass(frozen=True)
class Series:
    """The values of one system.

    Args:
        name: The system.
        colour: Its place among all systems, so that it looks the same in every chart.
        values: One per position, or None.
        low: Lower ends of the intervals.
        high: Upper ends of the intervals.
    """

    name: str
    colour: int
    values: Sequence[Value]
    low: Sequence[Value]
    high: Sequence[Value]


@dataclass(frozen=True)
class Point:
    """One system in the plane; `colour` is its place among all systems."""

    name: str
    colour: int
    x: float
    y: float


class _Scale:
    """A linear map from data to pixels that shows all values and ends at round numbers."""

    def __init__(self, values: Sequence[float], first: float, last: float) -> None:
        low, high = min(values, default=0.0), max(values, default=1.0)
        if high - low < 1e-9:
            low, high = low - 0.5, high + 0.5
        self.step = _round_step((high - low) / 4)
        self._low = math.floor(low / self.step + 1e-9) * self.step
        self._high = math.ceil(high / self.step - 1e-9) * self.step
        self._first, self._last = first, last

    def __call__(self, value: float) -> float:
        share = (value - self._low) / (self._high - self._low)
        return round(self._first + share * (self._last - self._first), 1)

    def ticks(self) -> list[float]:
        """Round numbers from end to end."""
        count = round((self._high - self._low) / self.step)
        return [self._low + index * self.step for index in range(count + 1)]


def _round_step(rough: float) -> float:
    unit = 10.0 ** math.floor(math.log10(rough))
    return next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough * 0.999)


def _label(value: float) -> str:
    text = f"{value:.6g}"
    return "0" if text in ("-0", "0") else text


def _text(x: float, y: float, text: str, anchor: str = "start", extra: str = "") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}"{extra}>{escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>'


def _frame(title: str, x_label: str, y_label: str, body: Sequence[str]) -> str:
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    turned = f' transform="rotate(-90 12 {HEIGHT / 2})"'
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    font = 'font-family="sans-serif" font-size="11"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size} {font}>',
        f"<title>{escape(title)}</title>",
        _text(_LEFT, 14, title, extra=' font-weight="bold"'),
        _text(middle, HEIGHT - 6, x_label, "middle"),
        _text(12, HEIGHT / 2, y_label, "middle", turned),
        *body,
        "</svg>",
    ]
    return "".join(parts)


def _y_axis(scale: _Scale) -> Iterator[str]:
    for tick in scale.ticks():
        yield _line(_LEFT, scale(tick), WIDTH - _RIGHT, scale(tick), "grid")
        yield _text(_LEFT - 5, scale(tick) + 4, _label(tick), "end")


def _x_axis(scale: _Scale) -> Iterator[str]:
    for tick in scale.ticks():
        yield _line(scale(tick), _TOP, scale(tick), HEIGHT - _BOTTOM, "grid")
        yield _text(scale(tick), HEIGHT - _BOTTOM + 14, _label(tick), "middle")


def _legend(shown: Sequence[Series | Point]) -> Iterator[str]:
    room = (HEIGHT - _BOTTOM - _TOP) // _ENTRY
    named = shown if len(shown) <= room else shown[: room - 1]
    for index, one in enumerate(named):
        y = _TOP + 8 + _ENTRY * index
        yield _dot(WIDTH - _RIGHT + 12, y - 4, 4, one.colour, one.name)
        yield _text(WIDTH - _RIGHT + 20, y, one.name if len(one.name) < 16 else one.name[:15] + "…")
    if len(named) < len(shown):
        rest = f"and {len(shown) - len(named)} more"
        yield _text(WIDTH - _RIGHT + 20, _TOP + 8 + _ENTRY * len(named), rest)


def _dot(x: float, y: float, radius: int, colour: int, label: str) -> str:
    fill = COLOURS[colour % len(COLOURS)]
    title = f"<title>{escape(label)}</title>"
    return f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{fill}">{title}</circle>'


def lines(title: str, positions: Sequence[str], series: Sequence[Series], y_label: str) -> str:
    """Series over named positions, such as systems over snapshots, with their intervals.

    Args:
        title: Shown above.
        positions: Names along the horizontal axis.
        series: One value per position each.
        y_label: What is measured.
    """
    known = [v for s in series for part in (s.values, s.low, s.high) for v in part if v is not None]
    y = _Scale(known, HEIGHT - _BOTTOM, _TOP)
    room = WIDTH - _RIGHT - _LEFT
    x = [round(_LEFT + room * (i + 0.5) / len(positions), 1) for i in range(len(positions))]
    body = [*_y_axis(y)]
    widest = max(map(len, positions), default=0) * _LETTER
    every = max(1, math.ceil(widest * len(positions) / room))
    labelled = range(0, len(positions), every)
    body += [_text(x[i], HEIGHT - _BOTTOM + 14, positions[i], "middle") for i in labelled]
    for index, one in enumerate(series):
        shift = 3 * (index - (len(series) - 1) / 2)
        body += _path_and_whiskers(one, positions, [round(place + shift, 1) for place in x], y)
    return _frame(title, "snapshot", y_label, [*body, *_legend(series)])


def _path_and_whiskers(
    one: Series, positions: Sequence[str], x: Sequence[float], y: _Scale
) -> Iterator[str]:
    """Dots, intervals, and a line that breaks where a value is missing."""
    colour = COLOURS[one.colour % len(COLOURS)]
    path, command = "", "M"
    rows = zip(positions, x, one.values, one.low, one.high, strict=True)
    for position, place, value, low, high in rows:
        if value is None:
            command = "M"
            continue
        path, command = f"{path}{command}{place} {y(value)}", "L"
        yield _dot(place, y(value), 3, one.colour, f"{one.name}, {position}: {value:.4f}")
        if low is not None and high is not None:
            ends = f'x1="{place}" y1="{y(low)}" x2="{place}" y2="{y(high)}"'
            yield f'<line {ends} stroke="{colour}" stroke-opacity=".5"/>'
    yield f'<path fill="none" stroke="{colour}" d="{path}"/>'


def scatter(
    title: str, points: Sequence[Point], x_label: str, y_label: str, ideal: tuple[float, float]
) -> str:
    """Points in the plane, with lines through the ideal point.

    Args:
        title: Shown above.
        points: One per system.
        x_label: What is measured to the right.
        y_label: What is measured upwards.
        ideal: Where a perfect system would be.
    """
    x = _Scale([p.x for p in points] + [ideal[0]], _LEFT, WIDTH - _RIGHT)
    y = _Scale([p.y for p in points] + [ideal[1]], HEIGHT - _BOTTOM, _TOP)
    body = [*_y_axis(y), *_x_axis(x)]
    body.append(_line(x(ideal[0]), _TOP, x(ideal[0]), HEIGHT - _BOTTOM, "ideal"))
    body.append(_line(_LEFT, y(ideal[1]), WIDTH - _RIGHT, y(ideal[1]), "ideal"))
    for point in points:
        label = f"{point.name}: {point.x:.4f}, {point.y:.4f}"
        body.append(_dot(x(point.x), y(point.y), 5, point.colour, label))
    return _frame(title, x_label, y_label, [*body, *_legend(points)])


def bars(title: str, values: Sequence[float], x_label: str, y_label: str) -> str:
    """Bars sorted from the largest value to the smallest, one path for all.

    Args:
        title: Shown above.
        values: One per bar.
        x_label: What a bar stands for.
        y_label: What is measured.
    """
    y = _Scale([*values, 0.0], HEIGHT - _BOTTOM, _TOP)
    width = (WIDTH - _RIGHT - _LEFT) / max(len(values), 1)
    zero = y(0.0)
    steps = [
        f"M{_LEFT + index * width:.2f} {zero}h{width * 0.9:.2f}V{y(value)}h{-width * 0.9:.2f}z"
        for index, value in enumerate(sorted(values, reverse=True))
    ]
    path = f'<path fill="{COLOURS[0]}" d="{"".join(steps)}"/>'
    axis = _line(_LEFT, zero, WIDTH - _RIGHT, zero, "ideal")
    return _frame(title, x_label, y_label, [*_y_axis(y), path, axis])
