"""The group `longeval runs`: check run files."""

from dataclasses import asdict

import typer

from builder.cli.evaluation import Collection, Runs
from builder.cli.options import Format, PlainFormat
from builder.cli.output import printable
from builder.cli.shapes import say_json

runs = typer.Typer(name="runs", help="Check run files against a collection.", no_args_is_help=True)


@runs.callback()
def group() -> None:
    """Check run files against a collection."""


@runs.command("check")
def check(
    collection: Collection,
    files: Runs,
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Report malformed lines, unknown queries and documents, and what lowers scores silently.

    Exits with 1 if a run has an error.

    Example: longeval runs check demo/collection runs/bm25
    """
    from builder.collection.read import open_collection
    from builder.evaluation.run_checks import check_runs

    findings = check_runs(open_collection(collection), files)
    if format is PlainFormat.JSON:
        say_json([asdict(finding) for finding in findings])
    else:
        for found in findings:
            examples = f" ({', '.join(found.examples)})" if found.examples else ""
            count = "" if not found.examples else f"{found.count:,} "
            line = f"{found.system} {found.snapshot}: {found.severity}: {count}{found.message}"
            typer.echo(printable(line + examples))
        typer.echo(f"{len(findings)} findings" if findings else "no findings")
    if any(finding.severity == "error" for finding in findings):
        raise typer.Exit(1)
