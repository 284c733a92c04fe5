"""HTML tables of the explorer, with sorting, paging, column descriptions and copyable code.

Below each table, users can open the column descriptions, and copy Polars code or DuckDB SQL that
returns the rows, or the rows as CSV.
"""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from builder.explore.page_request import PAGE_SIZE, PageRequest
from builder.explore.render import render_macro
from builder.explore.source import CollectionSource
from builder.explore.statements import Row, Statement, rows_to_values_sql
from builder.reporting import numbers
from builder.reporting.parts import Cell, empty_note, integer_cell
from builder.reporting.render import Content, join_markup

CellFunction = Callable[[Row], "Cell | Content"]


@dataclass(frozen=True)
class Column:
    """Column of an HTML table: heading, description, and source of the cell values.

    Args:
        label: Heading.
        value: Key of the value in a row, or a function that returns the cell of a row.
        hint: Description of the column and its unit.
        sort: Key in `orders` of `render_paged_table` by which a click on the heading sorts; empty
            if the column is not sortable.
    """

    label: str
    value: "CellFunction | str"
    hint: str = ""
    sort: str = ""

    def cell(self, row: Row) -> Cell:
        """Return the cell of a row in this column; a missing value becomes a dash."""
        content = self.value(row) if callable(self.value) else row[self.value]
        if isinstance(content, Cell):
            return content
        if isinstance(content, int) and not isinstance(content, bool):
            return integer_cell(content)
        return Cell(numbers.DASH if content is None else content)


def render_statement_table(
    source: CollectionSource,
    caption: str,
    columns: Sequence[Column],
    statement: Statement,
    *,
    empty_text: str,
) -> Markup:
    """Run a statement, and render all its rows as an HTML table.

    Args:
        source: Connection to the collection.
        caption: Caption of the table.
        columns: Columns; cells of the first column are row headers.
        statement: Statement to run.
        empty_text: Sentence to show if there are no rows.
    """
    rows = source.fetch_rows(statement)
    return render_table(source, caption, columns, rows, statement, empty_text=empty_text)


def render_table(
    source: CollectionSource,
    caption: str,
    columns: Sequence[Column],
    rows: Sequence[Row],
    statement: Statement | None,
    *,
    empty_text: str,
    statement_rows: Sequence[Row] | None = None,
) -> Markup:
    """Render rows as an HTML table.

    Args:
        source: Connection to the collection that the copyable SQL reads.
        caption: Caption of the table.
        columns: Columns; cells of the first column are row headers.
        rows: Rows to show.
        statement: Statement that returned the rows; None if users copy the rows as SQL literals.
        empty_text: Sentence to show if there are no rows.
        statement_rows: Rows returned by the statement, if `rows` arranges them differently.
    """
    if not rows:
        return empty_note(empty_text)
    headers = [(column.label, column.hint, "", "") for column in columns]
    return _render_table_with_headers(
        source, caption, columns, headers, rows, statement, statement_rows
    )


def render_paged_table(
    source: CollectionSource,
    request: PageRequest,
    caption: str,
    columns: Sequence[Column],
    statement: Statement,
    orders: Mapping[str, str],
    *,
    empty_text: str,
    is_small: bool = False,
) -> Markup:
    """Render one page of a statement's rows, sorted as requested, with links to other pages.

    Args:
        source: Connection to the collection.
        request: Request with the parameters `sort` (a key of `orders`) and `page` (a number).
        caption: Caption of the table.
        columns: Columns; cells of the first column are row headers.
        statement: Statement that returns all rows.
        orders: Constant SQL for ORDER BY, by sort key; the first key is the default.
        empty_text: Sentence to show if there are no rows.
        is_small: Whether there are few rows, so that one statement can select and count them.
    """
    sort = request.choice_parameter("sort", list(orders), next(iter(orders)))
    page = request.integer_parameter("page")
    bounds = (orders[sort], PAGE_SIZE, (page - 1) * PAGE_SIZE)
    slice_ = statement.slice_rows(*bounds)
    rows = source.fetch_rows(statement.slice_rows_with_total(*bounds) if is_small else slice_)
    total = (
        rows[0]["all_rows"]
        if rows and is_small
        else source.fetch_scalar(statement.to_count_statement())
    )
    rows = [{name: v for name, v in row.items() if name != "all_rows"} for row in rows]
    if not rows:
        text = (
            empty_text
            if not total
            else f"There are only {numbers.format_count(-(-total // PAGE_SIZE))} pages."
        )
        return empty_note(text)
    headers = [
        (
            c.label,
            c.hint,
            request.url_with_parameters(sort=c.sort, page=None) if c.sort else "",
            "yes" if c.sort == sort else "",
        )
        for c in columns
    ]
    body = _render_table_with_headers(source, caption, columns, headers, rows, slice_)
    last = -(-total // PAGE_SIZE)
    steps = [
        ("First", request.url_with_parameters(page=None) if page > 1 else ""),
        ("Previous", request.url_with_parameters(page=page - 1) if page > 1 else ""),
        ("Next", request.url_with_parameters(page=page + 1) if page < last else ""),
        ("Last", request.url_with_parameters(page=last) if page < last else ""),
    ]
    first = (page - 1) * PAGE_SIZE + 1
    position = f"{first:,} to {first + len(rows) - 1:,} of {total:,}"
    return join_markup(body, render_macro("pages", position, steps if last > 1 else []))


def _render_table_with_headers(
    source: CollectionSource,
    caption: str,
    columns: Sequence[Column],
    headers: Sequence[tuple[str, str, str, str]],
    rows: Sequence[Row],
    statement: Statement | None,
    statement_rows: Sequence[Row] | None = None,
) -> Markup:
    cells = [[column.cell(row) for column in columns] for row in rows]
    numeric = [any(row[n].value is not None for row in cells) for n in range(len(columns))]
    body = render_macro("table", caption, list(zip(headers, numeric, strict=True)), cells, numeric)
    hints = [(column.label, column.hint) for column in columns if column.hint]
    below = render_macro(
        "below", caption, hints, code_snippets(source, statement_rows or rows, statement)
    )
    return render_macro("block", join_markup(body, below))


def code_snippets(
    source: CollectionSource, rows: Sequence[Row], statement: Statement | None
) -> list[tuple[str, str]]:
    """Return (name, text) pairs: Polars code and DuckDB SQL that return rows, and the rows as CSV.

    Args:
        source: Connection to the collection that the code reads.
        rows: Rows returned by the statement.
        statement: Statement that returned the rows; None to write the rows as SQL literals.
    """
    script = rows_to_values_sql(rows) + ";" if statement is None else source.sql_script(statement)
    first, _, last = script.rpartition(";\n")
    polars = "import duckdb\n\n"
    if first:
        polars += f"duckdb.execute({_to_triple_quoted_string(first)})\n"
    query = _to_triple_quoted_string(last.removesuffix(";"))
    polars += f"rows = duckdb.sql({query}).pl()  # a Polars DataFrame"
    return [("Polars", polars), ("DuckDB", script), ("CSV", to_csv(rows))]


def _to_triple_quoted_string(text: str) -> str:
    """Return a text as a triple-quoted Python string literal."""
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""\n{escaped}\n"""'


def to_csv(rows: Sequence[Row]) -> str:
    """Format rows as CSV with a header; list elements are joined with `|`."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows[0])
    writer.writerows([[_format_csv_value(value) for value in row.values()] for row in rows])
    return out.getvalue()


def _format_csv_value(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return "|".join(map(str, value)) if isinstance(value, list) else value


def render_copyable_code(
    source: CollectionSource, caption: str, rows: Sequence[Row], statement: Statement | None
) -> Markup:
    """Render copyable Polars code, DuckDB SQL and CSV for rows that are not shown in a table.

    The code and the SQL fetch the rows; the CSV contains the rows.
    """
    return render_macro("below", caption, [], code_snippets(source, rows, statement))
