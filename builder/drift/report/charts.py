"""Charts as HTML and SVG: readable without a script, by a screen reader, on paper.

A heat map, an UpSet plot or a bar is a table or a list with coloured cells; only lines and
histograms are drawn. Colours are classes, so that light and dark pages share one markup.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from builder.drift.report import numbers
from builder.drift.report.markup import Content, Markup, element, join

WIDTH, HEIGHT = 440, 210
LEFT, RIGHT, TOP, BOTTOM = 44, 16, 22, 34
DARK = 0.75
"""Shade from which light text is easier to read."""


@dataclass(frozen=True)
class Part:
    """A part of a stacked bar: what it is, how much, and its colour class."""

    label: str
    value: int
    colour: str


def figure(title: str, body: Content, note: str | None = None) -> Markup:
    """A figure with its caption above and a note below."""
    return element(
        "figure",
        element("figcaption", title),
        body,
        element("p", note, class_="note") if note else None,
    )


def stacked_bars(rows: Sequence[tuple[str, Sequence[Part]]]) -> Markup:
    """One bar for each row, all to one scale; parts of 0 are left out of the bar."""
    longest = max((sum(part.value for part in parts) for _, parts in rows), default=0)
    lines = [
        element(
            "li",
            element("span", label, class_="bar-label"),
            element(
                "span",
                [_segment(part, longest) for part in parts if part.value],
                class_="bar",
                aria_hidden="true",
            ),
            element("span", _spoken(parts), class_="bar-text"),
        )
        for label, parts in rows
    ]
    shown = dict.fromkeys((p.label, p.colour) for _, parts in rows for p in parts if p.value)
    return join(key(list(shown)), element("ul", lines, class_="bars"))


def _segment(part: Part, longest: int) -> Markup:
    return element(
        "span",
        class_=f"segment {part.colour}",
        style=f"width:{100 * part.value / longest:.3f}%",
        title=f"{part.label}: {numbers.count(part.value)}",
    )


def _spoken(parts: Sequence[Part]) -> str:
    return ", ".join(f"{numbers.count(p.value)} {p.label}" for p in parts if p.value) or "nothing"


def key(entries: Sequence[tuple[str, str]]) -> Markup:
    """A legend: label and colour class of each entry."""
    items = [
        element("li", element("span", class_=f"swatch {colour}", aria_hidden="true"), label)
        for label, colour in entries
    ]
    return element("ul", items, class_="key")


def heat_map(
    caption: str,
    rows: Sequence[str],
    columns: Sequence[str],
    shades: Sequence[Sequence[float | None]],
    texts: Sequence[Sequence[str]],
) -> Markup:
    """A table whose cells are shaded.

    Args:
        caption: What the cells mean.
        rows: Row headings.
        columns: Column headings.
        shades: In [0, 1]; None for an empty cell.
        texts: What the cells say.
    """
    head = element("tr", element("td"), [element("th", c, scope="col") for c in columns])
    body = [
        element(
            "tr",
            element("th", label, scope="row"),
            [_cell(shade, text) for shade, text in zip(shades[i], texts[i], strict=True)],
        )
        for i, label in enumerate(rows)
    ]
    table = element(
        "table",
        element("caption", caption),
        element("thead", head),
        element("tbody", body),
        class_="heat",
    )
    return element("div", table, class_="scroll", tabindex=0, role="region", aria_label=caption)


def _cell(shade: float | None, text: str) -> Markup:
    if shade is None:
        return element("td", text, class_="empty")
    strong = "strong" if shade > DARK else None
    return element("td", text, class_=strong, style=f"--shade:{100 * shade:.1f}%")


def histogram(title: str, counts: Sequence[int], colour: str) -> Markup:
    """Bars over [0, 1] in equal bins, under a title."""
    most = max([*counts, 1])
    width = (WIDTH - LEFT - RIGHT) / max(len(counts), 1)
    bars = []
    for number, value in enumerate(counts):
        height = (HEIGHT - TOP - BOTTOM) * value / most
        low, high = number / len(counts), (number + 1) / len(counts)
        label = element("title", f"{low:.2f} to {high:.2f}: {numbers.count(value)}")
        bars.append(
            element(
                "rect",
                label,
                x=f"{LEFT + number * width + 0.75:.2f}",
                y=f"{HEIGHT - BOTTOM - height:.2f}",
                width=f"{width - 1.5:.2f}",
                height=f"{height:.2f}",
                class_=colour,
            )
        )
    ticks = [(n / 4, f"{n / 4:.2f}") for n in range(5)]
    label = element("text", title, x=LEFT, y=TOP - 9, class_="label")
    return drawing(title, join(_frame(most), bars, _below(ticks), label))


def curves(
    title: str, labels: Sequence[str], lines: Sequence[tuple[str, str, Sequence[float | None]]]
) -> Markup:
    """Lines over equally spaced points, from 0 to 100 %.

    Args:
        title: What is drawn, for screen readers.
        labels: Names of the points.
        lines: Name, colour class and values in [0, 1] of each line.
    """
    step = (WIDTH - LEFT - RIGHT) / max(len(labels) - 1, 1)
    drawn = []
    for name, colour, values in lines:
        points = [
            (LEFT + n * step, TOP + (HEIGHT - TOP - BOTTOM) * (1 - v), v, labels[n])
            for n, v in enumerate(values)
            if v is not None
        ]
        path = " ".join(f"{x:.2f},{y:.2f}" for x, y, _, _ in points)
        drawn.append(element("polyline", points=path, class_=f"line {colour}"))
        drawn += [
            element(
                "circle",
                element("title", f"{name}, {label}: {numbers.percent(v)}"),
                cx=f"{x:.2f}",
                cy=f"{y:.2f}",
                r=4,
                class_=f"dot {colour}",
            )
            for x, y, v, label in points
        ]
    every = max(1, -(-len(labels) // 5))
    ticks = [
        (n / max(len(labels) - 1, 1), label) for n, label in enumerate(labels) if n % every == 0
    ]
    legend = key([(name, colour) for name, colour, _ in lines])
    return join(legend, drawing(title, join(_shares(), drawn, _below(ticks))))


def drawing(title: str, body: Markup) -> Markup:
    """An SVG image that a screen reader calls by its title."""
    return element(
        "svg", body, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=title, class_="chart"
    )


def _frame(most: int) -> Markup:
    return join(_rule(0.0, "0"), _rule(0.5, ""), _rule(1.0, numbers.count(most)))


def _shares() -> Markup:
    return join(_rule(n / 4, f"{25 * n} %") for n in range(5))


def _rule(level: float, label: str) -> Markup:
    y = f"{TOP + (HEIGHT - TOP - BOTTOM) * (1 - level):.2f}"
    return join(
        element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="rule"),
        element("text", label, x=LEFT - 6, y=y, dy="0.32em", text_anchor="end"),
    )


def _below(ticks: Sequence[tuple[float, str]]) -> Markup:
    return join(
        element(
            "text",
            label,
            x=f"{LEFT + (WIDTH - LEFT - RIGHT) * at:.2f}",
            y=HEIGHT - BOTTOM + 18,
            text_anchor="start" if at == 0 else "end" if at == 1 else "middle",
        )
        for at, label in ticks
    )
