"""Commands for published collections and their tables: `validate`, `schema`."""

import json
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

import typer

from builder.cli.json_output import print_json
from builder.cli.options import CollectionFolder, Format, OutputFormat
from builder.cli.output import escape_control_characters, format_table
from builder.errors import UsageError, suggest


class FindingFormat(StrEnum):
    """Output format of `longeval validate`."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"


def validate(
    collection: CollectionFolder,
    format: Annotated[  # noqa: A002 - name of the option
        FindingFormat,
        typer.Option(help="Output format; `github` writes annotations for GitHub Actions."),
    ] = FindingFormat.TEXT,
    select: Annotated[
        list[str] | None,
        typer.Option(
            help="Run only this check, such as LB103, or this group of checks, such as LB2; "
            "repeatable or comma-separated."
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            help="Skip this check or this group of checks; repeatable or comma-separated."
        ),
    ] = None,
    severity: Annotated[
        list[str] | None,
        typer.Option(
            help="New severity of a check, such as LB205=warning; repeatable or comma-separated."
        ),
    ] = None,
    all_versions: Annotated[
        bool, typer.Option("--all", help="Check every version in the collection folder.")
    ] = False,
) -> None:
    """Check that a published collection is valid.

    Exits with code 1 if there are errors. Warnings do not change the exit code.

    Example: longeval validate demo/collection --ignore LB212 --format github
    """
    from builder.collection import findings as formats
    from builder.collection import validate as checks

    run_checks = checks.validate_all_versions if all_versions else checks.validate
    findings = run_checks(
        collection,
        select=tuple(select or ()),
        ignore=tuple(ignore or ()),
        severities=checks.parse_severities(tuple(severity or ())),
    )
    versions = checks.find_versions_to_validate(collection, all_versions=all_versions)
    snapshots = {str(version): checks.read_snapshot_names(version) for version in versions}
    if format is FindingFormat.JSON:
        typer.echo(formats.format_json(findings, snapshots))
    else:
        render = formats.format_github if format is FindingFormat.GITHUB else formats.format_text
        for finding in findings:
            typer.echo(escape_control_characters(render(finding)))
        summary = escape_control_characters(formats.format_summary(findings, snapshots))
        typer.echo(summary, err=format is FindingFormat.GITHUB)
    if any(finding.severity == "error" for finding in findings):
        raise typer.Exit(1)


def schema(
    table: Annotated[
        str | None,
        typer.Argument(help="Table name, or `findings`; default: all tables."),
    ] = None,
    format: Format = OutputFormat.TEXT,  # noqa: A002 - name of the option
) -> None:
    """Print the schema of one table, of all tables, or of the JSON output of `longeval validate`.

    Example: longeval schema qrels
    """
    import schemas
    from schemas.describe import describe_schema

    if table == "findings":
        from builder.collection.findings import FINDINGS_SCHEMA

        typer.echo(json.dumps(FINDINGS_SCHEMA, indent=1))
        return
    if table is not None and table not in schemas.TABLES:
        known = (*schemas.TABLES, "findings")
        raise UsageError(f"no table {table!r}; {suggest(table, known)}")
    names = [table] if table is not None else list(schemas.TABLES)
    descriptions = {name: describe_schema(schemas.TABLES[name]) for name in names}
    if format is OutputFormat.JSON:
        print_json(descriptions)
        return
    for name, description in descriptions.items():
        _print_schema(name, description)


def _print_schema(name: str, description: dict[str, Any]) -> None:
    """Print the columns, rules and sort order of a table."""
    typer.echo(f"{name}: {description['description']}")
    rows = [
        (c["name"], c["type"] + ("?" if c["nullable"] else ""), c["rules"], c["description"])
        for c in description["columns"]
    ]
    typer.echo(format_table(rows, ("column", "type", "rules", "meaning")))
    for rule in description["rules"]:
        typer.echo(f"rule {rule['name']}: {rule['description']}")
    typer.echo(f"order: {', '.join(description['order'])}\n")


COMMANDS: tuple[Callable[..., Any], ...] = (validate, schema)
