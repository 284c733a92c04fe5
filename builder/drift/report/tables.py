"""Sortable tables: plain HTML that a script makes sortable by its column headings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from builder.drift.report.markup import Content, Markup, element
from builder.reporting import numbers

LONG = 24
"""Characters from which a text may be broken anywhere."""


@dataclass(frozen=True)
class Cell:
    """A cell: what it says, and the number by which it sorts, where it is one."""

    text: Content
    value: float | None = None
    bar: float | None = None
    """A share in [0, 1] that is drawn behind the text."""


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


Row: TypeAlias = Sequence["str | Cell"]
"""Texts or cells; the first is the heading of the row."""


def table(caption: str, columns: Sequence[str], rows: Sequence[Row]) -> Markup:
    """A table that can be sorted by each column.

    Args:
        caption: What the rows are.
        columns: Headings.
        rows: Texts or cells; the first of a row is its heading.
    """
    first: Row = rows[0] if rows else ()
    numeric = [isinstance(cell, Cell) and cell.value is not None for cell in first]
    numeric += [False] * (len(columns) - len(first))
    head = [
        element(
            "th",
            element("button", name, type="button"),
            scope="col",
            class_="number" if numeric[n] else None,
        )
        for n, name in enumerate(columns)
    ]
    body = [element("tr", [_cell(cell, n) for n, cell in enumerate(row)]) for row in rows]
    whole = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", head)),
        element("tbody", body),
        class_="sortable",
    )
    return element("div", whole, class_="scroll", tabindex=0, role="region", aria_label=caption)


def _cell(cell: str | Cell, column: int) -> Markup:
    if isinstance(cell, str):
        cell = Cell(cell)
    classes = {
        "number": cell.value is not None,
        "bar-cell": cell.bar is not None,
        "long": isinstance(cell.text, str) and len(cell.text) > LONG,
    }
    width = None if cell.bar is None else 100 * min(max(cell.bar, 0.0), 1.0)
    return element(
        "td" if column else "th",
        cell.text,
        scope=None if column else "row",
        class_=" ".join(name for name, on in classes.items() if on) or None,
        data_value=None if cell.value is None else repr(cell.value),
        style=None if width is None else f"--bar:{width:.1f}%",
    )
