"""Verbs about what was published: `validate`, `schema`."""

import json
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from builder.cli.output import printable
from builder.cli.output import table as text_table
from builder.cli.shapes import say_json
from builder.errors import UsageError, suggest


class ReportFormat(StrEnum):
    """How findings are printed."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"


class PlainFormat(StrEnum):
    """Text for people, JSON for machines."""

    TEXT = "text"
    JSON = "json"


def validate(
    collection: Annotated[Path, typer.Argument(help="A version folder, or one above it.")],
    format: Annotated[  # noqa: A002 - the option's name
        ReportFormat, typer.Option(help="Output format.")
    ] = ReportFormat.TEXT,
    select: Annotated[
        list[str] | None, typer.Option(help="Only these checks: `LB103`, or `LB2` for a group.")
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="Leave these checks out.")] = None,
    severity: Annotated[
        list[str] | None, typer.Option(help="Another severity: `LB205=warning`.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Check every version below the folder.")
    ] = False,
) -> None:
    """Check a collection: exit 0 without errors, 1 with errors.

    Example: longeval validate demo/collection --ignore LB212 --format github
    """
    from builder.collection import validate as checks

    validate_paths = checks.validate_all if every else checks.validate
    findings = validate_paths(
        collection,
        select=tuple(select or ()),
        ignore=tuple(ignore or ()),
        severities=checks.parse_severities(tuple(severity or ())),
    )
    if format is ReportFormat.JSON:
        typer.echo(checks.format_json(findings))
    else:
        render = checks.format_github if format is ReportFormat.GITHUB else checks.format_text
        for finding in findings:
            typer.echo(printable(render(finding)))
        if format is ReportFormat.TEXT:
            typer.echo(f"{len(findings)} findings" if findings else "no findings")
    if any(finding.severity == "error" for finding in findings):
        raise typer.Exit(1)


def schema(
    table: Annotated[str | None, typer.Argument(help="One table; default: all.")] = None,
    format: Annotated[  # noqa: A002 - the option's name
        PlainFormat, typer.Option(help="Output format.")
    ] = PlainFormat.TEXT,
) -> None:
    """Print the contract of a table, of all tables, or of what `validate` prints (`findings`).

    Example: longeval schema qrels
    """
    import schemas
    from schemas.describe import describe

    if table == "findings":
        from builder.collection.validate import FINDINGS_SCHEMA

        typer.echo(json.dumps(FINDINGS_SCHEMA, indent=1))
        return
    if table is not None and table not in schemas.TABLES:
        known = (*schemas.TABLES, "findings")
        raise UsageError(f"no table {table!r}; {suggest(table, known)}")
    names = [table] if table is not None else list(schemas.TABLES)
    described = {name: describe(schemas.TABLES[name]) for name in names}
    if format is PlainFormat.JSON:
        say_json(described)
        return
    for name, contract in described.items():
        typer.echo(f"{name}: {contract['description']}")
        rows = [
            (c["name"], c["type"] + ("?" if c["nullable"] else ""), c["rules"], c["description"])
            for c in contract["columns"]
        ]
        typer.echo(text_table(rows, ("column", "type", "rules", "meaning")))
        for rule in contract["rules"]:
            typer.echo(f"rule {rule['name']}: {rule['description']}")
        typer.echo(f"order: {', '.join(contract['order'])}\n")


VERBS: tuple[Callable[..., Any], ...] = (validate, schema)
