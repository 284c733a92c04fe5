"""Commands that exchange and compare collections: `export`, `import`, `diff`."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from builder.cli.json_output import import_plan_to_json, import_report_to_json, print_json
from builder.cli.options import (
    CollectionFolder,
    Format,
    Memory,
    OutputFormat,
    limits_with_temporary_folder,
)
from builder.cli.output import escape_control_characters, format_table
from builder.runtime.limits import DEFAULT_MEMORY

if TYPE_CHECKING:
    from builder.collection.imports.plan import ImportPlan
    from builder.collection.imports.release import ImportReport

MAX_LISTED_FILES = 10
"""Maximum number of skipped files and folders whose names are printed."""


class ExportLayout(StrEnum):
    """File layout in which `longeval export` writes a collection."""

    TREC = "trec"
    LONGEVAL_2023 = "longeval-2023"
    LONGEVAL_SCI = "longeval-sci"
    LONGEVAL_WEB = "longeval-web"
    HUGGINGFACE = "huggingface"


def export(
    collection: CollectionFolder,
    layout: Annotated[ExportLayout, typer.Option(help="Layout of the exported files.")],
    out: Annotated[Path, typer.Option(help="Output folder; must be new or empty.")],
    language: Annotated[
        list[str] | None,
        typer.Option(
            help="Language to export, such as fr or en; repeatable or comma-separated. Default: "
            "all languages."
        ),
    ] = None,
    file_size: Annotated[
        str,
        typer.Option(
            help="When a document file reaches this size, such as 256MiB, a new file is started."
        ),
    ] = "256MiB",
) -> None:
    """Export a collection in a file layout that other tools can read.

    Example: longeval export demo/collection --layout longeval-web --out web
    """
    from builder.collection.export import export as write_export
    from builder.collection.export import read_omitted_row_counts
    from builder.collection.export.omitted import describe_omitted_rows
    from builder.collection.export.url_database import describe_omitted_urls
    from builder.runtime.limits import parse_byte_size
    from builder.runtime.progress import ProgressBar

    folder = write_export(
        collection,
        layout.value,
        out,
        languages=tuple(language or ()),
        max_file_bytes=parse_byte_size(file_size, "--file-size"),
        progress=ProgressBar(),
    )
    omitted = read_omitted_row_counts(folder)
    for line in (*describe_omitted_rows(omitted), *describe_omitted_urls(folder)):
        typer.echo(line)
    typer.echo(f"wrote {folder}")


class ImportLayout(StrEnum):
    """File layout of a release that `longeval import` can read."""

    LONGEVAL_2023 = "longeval-2023"
    LONGEVAL_SCI = "longeval-sci"
    LONGEVAL_WEB = "longeval-web"


def import_(
    release: Annotated[Path, typer.Argument(help="Folder of the published release.")],
    layout: Annotated[ImportLayout, typer.Option(help="Layout of the release.")],
    out: Annotated[Path, typer.Option(help="Collection folder in which the version is published.")],
    name: Annotated[
        str | None, typer.Option(help="Name of the collection; default: name of the layout.")
    ] = None,
    version: Annotated[str, typer.Option(help="Version of the collection.")] = "1.0.0",
    qrels: Annotated[
        str | None,
        typer.Option(
            help="Variant of the qrels to import, such as raw or dctr; default: depends on the "
            "layout."
        ),
    ] = None,
    allow_empty: Annotated[
        bool,
        typer.Option(
            "--allow-empty",
            help="Publish even if a snapshot has no queries, or has no valid row in its query, "
            "qrels or document files.",
        ),
    ] = False,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Print how many files would be read, without importing them."
        ),
    ] = False,
    memory: Memory = DEFAULT_MEMORY,
    format: Format = OutputFormat.TEXT,  # noqa: A002 - name of the option
) -> None:
    """Import a published LongEval release as a collection.

    Example: longeval import release_2025_p1 --layout longeval-web --out longeval-web
    """
    from builder.collection.imports import import_release
    from builder.collection.imports.plan import plan_import
    from builder.runtime.progress import ProgressBar

    if explain:
        plan = plan_import(release, layout.value, out / version, qrels)
        _print_import_plan(plan, format)
        _print_warnings(plan)
        return
    with limits_with_temporary_folder(memory) as limits:
        report = import_release(
            release,
            layout.value,
            out,
            name=name,
            version=version,
            qrels_variant=qrels,
            allow_empty=allow_empty,
            limits=limits,
            progress=ProgressBar(),
        )
    if format is OutputFormat.JSON:
        print_json(import_report_to_json(report))
    else:
        _print_import_report(report)
    _print_warnings(report.plan)


def _print_import_report(report: "ImportReport") -> None:
    """Print how many rows an import wrote, and which records and files it skipped."""
    rows = [
        (name, *report.rows[name].values(), ledger.rows_in, ledger.rows_out)
        for name, ledger in report.ledgers.items()
    ]
    header = ("snapshot", "queries", "judgements", "documents", "records", "kept")
    typer.echo(format_table(rows, header))
    rejects = [
        (name, reason, count)
        for name, ledger in report.ledgers.items()
        for reason, count in sorted(ledger.rejected.items())
    ]
    if rejects:
        typer.echo("\n" + format_table(rejects, ("snapshot", "reject reason", "records")))
    for snapshot, ledger in report.ledgers.items():
        for note in ledger.notes:
            typer.echo(f"note: {snapshot}: {escape_control_characters(note)}")
    _print_skipped_files(report.plan)
    typer.echo(f"wrote {report.version}; check it with: longeval validate {report.version}")


def _print_import_plan(plan: "ImportPlan", output_format: OutputFormat) -> None:
    """Print how many files an import would read, and which files it would skip."""
    if output_format is OutputFormat.JSON:
        print_json(import_plan_to_json(plan))
        return
    rows = [(snapshot, *counts.values()) for snapshot, counts in plan.file_counts().items()]
    header = ("snapshot", "query files", "qrels files", "document files")
    typer.echo(format_table(rows, header))
    _print_skipped_files(plan)
    typer.echo(f"would write {plan.version}")


def _print_skipped_files(plan: "ImportPlan") -> None:
    """Print which files and links an import skips, and which prior datasets it has not found."""
    for reason in dict.fromkeys(files.reason for files in plan.unread_files.values()):
        counts = {p: f.count for p, f in plan.unread_files.items() if f.reason == reason}
        typer.echo(f"skipped files ({reason}): {_format_file_counts(counts)}")
    if plan.external_links:
        typer.echo(
            f"skipped links to files outside the release: {_format_names(plan.external_links)}"
        )
    if plan.missing_datasets:
        typer.echo(f"prior datasets not found: {_format_names(plan.missing_datasets)}")


def _print_warnings(plan: "ImportPlan") -> None:
    for warning in plan.warnings():
        typer.echo(f"warning: {escape_control_characters(warning)}", err=True)


def _format_names(names: Sequence[str]) -> str:
    """List up to `MAX_LISTED_FILES` names and how many are omitted, such as `a, b and 3 more`."""
    remaining = len(names) - MAX_LISTED_FILES
    listed = ", ".join(escape_control_characters(name) for name in names[:MAX_LISTED_FILES])
    return listed + (f" and {remaining:,} more" if remaining > 0 else "")


def _format_file_counts(counts: Mapping[str, int]) -> str:
    """List up to `MAX_LISTED_FILES` paths with file counts, and how many paths are omitted."""
    listed = [
        f"{escape_control_characters(name)} ({count:,} files)"
        if count > 1
        else escape_control_characters(name)
        for name, count in list(counts.items())[:MAX_LISTED_FILES]
    ]
    remaining = len(counts) - len(listed)
    return ", ".join(listed) + (f" and {remaining:,} more" if remaining else "")


class DiffFormat(StrEnum):
    """Output format of `longeval diff`."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


def diff(
    old: Annotated[
        Path,
        typer.Argument(help="Version folder of the earlier version, or its collection folder."),
    ],
    new: Annotated[
        Path,
        typer.Argument(help="Version folder of the later version, or its collection folder."),
    ],
    format: Annotated[  # noqa: A002 - name of the option
        DiffFormat, typer.Option(help="Output format.")
    ] = DiffFormat.TEXT,
    exit_code: Annotated[
        bool,
        typer.Option("--exit-code", help="Exit with code 1 if the versions differ in any row."),
    ] = False,
) -> None:
    """Compare the rows, grades, definitions and software versions of two collection versions.

    Example: longeval diff web/1.0.0 web/1.1.0 --format markdown > CHANGES.md
    """
    from builder.collection.compare import compare
    from builder.collection.compare.changelog import format_changelog, summary_lines

    comparison = compare(old, new)
    for line in comparison.changed_files:
        warning = f"warning: {line}; the version is compared as is"
        typer.echo(escape_control_characters(warning), err=True)
    if format is DiffFormat.JSON:
        print_json(comparison.to_dict())
    elif format is DiffFormat.MARKDOWN:
        typer.echo(format_changelog(comparison), nl=False)
    else:
        rows = [
            (t.table, t.added, t.removed, t.changed, *t.examples[:1])
            for t in comparison.tables
            if t.added or t.removed or t.changed
        ]
        if rows:
            typer.echo(format_table(rows, ("table", "added", "removed", "changed", "first")))
        for line in summary_lines(comparison):
            typer.echo(escape_control_characters(line))
        for line in comparison.lost:
            typer.echo(escape_control_characters(f"not compared: {line}"))
        typer.echo("rows differ" if rows else "no row differs")
    if exit_code and not comparison.is_empty:
        raise typer.Exit(1)


COMMANDS: tuple[Callable[..., Any], ...] = (export, import_, diff)
