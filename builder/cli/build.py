"""Verbs that make a collection: `demo`, `simulate`, `build`."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from builder.cli.options import (
    MOST_THREADS,
    Format,
    PlainFormat,
    Quiet,
    Threads,
    from_options,
    progress_bar,
)
from builder.cli.output import because, printable, say_step, table, warn_step
from builder.cli.shapes import build_shape, say_json, verified_shape
from builder.runtime.limits import DEFAULT_MEMORY

if TYPE_CHECKING:
    from builder.commands.build import BuildReport
    from builder.evaluation import SanityRow


class CrawlFormat(StrEnum):
    """Formats in which a simulated crawl is written."""

    JSONL = "jsonl"
    QWANT = "qwant"
    WARC = "warc"


class LogFormat(StrEnum):
    """Formats in which a simulated log is written."""

    JSONL = "jsonl"
    PARQUET = "parquet"


def demo(
    folder: Annotated[Path, typer.Argument(help="Where to.")] = Path("demo"),
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Simulate a small world, build its collection, check it.

    Example: longeval demo demo
    """
    from builder.commands.demo import demo as run_demo

    say = warn_step if quiet else say_step
    report = run_demo(folder, threads=threads, progress=progress_bar(quiet), on_unit=say)
    if not quiet:
        _print_summary(report.build)
        _print_sanity(report.sanity)
        typer.echo(_next_steps(report.world, report.build))
    if report.findings:
        typer.echo(f"longeval validate finds {len(report.findings)} defects", err=True)
    if any(finding.severity == "error" for finding in report.findings):
        raise typer.Exit(1)


def simulate(
    folder: Annotated[Path, typer.Argument(help="Where to; created.")],
    snapshots: Annotated[int, typer.Option(min=1, help="Number of snapshots.")] = 3,
    documents: Annotated[int, typer.Option(min=1, help="Pages in the index of a snapshot.")] = 1500,
    queries: Annotated[int, typer.Option(min=1, help="Distinct needs.")] = 150,
    impressions: Annotated[int, typer.Option(min=1, help="Impressions of a snapshot.")] = 15_000,
    sentences: Annotated[int, typer.Option(min=1, help="Sentences of a page, about.")] = 12,
    seed: Annotated[int, typer.Option(help="Another seed, another world.")] = 1,
    over: Annotated[
        list[Path] | None,
        typer.Option(exists=True, help="Simulate logs over these crawls instead."),
    ] = None,
    crawl_format: Annotated[
        CrawlFormat, typer.Option(help="Format of the crawl.")
    ] = CrawlFormat.JSONL,
    log_format: Annotated[LogFormat, typer.Option(help="Format of logs.")] = LogFormat.JSONL,
    threads: Annotated[
        int, typer.Option(min=1, max=MOST_THREADS, help="Processes that write pages.")
    ] = 1,
    quiet: Quiet = False,
) -> None:
    """Write raw logs and crawls of a synthetic search engine, with their truth.

    Example: longeval simulate world --snapshots 3 --documents 10000 --queries 500
    """
    from builder.simulation import Simulation, simulate_over
    from builder.simulation import simulate as write_world

    params = from_options(
        Simulation,
        snapshots=snapshots,
        documents=documents,
        queries=queries,
        impressions=impressions,
        sentences=sentences,
        seed=seed,
        crawl_format=crawl_format.value,
        log_format=log_format.value,
    )
    if over:
        simulate_over(folder, over, params)
    else:
        write_world(folder, params, threads=threads)
    if not quiet:
        typer.echo(f"wrote {folder}; build it with: longeval build {folder / 'workflow.toml'}")


def build(
    workflow: Annotated[Path, typer.Argument(help="Definition (TOML).")],
    out: Annotated[
        Path | None, typer.Option(help="The collection's folder; default: beside the definition.")
    ] = None,
    snapshot: Annotated[
        list[str] | None, typer.Option(help="Only this snapshot; repeat it. Nothing is published.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="Last stage. Nothing is published.")] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say what would run and why; run nothing.")
    ] = False,
    allow_empty: Annotated[
        bool,
        typer.Option(
            "--allow-empty", help="Publish snapshots without documents, queries or judgements."
        ),
    ] = False,
    verify: Annotated[
        Path | None, typer.Option(help="Build this published version again, elsewhere; compare.")
    ] = None,
    threads: Threads = None,
    memory: Annotated[str, typer.Option(help="What a stage may hold.")] = DEFAULT_MEMORY,
    executor: Annotated[
        str, typer.Option(help="Where parts of stages are worked on: local, processes or ray.")
    ] = "local",
    quiet: Quiet = False,
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Build a collection from its definition, or the part of it that changed.

    Example: longeval build world/workflow.toml --out collections/world
    """
    from builder.commands.build import build as build_collection

    for_machines = format is PlainFormat.JSON
    quiet = quiet or for_machines
    if verify is not None:
        from builder.commands.build import verify as build_again

        differing = build_again(
            workflow,
            verify,
            threads=threads,
            memory=memory,
            executor=executor,
            progress=progress_bar(quiet),
            on_unit=warn_step if quiet else say_step,
        )
        _say_verified(verify, differing, for_machines)
        return
    report = build_collection(
        workflow,
        out,
        snapshots=snapshot or (),
        until=until,
        explain=explain,
        allow_empty=allow_empty,
        threads=threads,
        memory=memory,
        executor=executor,
        progress=progress_bar(quiet),
        on_unit=warn_step if quiet else say_step,
    )
    if for_machines:
        say_json(build_shape(report))
    elif explain:
        _print_plan(report)
    elif not quiet:
        _print_outcome(report)


def _say_verified(version: Path, differing: Sequence[str], for_machines: bool) -> None:
    """Print which files differ; exit with 1 where any does."""
    if for_machines:
        say_json(verified_shape(version, differing))
    else:
        for name in differing:
            typer.echo(f"differs: {name}")
        if not differing:
            typer.echo(f"{version}: built again, every file is the same")
    if differing:
        raise typer.Exit(1)


def _print_sanity(rows: "list[SanityRow] | None") -> None:
    from builder.cli.evaluation import sanity_lines

    if rows is None:
        typer.echo("BM25 on it: install the extras [baseline] and [evaluation] to see\n")
    else:
        typer.echo(f"BM25 on it, and on judgements of other queries:\n{sanity_lines(rows)}\n")


def _print_plan(report: "BuildReport") -> None:
    for step in report.steps:
        verb, why = ("run ", because(step)) if step.ran else ("skip", "up to date")
        typer.echo(f"{verb}  {step.unit!s:<24} {why}")
    typer.echo(f"{report.units_run} of {len(report.steps)} units would run")


def _print_outcome(report: "BuildReport") -> None:
    typer.echo(f"{report.units_run} of {len(report.steps)} units ran, the others were up to date")
    if report.version is None:
        typer.echo(f"nothing is published by a partial build; its tables are in {report.root}")
    elif report.published:
        _print_summary(report)
        for note in report.topic_changes:
            typer.echo(printable(f"differs from the draft that was replaced: {note}"))
        typer.echo(f"published {report.version}")
    else:
        typer.echo(f"nothing to do: {report.version} is up to date")


def _print_summary(report: "BuildReport") -> None:
    from builder.collection.evidence import evidence_shares, format_percent
    from builder.collection.read import open_collection
    from builder.collection.summary import summarize

    collection = open_collection(report.version or report.root)
    counts = ("documents", "queries", "grade 0", "grade 1", "grade 2")
    header = ("snapshot", *counts, "added", "removed", "not kept", "updated")
    rows = [
        (s.snapshot, s.documents, s.queries, *s.grades, s.added, s.removed, s.not_kept, s.updated)
        for s in summarize(collection)
    ]
    typer.echo("\n" + table(rows, header) + "\n")
    folders = [collection.snapshot(name).folder for name in collection.snapshots]
    shares = [(name, *map(format_percent, values)) for name, values in evidence_shares(folders)]
    typer.echo(table(shares, ("evidence", *collection.snapshots)) + "\n")


def _next_steps(world: Path, report: "BuildReport") -> str:
    from builder.collection.read import open_collection

    version = report.version or report.root
    lines = [f"collection   {version}", f"raw data     {world}"]
    manifest = open_collection(version).manifest
    if manifest["definition"]["parameters"]["translate"]["model"] is None:
        lines.append("translation  off: the definition names no model ([translate] model = ...)")
    lines += [
        "",
        "What to open next:",
        f"  {version / 'report.html'}",
        f"  longeval validate {version}",
        f"  longeval build {world / 'workflow.toml'} --out {report.root} --explain",
        f"  python -c \"import builder; print(builder.open_collection('{version}').snapshots)\"",
    ]
    return "\n".join(lines)


VERBS: tuple[Callable[..., Any], ...] = (demo, simulate, build)
