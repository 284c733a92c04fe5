"""Renders the elements of reports: sections, tables, heat maps, stacked bars, UpSet plots.

All elements are readable without JavaScript, by screen readers and in print: a heat map is a table,
and bars are a list. Colors are CSS classes, so that light and dark mode share the same markup. SVG
charts are in `builder.reporting.charts`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from markupsafe import Markup

from builder.reporting import numbers
from builder.reporting.render import Content, join_markup, render_macro

MAX_UNBROKEN_LENGTH = 24
"""Cell texts of up to this many characters are wrapped only between words."""

MAX_HALF_WIDTH_COLUMNS = 6
"""Maximum number of columns of a table that fits next to another figure at half width."""

MAX_TEXT_COLUMNS = 12
"""Maximum number of columns of a heat map that shows its cell texts; wider maps use tooltips."""


@dataclass(frozen=True)
class Cell:
    """Table cell: its text, an optional sort value, and an optional share drawn as a bar."""

    text: Content
    value: float | None = None
    bar: float | None = None

    @property
    def markup(self) -> Markup:
        """Text of the cell, escaped for HTML."""
        return join_markup(self.text)

    @property
    def css_classes(self) -> str:
        """CSS classes of the cell, separated by spaces."""
        text = self.text
        on = {
            "number": self.value is not None,
            "bar-cell": self.bar is not None,
            "long": isinstance(text, str)
            and not hasattr(text, "__html__")
            and len(text) > MAX_UNBROKEN_LENGTH,
        }
        return " ".join(name for name, is_on in on.items() if is_on)

    @property
    def bar_width(self) -> str | None:
        """Width of the bar in percent; None if the cell has no bar."""
        return None if self.bar is None else f"{100 * min(max(self.bar, 0.0), 1.0):.1f}"


Row: TypeAlias = Sequence["str | Cell"]
"""Table row of texts or cells, the first of which is the row heading."""


@dataclass(frozen=True)
class BarSegment:
    """Segment of a stacked bar: label, value and color class."""

    label: str
    value: int
    color: str


def integer_cell(value: int | None) -> Cell:
    """Return a sortable cell with an integer."""
    return Cell(numbers.format_count(value), _sort_key(value))


def decimal_cell(value: float | None, digits: int = 3) -> Cell:
    """Return a sortable cell with a fixed number of decimals."""
    return Cell(numbers.format_decimal(value, digits), _sort_key(value))


def percentage_cell(value: float | None, maximum: float = 1.0) -> Cell:
    """Return a sortable cell with a share as a percentage, and a bar that is full at `maximum`."""
    bar = None if value is None else value / maximum if maximum else 0.0
    return Cell(numbers.format_percent(value), _sort_key(value), bar)


def _sort_key(value: float | None) -> float:
    return -1e300 if value is None else value


def section(identifier: str, heading: str, lead: str | None, *content: Content) -> Markup:
    """Render a section with a heading and an optional lead sentence."""
    return render_macro("section", identifier, heading, lead, join_markup(content))


def grid(*figures: Content) -> Markup:
    """Render figures in a grid, with several per row if the window is wide enough."""
    return render_macro("block", "grid", join_markup(figures))


def grid_cell(*content: Content) -> Markup:
    """Render a chart and its legend as one cell of a grid."""
    return render_macro("block", "cell", join_markup(content))


def side_by_side_figures(*figures: Content) -> Markup:
    """Render two small figures side by side."""
    return render_macro("block", "twins", join_markup(figures))


def figure(title: str, body: Content, note: str | None = None) -> Markup:
    """Render a figure with a caption above and an optional note below."""
    return render_macro("figure", title, join_markup(body), note)


def empty_note(text: str) -> Markup:
    """Render a sentence that replaces a figure without data."""
    return render_macro("paragraph", text, "nothing")


def paragraph(text: Content, css_class: str) -> Markup:
    """Render a paragraph with a CSS class."""
    return render_macro("paragraph", join_markup(text), css_class)


def subheading(text: str) -> Markup:
    """Render a heading within a section."""
    return render_macro("subheading", text)


def collapsible(summary: str, *content: Content, is_open: bool = False) -> Markup:
    """Render content that readers can collapse or expand below a summary line."""
    return render_macro("folded", summary, join_markup(content), is_open)


def bullet_list(texts: Sequence[Content], css_class: str = "") -> Markup:
    """Render a bullet list, optionally with a CSS class."""
    return render_macro("items", [join_markup(text) for text in texts], css_class)


def span(text: str, css_class: str) -> Markup:
    """Render inline text with a CSS class."""
    return render_macro("span", text, css_class)


def warning(heading: str, lead: str, reasons: Sequence[Content]) -> Markup:
    """Render a warning box with a heading, a lead sentence and a list of reasons."""
    return render_macro("warning", heading, lead, [join_markup(reason) for reason in reasons])


def legend(entries: Sequence[tuple[str, str]]) -> Markup:
    """Render a legend from pairs of label and color class."""
    return render_macro("key", entries)


def table(
    caption: str, columns: Sequence[str], rows: Sequence[Row], *, stack_when_narrow: bool = False
) -> Markup:
    """Render a table that readers can sort by any column.

    Args:
        caption: Table caption.
        columns: Column headings.
        rows: Texts or cells of each row; the first is the row heading.
        stack_when_narrow: Whether to stack the cells of a row in a narrow window, each with its
            column heading. Use this for cells with whole sentences, in at most six columns.
    """
    cells = [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in rows]
    numeric = [cell.value is not None for cell in cells[0]] if cells else []
    numeric += [False] * (len(columns) - len(numeric))
    return render_macro(
        "table", caption, list(zip(columns, numeric, strict=True)), cells, stack_when_narrow
    )


def html_table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str | int]]) -> str:
    """Render a plain HTML table for notebooks; integers get thousands separators."""
    cells = [[f"{c:,}" if isinstance(c, int) else c for c in row] for row in rows]
    return render_macro("plain_table", caption, header, cells)


def heat_map(
    caption: str,
    rows: Sequence[str],
    columns: Sequence[str],
    shades: Sequence[Sequence[float | None]],
    texts: Sequence[Sequence[str]],
) -> Markup:
    """Render a heat map: a table whose cells are shaded.

    Args:
        caption: Table caption.
        rows: Row headings.
        columns: Column headings.
        shades: Shade of each cell in [0, 1]; None for an empty cell.
        texts: Text of each cell.
    """
    lines = [
        (label, list(zip(shades[place], texts[place], strict=True)))
        for place, label in enumerate(rows)
    ]
    kind = (
        "tiny wide"
        if len(columns) > MAX_TEXT_COLUMNS
        else "wide"
        if len(columns) > MAX_HALF_WIDTH_COLUMNS
        else ""
    )
    return render_macro("heat_map", caption, columns, lines, kind)


def stacked_bars(rows: Sequence[tuple[str, Sequence[BarSegment]]]) -> Markup:
    """Render one stacked bar per row on a common scale; empty segments are omitted."""
    longest = max((sum(s.value for s in segments) for _, segments in rows), default=0)
    shown = dict.fromkeys((s.label, s.color) for _, row in rows for s in row if s.value)
    lines = [
        (
            label,
            [
                (
                    s.color,
                    f"{100 * s.value / longest:.3f}",
                    f"{s.label}: {numbers.format_count(s.value)}",
                )
                for s in segments
                if s.value
            ],
            ", ".join(f"{numbers.format_count(s.value)} {s.label}" for s in segments if s.value)
            or "nothing",
        )
        for label, segments in rows
    ]
    return join_markup(legend(list(shown)), render_macro("stacked_bars", lines))


def upset_plot(
    caption: str, names: Sequence[str], rows: Sequence[tuple[Sequence[str] | None, int]]
) -> Markup:
    """Render an UpSet plot of the sizes of exclusive intersections of sets.

    Each row has a dot for every set of the intersection, and a bar for its size.

    Args:
        caption: Caption of the plot.
        names: Names of the sets.
        rows: Names of the sets and size of each intersection. In a row that sums up all other
            intersections, None replaces the names.
    """
    most = max((size for _, size in rows), default=1) or 1
    lines = [
        (
            None if held is None else [name in held for name in names],
            numbers.format_count(size),
            f"{100 * size / most:.1f}",
        )
        for held, size in rows
    ]
    kind = "tall wide" if len(names) > MAX_HALF_WIDTH_COLUMNS else ""
    return render_macro("intersections", caption, names, lines, kind)
