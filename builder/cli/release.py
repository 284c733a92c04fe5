"""Verbs about layouts and versions of collections: `export`, `import`, `diff`."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from builder.cli.options import Format, Memory, PlainFormat, working_limits
from builder.cli.output import printable, table
from builder.cli.shapes import import_plan_shape, import_shape, say_json
from builder.runtime.limits import DEFAULT_MEMORY

if TYPE_CHECKING:
    from builder.collection.imports.plan import ImportPlan

MOST_UNREAD = 10
"""Files and folders that are named where they were not read."""


class ExportLayout(StrEnum):
    """The layouts of `builder.collection.export`."""

    TREC = "trec"
    LONGEVAL_2023 = "longeval-2023"
    LONGEVAL_SCI = "longeval-sci"
    LONGEVAL_WEB = "longeval-web"
    HUGGINGFACE = "huggingface"


def export(
    collection: Annotated[Path, typer.Argument(help="A version folder, or one above it.")],
    layout: Annotated[ExportLayout, typer.Option(help="How files are laid out.")],
    out: Annotated[Path, typer.Option(help="A new or empty folder.")],
    language: Annotated[
        list[str] | None, typer.Option(help="`fr` or `en`, repeatable; default: all there are.")
    ] = None,
    file_size: Annotated[
        str, typer.Option(help="A file of documents ends with the one that fills it.")
    ] = "256MiB",
) -> None:
    """Write a collection in a layout that other tools load.

    Example: longeval export demo/collection --layout longeval-web --out web
    """
    from builder.collection.export import export as write
    from builder.runtime.limits import parse_size
    from builder.runtime.progress import TerminalProgress

    size = parse_size(file_size, "--file-size")
    written = write(
        collection,
        layout.value,
        out,
        languages=tuple(language or ()),
        max_file_bytes=size,
        progress=TerminalProgress(),
    )
    typer.echo(f"wrote {written}")


class ImportLayout(StrEnum):
    """The layouts of `builder.collection.imports`."""

    LONGEVAL_2023 = "longeval-2023"
    LONGEVAL_SCI = "longeval-sci"
    LONGEVAL_WEB = "longeval-web"


def import_(
    release: Annotated[Path, typer.Argument(help="The folder of a published release.")],
    layout: Annotated[ImportLayout, typer.Option(help="How its files are laid out.")],
    out: Annotated[Path, typer.Option(help="The collection; its version is written in it.")],
    name: Annotated[str | None, typer.Option(help="Of the collection; default: layout.")] = None,
    version: Annotated[str, typer.Option(help="Of the collection.")] = "1.0.0",
    qrels: Annotated[
        str | None,
        typer.Option(help="Of several editions of judgements, such as raw and dctr, this one."),
    ] = None,
    allow_empty: Annotated[
        bool,
        typer.Option(
            "--allow-empty", help="Publish a snapshot whose files of a table gave no row, too."
        ),
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="List the files that would be read; write nothing.")
    ] = False,
    memory: Memory = DEFAULT_MEMORY,
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Import a published LongEval release as a collection.

    Example: longeval import release_2025_p1 --layout longeval-web --out longeval-web
    """
    from builder.collection.imports import import_release
    from builder.collection.imports.plan import plan_import
    from builder.runtime.progress import TerminalProgress

    if explain:
        _say_plan(plan_import(release, layout.value, out / version, qrels), format)
        return
    with working_limits(memory) as limits:
        report = import_release(
            release,
            layout.value,
            out,
            name=name,
            version=version,
            edition=qrels,
            allow_empty=allow_empty,
            limits=limits,
            progress=TerminalProgress(),
        )
    if format is PlainFormat.JSON:
        say_json(import_shape(report))
        return
    rows = [
        (name, *report.rows[name].values(), ledger.rows_in, ledger.rows_out)
        for name, ledger in report.ledgers.items()
    ]
    typer.echo(table(rows, ("snapshot", "queries", "judgements", "documents", "records", "kept")))
    left = [
        (name, reason, count)
        for name, ledger in report.ledgers.items()
        for reason, count in sorted(ledger.rejected.items())
    ]
    if left:
        typer.echo("\n" + table(left, ("snapshot", "left out because", "records")))
    _print_left_out(report.plan)
    typer.echo(f"wrote {report.version}; check it: longeval validate {report.version}")


def _say_plan(plan: "ImportPlan", format: PlainFormat) -> None:  # noqa: A002 - the option's name
    """Print the files that an import would read and leave out."""
    if format is PlainFormat.JSON:
        say_json(import_plan_shape(plan))
        return
    rows = [(snapshot, *counts.values()) for snapshot, counts in plan.file_counts().items()]
    header = ("snapshot", "query files", "qrels files", "document files")
    typer.echo(table(rows, header))
    _print_left_out(plan)
    typer.echo(f"would write {plan.version}")


def _print_left_out(plan: "ImportPlan") -> None:
    """Print the files, links and prior datasets that an import does not read."""
    if plan.unread:
        typer.echo(_unread(plan.unread))
    if plan.outside:
        typer.echo(f"links that lead out of the release, not followed: {_named(plan.outside)}")
    if plan.missing:
        typer.echo(f"prior datasets that are missing: {_named(plan.missing)}")


def _named(names: Sequence[str]) -> str:
    more = len(names) - MOST_UNREAD
    shown = ", ".join(printable(name) for name in names[:MOST_UNREAD])
    return shown + (f" and {more:,} more" if more > 0 else "")


def _unread(files: Mapping[str, int]) -> str:
    """What of a release was not read, in one line."""
    shown = [
        f"{printable(name)} ({count:,} files)" if count > 1 else printable(name)
        for name, count in list(files.items())[:MOST_UNREAD]
    ]
    more = len(files) - len(shown)
    named = ", ".join(shown) + (f" and {more:,} more" if more else "")
    return f"not read, as they are of no snapshot or repeat what was read: {named}"


class DiffFormat(StrEnum):
    """Text for people, Markdown for a change log, JSON for machines."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


def diff(
    old: Annotated[Path, typer.Argument(help="A version folder, or one above it.")],
    new: Annotated[Path, typer.Argument(help="The later version.")],
    format: Annotated[  # noqa: A002 - the option's name
        DiffFormat, typer.Option(help="Output format.")
    ] = DiffFormat.TEXT,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit 1 if rows differ.")] = False,
) -> None:
    """Compare two versions of a collection: rows, labels, definition, tools.

    Example: longeval diff web/1.0.0 web/1.1.0 --format markdown > CHANGES.md
    """
    from builder.collection.compare import compare
    from builder.collection.compare.changelog import changelog, report_lines

    found = compare(old, new)
    if format is DiffFormat.JSON:
        say_json(found.as_dict())
    elif format is DiffFormat.MARKDOWN:
        typer.echo(changelog(found), nl=False)
    else:
        rows = [(t.table, t.added, t.removed, t.changed, *t.examples[:1]) for t in found.tables]
        if rows:
            typer.echo(table(rows, ("table", "added", "removed", "changed", "first")))
        for line in (*report_lines(found), *(f"not compared: {line}" for line in found.lost)):
            typer.echo(printable(line))
        typer.echo("rows differ" if rows else "no row differs")
    if exit_code and not found.is_empty:
        raise typer.Exit(1)


VERBS: tuple[Callable[..., Any], ...] = (export, import_, diff)
