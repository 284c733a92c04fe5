"""Parts of a report: sections, tables, heat maps, bars, sets; readable without a script.

A heat map is a table and bars are a list, for screen readers and paper; what must be drawn is in
`builder.reporting.charts`. Colours are classes, so that light and dark share one markup.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from markupsafe import Markup

from builder.reporting import numbers
from builder.reporting.render import Content, join, part

LONG = 24
"""Characters from which a text may be broken anywhere."""

MOST_BESIDE = 6
"""Columns of a map that leaves room for another figure beside it."""

MOST_TEXTS = 12
"""Columns of a map whose cells have room for texts; more are shades, with a hint."""


@dataclass(frozen=True)
class Cell:
    """A cell: what it says, the number by which it sorts, and a share drawn behind the text."""

    text: Content
    value: float | None = None
    bar: float | None = None

    @property
    def content(self) -> Markup:
        """The text as markup."""
        return join(self.text)

    @property
    def classes(self) -> str:
        """Classes of the cell."""
        text = self.text
        on = {
            "number": self.value is not None,
            "bar-cell": self.bar is not None,
            "long": isinstance(text, str) and not hasattr(text, "__html__") and len(text) > LONG,
        }
        return " ".join(name for name, is_on in on.items() if is_on)

    @property
    def width(self) -> str | None:
        """Width of the bar in per cent."""
        return None if self.bar is None else f"{100 * min(max(self.bar, 0.0), 1.0):.1f}"


Row: TypeAlias = Sequence["str | Cell"]
"""Texts or cells; the first is the heading of the row."""


@dataclass(frozen=True)
class Segment:
    """A segment of a stacked bar: what it is, how much, and its colour class."""

    label: str
    value: int
    colour: str


def integer(value: int | None) -> Cell:
    """A count."""
    return Cell(numbers.count(value), _sortable(value))


def decimal(value: float | None, digits: int = 3) -> Cell:
    """A number with fixed decimals."""
    return Cell(numbers.decimal(value, digits), _sortable(value))


def share(value: float | None, most: float = 1.0) -> Cell:
    """A share, with a bar that is full at `most`."""
    bar = None if value is None else value / most if most else 0.0
    return Cell(numbers.percent(value), _sortable(value), bar)


def _sortable(value: float | None) -> float:
    return -1e300 if value is None else value


def section(identifier: str, heading: str, lead: str | None, *content: Content) -> Markup:
    """A section with its heading and one sentence that says what it shows."""
    return part("section", identifier, heading, lead, join(content))


def grid(*figures: Content) -> Markup:
    """Figures side by side where there is room."""
    return part("block", "grid", join(figures))


def twins(*figures: Content) -> Markup:
    """Two small figures of one thing, side by side."""
    return part("block", "twins", join(figures))


def figure(title: str, body: Content, note: str | None = None) -> Markup:
    """A figure with its caption above and a note below."""
    return part("figure", title, join(body), note)


def nothing(text: str) -> Markup:
    """A sentence instead of a figure without data."""
    return part("paragraph", text, "nothing")


def paragraph(text: Content, kind: str) -> Markup:
    """A paragraph of a class."""
    return part("paragraph", join(text), kind)


def subheading(text: str) -> Markup:
    """A heading within a section."""
    return part("subheading", text)


def folded(summary: str, *content: Content, is_open: bool = False) -> Markup:
    """Content behind its summary."""
    return part("folded", summary, join(content), is_open)


def items(texts: Sequence[Content], kind: str = "") -> Markup:
    """A list of a class."""
    return part("items", [join(text) for text in texts], kind)


def span(text: str, kind: str) -> Markup:
    """A text of a class."""
    return part("span", text, kind)


def warning(heading: str, lead: str, texts: Sequence[Content]) -> Markup:
    """A warning with its reasons."""
    return part("warning", heading, lead, [join(text) for text in texts])


def key(entries: Sequence[tuple[str, str]]) -> Markup:
    """A legend: label and colour class of each entry."""
    return part("key", entries)


def table(caption: str, columns: Sequence[str], rows: Sequence[Row]) -> Markup:
    """A table that can be sorted by each column.

    Args:
        caption: What the rows are.
        columns: Headings.
        rows: Texts or cells; the first of a row is its heading.
    """
    cells = [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in rows]
    numeric = [cell.value is not None for cell in cells[0]] if cells else []
    numeric += [False] * (len(columns) - len(numeric))
    return part("table", caption, list(zip(columns, numeric, strict=True)), cells)


def html_table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str | int]]) -> str:
    """A plain table, as notebooks show it; integers have their thousands apart."""
    cells = [[f"{c:,}" if isinstance(c, int) else c for c in row] for row in rows]
    return part("plain_table", caption, header, cells)


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
    lines = [
        (label, list(zip(shades[place], texts[place], strict=True)))
        for place, label in enumerate(rows)
    ]
    kind = (
        "tiny wide" if len(columns) > MOST_TEXTS else "wide" if len(columns) > MOST_BESIDE else ""
    )
    return part("heat_map", caption, columns, lines, kind)


def stacked_bars(rows: Sequence[tuple[str, Sequence[Segment]]]) -> Markup:
    """One bar per row, all to one scale; segments of 0 are left out of the bar."""
    longest = max((sum(s.value for s in segments) for _, segments in rows), default=0)
    shown = dict.fromkeys((s.label, s.colour) for _, row in rows for s in row if s.value)
    lines = [
        (
            label,
            [
                (s.colour, f"{100 * s.value / longest:.3f}", f"{s.label}: {numbers.count(s.value)}")
                for s in segments
                if s.value
            ],
            ", ".join(f"{numbers.count(s.value)} {s.label}" for s in segments if s.value)
            or "nothing",
        )
        for label, segments in rows
    ]
    return join(key(list(shown)), part("stacked_bars", lines))


def intersections(
    caption: str, names: Sequence[str], rows: Sequence[tuple[Sequence[str] | None, int]]
) -> Markup:
    """Exclusive intersections of sets, as counts and a row of dots (an UpSet plot).

    Args:
        caption: What is counted.
        names: Names of the sets.
        rows: The sets of an intersection and its size; None: all other intersections.
    """
    most = max((size for _, size in rows), default=1) or 1
    lines = [
        (
            None if held is None else [name in held for name in names],
            numbers.count(size),
            f"{100 * size / most:.1f}",
        )
        for held, size in rows
    ]
    kind = "tall wide" if len(names) > MOST_BESIDE else ""
    return part("intersections", caption, names, lines, kind)
