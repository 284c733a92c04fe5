"""Verbs to begin with: `new`, `doctor`."""

import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from builder.cli.options import Format, PlainFormat
from builder.cli.output import table
from builder.cli.shapes import say_json


def new(
    folder: Annotated[Path, typer.Argument(help="Where to; made if need be.")],
    name: Annotated[str | None, typer.Option(help="Of the collection; default: asked.")] = None,
    snapshot: Annotated[
        list[str] | None, typer.Option(help="A month such as 2022-06; repeat it. Default: asked.")
    ] = None,
    translate: Annotated[
        bool, typer.Option("--translate/--no-translate", help="With the embedded model.")
    ] = True,
) -> None:
    """Write a commented definition to begin with.

    Example: longeval new mine --name mine --snapshot 2022-06 --snapshot 2022-07
    """
    from builder.commands.new import default_collection_name
    from builder.commands.new import new as write

    default = default_collection_name(folder)
    if sys.stdin.isatty():
        name = name or typer.prompt("Name of the collection", default=default)
        given = snapshot or typer.prompt("Months, such as 2022-06 2022-07").split()
    else:
        given = snapshot or []
    files = write(folder, name or default, tuple(given), translate=translate)
    for path in files:
        typer.echo(f"wrote {path}")
    typer.echo(f"put logs in {folder / 'logs'}, crawls in {folder / 'crawls'}, then build it:")
    typer.echo(f"  longeval build {files[0]}")


def doctor(
    folder: Annotated[Path, typer.Argument(help="Where collections are to be built.")] = Path(),
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Check that everything is here: Python, packages, memory, disk, model, extras.

    Example: longeval doctor --format json
    """
    from builder.commands.doctor import doctor as examine

    found = examine(folder)
    if format is PlainFormat.JSON:
        say_json([asdict(d) for d in found])
    else:
        typer.echo(table([(d.status, d.name, d.detail) for d in found], ("", "what", "found")))
    if any(d.status == "bad" for d in found):
        raise typer.Exit(1)


VERBS: tuple[Callable[..., Any], ...] = (new, doctor)
