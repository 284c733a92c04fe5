"""Drawn charts: histograms and curves as SVG with a title, and a hint on every mark."""

from collections.abc import Sequence
from dataclasses import dataclass

from builder.drift.report.charts import key
from builder.drift.report.markup import Markup, element, join
from builder.reporting import numbers

LEFT, RIGHT, TOP, BOTTOM = 44, 16, 24, 30


@dataclass(frozen=True)
class Plane:
    """A drawing of a size in SVG units, with coordinates from 0 to 1 inside its margins."""

    width: int
    height: int

    def x(self, at: float) -> float:
        """Horizontal place."""
        return LEFT + (self.width - LEFT - RIGHT) * at

    def y(self, level: float) -> float:
        """Vertical place; 0 is at the bottom."""
        return TOP + (self.height - TOP - BOTTOM) * (1 - level)

    def draw(self, title: str, *marks: Markup) -> Markup:
        """The image; a screen reader calls it by its title."""
        box = f"0 0 {self.width} {self.height}"
        return element("svg", *marks, viewBox=box, role="img", aria_label=title, class_="chart")

    def rule(self, level: float, label: str) -> Markup:
        """A horizontal line with a label at its left."""
        y = f"{self.y(level):.2f}"
        return join(
            element("line", x1=LEFT, x2=self.width - RIGHT, y1=y, y2=y, class_="rule"),
            element("text", label, x=LEFT - 6, y=y, dy="0.32em", text_anchor="end"),
        )

    def below(self, at: float, label: str) -> Markup:
        """A label under the horizontal axis."""
        anchor = "start" if at == 0 else "end" if at == 1 else "middle"
        y = self.height - BOTTOM + 18
        return element("text", label, x=f"{self.x(at):.2f}", y=y, text_anchor=anchor)


def histogram(title: str, counts: Sequence[int], colour: str) -> Markup:
    """Bars over [0, 1] in equal bins, under their title."""
    plane = Plane(320, 170)
    most, bins = max([*counts, 1]), len(counts)
    bars = [
        element(
            "rect",
            element("title", f"{n / bins:.2f} to {(n + 1) / bins:.2f}: {numbers.count(value)}"),
            x=f"{plane.x(n / bins) + 0.6:.2f}",
            y=f"{plane.y(value / most):.2f}",
            width=f"{plane.x(1 / bins) - plane.x(0) - 1.2:.2f}",
            height=f"{plane.y(0) - plane.y(value / most):.2f}",
            class_=colour,
        )
        for n, value in enumerate(counts)
    ]
    return plane.draw(
        title,
        element("text", title, x=LEFT, y=TOP - 10, class_="label"),
        plane.rule(0, "0"),
        plane.rule(0.5, ""),
        plane.rule(1, numbers.count(most)),
        *bars,
        *(plane.below(n / 4, f"{n / 4:.2f}") for n in range(5)),
    )


def curves(
    title: str, labels: Sequence[str], lines: Sequence[tuple[str, str, Sequence[float | None]]]
) -> Markup:
    """Lines over equally spaced points, from 0 to 100 %.

    Args:
        title: What is drawn, for screen readers.
        labels: Names of the points.
        lines: Name, colour class and values in [0, 1] of each line.
    """
    plane = Plane(440, 210)
    last = max(len(labels) - 1, 1)
    every = max(1, -(-len(labels) // 5))
    image = plane.draw(
        title,
        *(plane.rule(n / 4, f"{25 * n} %") for n in range(5)),
        *(_line(plane, name, colour, values, labels) for name, colour, values in lines),
        *(plane.below(n / last, label) for n, label in enumerate(labels) if n % every == 0),
    )
    return join(key([(name, colour) for name, colour, _ in lines]), image)


def _line(
    plane: Plane, name: str, colour: str, values: Sequence[float | None], labels: Sequence[str]
) -> Markup:
    last = max(len(labels) - 1, 1)
    points = [
        (
            f"{plane.x(n / last):.2f}",
            f"{plane.y(value):.2f}",
            f"{labels[n]}: {numbers.percent(value)}",
        )
        for n, value in enumerate(values)
        if value is not None
    ]
    return join(
        element(
            "polyline", points=" ".join(f"{x},{y}" for x, y, _ in points), class_=f"line {colour}"
        ),
        (
            element(
                "circle",
                element("title", f"{name}, {hint}"),
                cx=x,
                cy=y,
                r=4,
                class_=f"dot {colour}",
            )
            for x, y, hint in points
        ),
    )
