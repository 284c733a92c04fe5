"""Commands for the first steps: `new`, `doctor`."""

import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from builder.cli.json_output import print_json
from builder.cli.options import Format, OutputFormat
from builder.cli.output import format_table


def new(
    folder: Annotated[Path, typer.Argument(help="Output folder; created if missing.")],
    name: Annotated[
        str | None,
        typer.Option(help="Name of the collection. If omitted, you are prompted for it."),
    ] = None,
    snapshot: Annotated[
        list[str] | None,
        typer.Option(
            help="Month of a snapshot, such as 2022-06; repeatable or comma-separated. If omitted, "
            "you are prompted for it."
        ),
    ] = None,
    translate: Annotated[
        bool,
        typer.Option(
            "--translate/--no-translate",
            help="Translate queries and documents to English with the bundled model.",
        ),
    ] = True,
) -> None:
    """Create a commented collection definition to start from.

    Example: longeval new mine --name mine --snapshot 2022-06 --snapshot 2022-07
    """
    from builder.commands.new import create_definition, default_collection_name

    default = default_collection_name(folder)
    if sys.stdin.isatty():
        name = name or typer.prompt("Name of the collection", default=default)
        months = snapshot or typer.prompt("Months, such as 2022-06 2022-07").split()
    else:
        months = snapshot or []
    files = create_definition(folder, name or default, tuple(months), translate=translate)
    for path in files:
        typer.echo(f"wrote {path}")
    typer.echo(
        f"put query logs in {folder / 'logs'} and crawls in {folder / 'crawls'}, then build the "
        "collection:"
    )
    typer.echo(f"  longeval build {files[0]}")


def doctor(
    folder: Annotated[
        Path, typer.Argument(help="Folder in which collections will be built.")
    ] = Path(),
    format: Format = OutputFormat.TEXT,  # noqa: A002 - name of the option
) -> None:
    """Check the installation: Python, packages, memory, disk, translation model and extras.

    Exits with code 1 if a check fails.

    Example: longeval doctor --format json
    """
    from builder.commands.doctor import doctor as diagnose

    diagnoses = diagnose(folder)
    if format is OutputFormat.JSON:
        print_json([asdict(d) for d in diagnoses])
    else:
        rows = [(d.status, d.name, d.detail) for d in diagnoses]
        typer.echo(format_table(rows, ("", "check", "detail")))
    if any(d.status == "bad" for d in diagnoses):
        raise typer.Exit(1)


COMMANDS: tuple[Callable[..., Any], ...] = (new, doctor)
