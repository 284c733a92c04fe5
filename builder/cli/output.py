"""Formats the output of commands: text tables, JSON tables, and one line per build step."""

import io
import json
import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

import typer

from builder.cli.options import OutputFormat
from builder.reporting.numbers import format_score

if TYPE_CHECKING:
    import polars as pl

    from builder.runtime.ledger import RowLedger
    from builder.runtime.runner import StepResult

MAX_LIST_CHARS = 80
"""Maximum length of a list in a text table, in characters."""
NUMBER = re.compile(r"([<>] )?[-+]?\d[\d,]*(\.\d+)?(e[-+]\d+)?( %)?|[-\N{EN DASH}]|unknown")
"""Pattern of a cell in a column of numbers: a number, a percentage, or a mark for no value."""


def format_table(rows: Sequence[Sequence[object]], header: Sequence[str]) -> str:
    """Format rows as an aligned text table; numbers are right-aligned, None becomes `-`."""
    cells = [[_format_cell(value) for value in row] for row in rows]
    columns = list(zip(header, *cells, strict=True))
    widths = [max(map(len, column)) for column in columns]
    numeric = [all(map(NUMBER.fullmatch, column[1:])) for column in columns]

    def format_line(values: Sequence[str]) -> str:
        padded = (
            value.rjust(width) if right else value.ljust(width)
            for value, width, right in zip(values, widths, numeric, strict=True)
        )
        return "  ".join(padded).rstrip()

    return "\n".join([format_line(header), *map(format_line, cells)])


def _format_cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else escape_control_characters(str(value))


def escape_control_characters(text: str, keep: str = "") -> str:
    r"""Escape control characters as `repr` does: ESC becomes `\x1b`.

    Args:
        text: Any text, such as a file name or a query.
        keep: Control characters that are not escaped.
    """
    return "".join(
        c if c in keep or not unicodedata.category(c).startswith("C") else ascii(c)[1:-1]
        for c in text
    )


def escape_unencodable_characters(stream: TextIO) -> None:
    """Configure a text stream to escape unencodable characters instead of raising an error."""
    if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
        stream.reconfigure(errors="backslashreplace")


def print_data_frames(output_format: OutputFormat, **frames: "pl.DataFrame") -> None:
    """Print named data frames as one JSON object, or as consecutive text tables."""
    if output_format is OutputFormat.JSON:
        rows = {name: frame.to_dicts() for name, frame in frames.items()}
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=1, default=str))
        return
    for name, frame in frames.items():
        typer.echo(name)
        print_rows(frame.to_dicts())
        typer.echo("")


def print_rows(rows: list[dict[str, Any]]) -> None:
    """Print rows (dicts with the same keys) as a text table, or `(none)` if there are no rows."""
    if not rows:
        typer.echo("(none)")
        return
    cells = [[_format_value(value) for value in row.values()] for row in rows]
    typer.echo(format_table(cells, list(rows[0])))


def _format_value(value: object) -> object:
    if isinstance(value, list):
        return ", ".join(map(str, value))[:MAX_LIST_CHARS]
    return format_score(value) if isinstance(value, float) else value


def join_reasons(result: "StepResult", limit: int = 3) -> str:
    """Join the first `limit` reasons why a step runs, and append how many more there are."""
    remaining = len(result.reasons) - limit
    return "; ".join(result.reasons[:limit]) + (f"; and {remaining} more" if remaining > 0 else "")


def format_row_counts(ledger: "RowLedger") -> str:
    """Format how many rows were read, how many were kept, and how many were rejected per reason."""
    reasons = ", ".join(f"{reason} {n:,}" for reason, n in sorted(ledger.rejected.items()) if n)
    counts = f"{ledger.rows_in:,} {ledger.unit} = {ledger.rows_out:,} kept"
    rejected = sum(ledger.rejected.values())
    return f"{counts} + {rejected:,} rejected ({reasons})" if rejected else counts


def print_step_result(result: "StepResult") -> None:
    """Print the row counts, duration, reasons and notes of a step of a build.

    Prints nothing for a step that was skipped.
    """
    if not result.has_run or result.ledger is None:
        return
    ledger = result.ledger
    counts = format_row_counts(ledger)
    if warning := _empty_step_warning(result):
        counts += f"; {warning}"
    cause = "" if result.reasons == ("not built yet",) else f"  [{join_reasons(result)}]"
    typer.echo(f"{result.step!s:<24} {counts}  {result.seconds:.1f} s{cause}")
    for note in ledger.notes:
        typer.echo(f"{'':<24} note: {escape_control_characters(note)}")


def print_step_warning(result: "StepResult") -> None:
    """Print a warning to standard error if a step kept no rows or read empty raw data."""
    if result.has_run and (warning := _empty_step_warning(result)):
        typer.echo(f"{result.step!s:<24} {warning}", err=True)


def _empty_step_warning(result: "StepResult") -> str | None:
    """Return a warning if a step of a build kept no rows or read empty raw data; otherwise None."""
    ledger = result.ledger
    if ledger is None or ledger.rows_out:
        return None
    if ledger.rows_in:
        return "NO ROWS WERE KEPT"
    return "THE INPUT WAS EMPTY" if result.step.stage.name in {"log", "crawl"} else None
