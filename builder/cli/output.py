"""How verbs print: aligned tables, one line a stage, nothing that a pipe would choke on."""

import io
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

import typer

if TYPE_CHECKING:
    from builder.runtime.runner import Step


def table(rows: Sequence[Sequence[object]], header: Sequence[str]) -> str:
    """An aligned text table; numbers to the right, absent values as a dash."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    numeric = [all(_is_number(row[i]) for row in rows) for i in range(len(header))]

    def line(values: Sequence[str]) -> str:
        padded = (
            value.rjust(width) if right else value.ljust(width)
            for value, width, right in zip(values, widths, numeric, strict=True)
        )
        return "  ".join(padded).rstrip()

    return "\n".join([line(header), *map(line, cells)])


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else printable(str(value))


def printable(text: str, also: str = "") -> str:
    """A text without what a terminal takes for commands: control characters by their numbers.

    Args:
        text: Any text, such as a file name or a query.
        also: Control characters that are left as they are.
    """
    return "".join(
        c if c in also or not unicodedata.category(c).startswith("C") else ascii(c)[1:-1]
        for c in text
    )


def show_all(stream: TextIO) -> None:
    """Let a stream show characters that its encoding lacks by their numbers, not end at them."""
    if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
        stream.reconfigure(errors="backslashreplace")


def _is_number(value: object) -> bool:
    return value is None or isinstance(value, int | float)


def because(step: "Step", most: int = 3) -> str:
    """The first reasons for which a unit runs, and how many more there are."""
    more = len(step.reasons) - most
    return "; ".join(step.reasons[:most]) + (f"; and {more} more" if more > 0 else "")


def say_step(step: "Step") -> None:
    """One line for a unit that ran: its account and why it ran; then its notes, one a line.

    Skipped units are silent.
    """
    if not step.ran or step.ledger is None:
        return
    ledger = step.ledger
    dropped = ", ".join(f"{reason} {n:,}" for reason, n in sorted(ledger.rejected.items()) if n)
    account = f"{ledger.rows_in:,} {ledger.unit} = {ledger.rows_out:,} kept"
    rejected = sum(ledger.rejected.values())
    if rejected:
        account += f" + {rejected:,} rejected ({dropped})"
    if alarm := _alarm(step):
        account += f"; {alarm}"
    reason = "" if step.reasons == ("not built yet",) else f"  [{because(step)}]"
    typer.echo(f"{step.unit!s:<24} {account}  {step.seconds:.1f} s{reason}")
    for note in ledger.notes:
        typer.echo(f"{'':<24} note: {printable(note)}")


def warn_step(step: "Step") -> None:
    """That a unit which ran kept nothing, on the error stream: `--quiet` leaves this."""
    if step.ran and (alarm := _alarm(step)):
        typer.echo(f"{step.unit!s:<24} {alarm}", err=True)


def _alarm(step: "Step") -> str | None:
    """What must not go unnoticed about a unit."""
    ledger = step.ledger
    if ledger is None or ledger.rows_out:
        return None
    if ledger.rows_in:
        return "NO ROW WAS KEPT"
    return "THERE WAS NOTHING TO READ" if step.unit.stage.name in {"log", "crawl"} else None
