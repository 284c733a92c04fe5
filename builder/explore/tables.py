"""Tables of the explorer: sortable, paged, explained, and ready to be copied.

In: rows of a statement and columns that say how each is shown. Out: markup. Below every table are
the meaning of its columns and the same rows as Polars, DuckDB and CSV.
"""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from builder.explore.asked import SIZE, Asked
from builder.explore.render import macro
from builder.explore.source import Source
from builder.explore.statements import Row, Statement, literal_rows
from builder.reporting import numbers
from builder.reporting.parts import Cell, empty_note, integer_cell
from builder.reporting.render import Content, join_markup

Show = Callable[[Row], "Cell | Content"]


@dataclass(frozen=True)
class Column:
    """A column: heading, meaning, and how the cell of a row is shown.

    Args:
        label: The heading.
        show: From a row to a cell, or the name of a count or text in the row.
        hint: What the column means, and its unit.
        sort: The key of `Listing.orders` by which its heading sorts.
    """

    label: str
    show: "Show | str"
    hint: str = ""
    sort: str = ""

    def cell(self, row: Row) -> Cell:
        """The cell of a row."""
        shown = self.show(row) if callable(self.show) else row[self.show]
        if isinstance(shown, Cell):
            return shown
        if isinstance(shown, int) and not isinstance(shown, bool):
            return integer_cell(shown)
        return Cell(numbers.DASH if shown is None else shown)


def shown(
    source: Source,
    caption: str,
    columns: Sequence[Column],
    statement: Statement,
    *,
    empty: str,
) -> tuple[list[Row], Markup]:
    """All rows of a statement, and the table of them."""
    rows = source.rows(statement)
    return rows, table(source, caption, columns, rows, statement, empty=empty)


def table(
    source: Source,
    caption: str,
    columns: Sequence[Column],
    rows: Sequence[Row],
    statement: Statement | None,
    *,
    empty: str,
    raw: Sequence[Row] | None = None,
) -> Markup:
    """A table of rows that are at hand.

    Args:
        source: The collection.
        caption: What the rows are.
        columns: The first one is the heading of the row.
        rows: What is shown.
        statement: What gave the rows; None copies the rows themselves.
        empty: A sentence instead of a table without rows.
        raw: The rows of the statement, where `rows` are arranged in another way.
    """
    if not rows:
        return empty_note(empty)
    heads = [(column.label, column.hint, "", "") for column in columns]
    return _markup(source, caption, columns, heads, rows, statement, raw)


def listing(
    source: Source,
    asked: Asked,
    caption: str,
    columns: Sequence[Column],
    statement: Statement,
    orders: Mapping[str, str],
    *,
    empty: str,
    is_small: bool = False,
) -> Markup:
    """A page of the rows of a statement, in the order that the address asks for.

    Args:
        source: The collection.
        asked: `sort` is a key of `orders`, `page` a number.
        caption: What the rows are.
        columns: The first one is the heading of the row.
        statement: All rows.
        orders: For each key constant SQL that orders all rows; the first is the default.
        empty: A sentence instead of a table without rows.
        is_small: All rows fit into memory, so that they are counted in the same pass.
    """
    sort = asked.choice("sort", list(orders), next(iter(orders)))
    page = asked.number("page")
    bounds = (orders[sort], SIZE, (page - 1) * SIZE)
    slice_ = statement.ordered(*bounds)
    rows = source.rows(statement.counting(*bounds) if is_small else slice_)
    total = rows[0]["all_rows"] if rows and is_small else source.value(statement.counted())
    rows = [{name: v for name, v in row.items() if name != "all_rows"} for row in rows]
    if not rows:
        text = (
            empty
            if not total
            else f"There are only {numbers.format_count(-(-total // SIZE))} pages."
        )
        return empty_note(text)
    heads = [
        (
            c.label,
            c.hint,
            asked.address(sort=c.sort, page=None) if c.sort else "",
            "yes" if c.sort == sort else "",
        )
        for c in columns
    ]
    body = _markup(source, caption, columns, heads, rows, slice_)
    last = -(-total // SIZE)
    steps = [
        ("First", asked.address(page=None) if page > 1 else ""),
        ("Previous", asked.address(page=page - 1) if page > 1 else ""),
        ("Next", asked.address(page=page + 1) if page < last else ""),
        ("Last", asked.address(page=last) if page < last else ""),
    ]
    first = (page - 1) * SIZE + 1
    where = f"{first:,} to {first + len(rows) - 1:,} of {total:,}"
    return join_markup(
        body, macro("pages", where, steps) if last > 1 else macro("pages", where, [])
    )


def _markup(
    source: Source,
    caption: str,
    columns: Sequence[Column],
    heads: Sequence[tuple[str, str, str, str]],
    rows: Sequence[Row],
    statement: Statement | None,
    raw: Sequence[Row] | None = None,
) -> Markup:
    cells = [[column.cell(row) for column in columns] for row in rows]
    numeric = [any(row[n].value is not None for row in cells) for n in range(len(columns))]
    body = macro("table", caption, list(zip(heads, numeric, strict=True)), cells, numeric)
    hints = [(column.label, column.hint) for column in columns if column.hint]
    below = macro("below", caption, hints, copies(source, raw or rows, statement))
    return macro("block", join_markup(body, below))


def copies(
    source: Source, rows: Sequence[Row], statement: Statement | None
) -> list[tuple[str, str]]:
    """The rows of a table in three forms: code for Polars, SQL for DuckDB, and CSV."""
    script = literal_rows(rows) + ";" if statement is None else source.script(statement)
    first, _, last = script.rpartition(";\n")
    polars = "import duckdb\n\n"
    if first:
        polars += f"duckdb.execute({_quoted(first)})\n"
    polars += f"rows = duckdb.sql({_quoted(last.removesuffix(';'))}).pl()  # a Polars DataFrame"
    return [("Polars", polars), ("DuckDB", script), ("CSV", as_csv(rows))]


def _quoted(text: str) -> str:
    """A text as a Python literal over several lines."""
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""\n{escaped}\n"""'


def as_csv(rows: Sequence[Row]) -> str:
    """Rows as CSV with a header; lists are joined by `|`."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows[0])
    writer.writerows([[_plain(value) for value in row.values()] for row in rows])
    return out.getvalue()


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return "|".join(map(str, value)) if isinstance(value, list) else value


def copied(
    source: Source, caption: str, rows: Sequence[Row], statement: Statement | None
) -> Markup:
    """The three forms of rows that are shown in another way than as a table."""
    return macro("below", caption, [], copies(source, rows, statement))
