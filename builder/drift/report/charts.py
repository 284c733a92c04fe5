"""Charts in HTML: readable without a script, by a screen reader, on paper.

A heat map is a table, bars are a list; only lines and histograms are drawn (see
`builder.drift.report.drawings`). Colours are classes, so that light and dark share one markup.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from builder.drift.report.markup import Content, Markup, element, join
from builder.reporting import numbers

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


MOST_BESIDE = 6
"""Columns of a map that leaves room for another figure beside it."""


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
        class_="heat wide" if len(columns) > MOST_BESIDE else "heat",
    )
    return element("div", table, class_="scroll", tabindex=0, role="region", aria_label=caption)


def _cell(shade: float | None, text: str) -> Markup:
    if shade is None:
        return element("td", text, class_="empty")
    strong = "strong" if shade > DARK else None
    return element("td", text, class_=strong, style=f"--shade:{100 * shade:.1f}%")
