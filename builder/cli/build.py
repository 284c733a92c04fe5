"""The command `build`: creates a collection, or verifies a published version."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from builder.cli.json_output import build_report_to_json, print_json, verification_to_json
from builder.cli.options import (
    Format,
    Memory,
    OutputFormat,
    Quiet,
    Threads,
    create_progress_bar,
)
from builder.cli.output import (
    escape_control_characters,
    format_table,
    join_reasons,
    print_step_result,
    print_step_warning,
)
from builder.runtime.limits import DEFAULT_MEMORY

if TYPE_CHECKING:
    from builder.commands.build import BuildReport


def build(
    definition: Annotated[Path, typer.Argument(help="Collection definition (TOML file).")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Collection folder; default: `collections/NAME` next to the definition file."
        ),
    ] = None,
    snapshot: Annotated[
        list[str] | None,
        typer.Option(
            help="Build only this snapshot, and do not publish; repeatable or comma-separated."
        ),
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Stop after this stage, and do not publish.")
    ] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Print which steps would run and why, without running them."
        ),
    ] = False,
    allow_empty: Annotated[
        bool,
        typer.Option(
            "--allow-empty",
            help="Publish even if a snapshot has no documents, queries or judgements.",
        ),
    ] = False,
    verify: Annotated[
        Path | None,
        typer.Option(
            help="Rebuild this published version in a temporary folder, and compare every file "
            "with the original."
        ),
    ] = None,
    threads: Threads = None,
    memory: Memory = DEFAULT_MEMORY,
    executor: Annotated[
        str, typer.Option(help="Executor of parallel tasks: local, processes or ray.")
    ] = "local",
    quiet: Quiet = False,
    format: Format = OutputFormat.TEXT,  # noqa: A002 - name of the option
) -> None:
    """Build a collection from its definition, skipping steps that are up to date.

    Example: longeval build world/workflow.toml --out collections/world
    """
    from builder.commands.build import build as build_collection
    from builder.commands.build import changed_tools
    from builder.commands.build import verify as verify_version

    is_json = format is OutputFormat.JSON
    quiet = quiet or is_json
    progress = create_progress_bar(quiet)
    say = print_step_warning if quiet else print_step_result
    if verify is not None:
        differing = verify_version(
            definition,
            verify,
            threads=threads,
            memory=memory,
            executor=executor,
            progress=progress,
            on_step=say,
        )
        changed = changed_tools(verify) if differing else ()
        _print_verification(verify, differing, changed, as_json=is_json)
        return
    report = build_collection(
        definition,
        out,
        snapshots=snapshot or (),
        until=until,
        explain=explain,
        allow_empty=allow_empty,
        threads=threads,
        memory=memory,
        executor=executor,
        progress=progress,
        on_step=say,
    )
    if is_json:
        print_json(build_report_to_json(report))
    elif explain:
        _print_plan(report)
    elif not quiet:
        _print_result(report)


def _print_verification(
    version: Path, differing_files: Sequence[str], changed_tools: Sequence[str], *, as_json: bool
) -> None:
    """Print how a published version differs from its rebuild; exit with code 1 if any file differs.

    Args:
        version: Version folder that was verified.
        differing_files: Paths of the files that differ from the rebuilt files.
        changed_tools: Stages and libraries whose versions have changed since the build.
        as_json: Whether to print JSON instead of text.
    """
    if as_json:
        print_json(verification_to_json(version, differing_files, changed_tools))
    else:
        for name in differing_files:
            typer.echo(f"differs: {name}")
        if changed_tools:
            typer.echo(
                "note: the collection was built with different stage or library versions, so a "
                f"rebuild may give different output ({'; '.join(changed_tools)})"
            )
        if not differing_files:
            typer.echo(f"{version}: verified, all files are identical")
    if differing_files:
        raise typer.Exit(1)


def _print_plan(report: "BuildReport") -> None:
    """Print which steps of a build would run, may run or would be skipped, and why."""
    width = max((len(str(result.step)) for result in report.results), default=0)
    for result in report.results:
        action = "run" if result.has_run else "maybe" if result.is_conditional else "skip"
        typer.echo(f"{action:<5} {result.step!s:<{width}}  {join_reasons(result) or 'up to date'}")
    others = (
        f"; {report.conditional_step_count} more would run only if an input table changes"
        if report.conditional_step_count
        else ""
    )
    typer.echo(f"{report.executed_step_count} of {len(report.results)} steps would run{others}")
    if report.refusal:
        typer.echo(escape_control_characters(f"the build would stop: {report.refusal}"))


def _print_result(report: "BuildReport") -> None:
    """Print how many steps of a build ran, and where the version was published."""
    total = len(report.results)
    others = "; the others were up to date" if report.executed_step_count < total else ""
    typer.echo(f"{report.executed_step_count} of {total} steps ran{others}")
    if report.version is None:
        typer.echo(f"a partial build publishes nothing; its tables are in {report.root}")
    elif report.published:
        print_snapshot_statistics(report)
        for note in report.topic_changes:
            typer.echo(escape_control_characters(f"change from the replaced draft: {note}"))
        typer.echo(f"published {report.version}")
    else:
        typer.echo(f"nothing to do: {report.version} is up to date")


def print_snapshot_statistics(report: "BuildReport") -> None:
    """Print the table sizes, click statistics and crawl coverage of every snapshot."""
    from builder.collection.evidence import click_crawl_and_translation_shares, format_percent
    from builder.collection.read import open_collection
    from builder.collection.summary import summarize_snapshots

    collection = open_collection(report.version or report.root)
    counts = ("documents", "queries", "grade 0", "grade 1", "grade 2")
    header = ("snapshot", *counts, "added", "removed", "not kept", "updated")
    rows = [
        (s.snapshot, s.documents, s.queries, *s.grades, s.added, s.removed, s.not_kept, s.updated)
        for s in summarize_snapshots(collection)
    ]
    typer.echo("\n" + format_table(rows, header) + "\n")
    folders = [collection.snapshot(name).folder for name in collection.snapshots]
    shares = [
        (name, *map(format_percent, values))
        for name, values in click_crawl_and_translation_shares(folders)
    ]
    typer.echo(format_table(shares, ("evidence", *collection.snapshots)) + "\n")


COMMANDS: tuple[Callable[..., Any], ...] = (build,)
