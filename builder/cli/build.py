"""Commands that create collections and simulated data: `demo`, `simulate`, `build`."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from builder.cli.json_output import build_to_json, print_json, verification_to_json
from builder.cli.options import (
    MAX_THREADS,
    Format,
    Memory,
    OutputFormat,
    Quiet,
    Threads,
    create_progress,
    parse_options,
)
from builder.cli.output import (
    escape_control,
    format_table,
    join_reasons,
    print_step,
    print_step_warning,
)
from builder.reporting.numbers import pluralize
from builder.runtime.limits import DEFAULT_MEMORY

if TYPE_CHECKING:
    from builder.commands.build import BuildReport
    from builder.evaluation import SanityRow


class CrawlFormat(StrEnum):
    """File formats of simulated crawls."""

    JSONL = "jsonl"
    QWANT = "qwant"
    WARC = "warc"


class LogFormat(StrEnum):
    """File formats of simulated query logs."""

    JSONL = "jsonl"
    PARQUET = "parquet"


def demo(
    folder: Annotated[Path, typer.Argument(help="Output folder.")] = Path("demo"),
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Simulate a small search engine, build a collection from it and validate it.

    Example: longeval demo demo
    """
    from builder.commands.demo import demo as run_demo

    say = print_step_warning if quiet else print_step
    report = run_demo(folder, threads=threads, progress=create_progress(quiet), on_unit=say)
    if not quiet:
        _print_summary(report.build)
        _print_sanity(report.sanity)
        typer.echo(_format_next_steps(report.world, report.build))
    if report.findings:
        typer.echo(f"longeval validate: {pluralize(len(report.findings), 'finding')}", err=True)
    if any(finding.severity == "error" for finding in report.findings):
        raise typer.Exit(1)


def simulate(
    folder: Annotated[Path, typer.Argument(help="Output folder; created if missing.")],
    snapshots: Annotated[int, typer.Option(min=1, help="Number of monthly snapshots.")] = 3,
    documents: Annotated[
        int, typer.Option(min=1, help="Number of documents in the first snapshot.")
    ] = 1500,
    queries: Annotated[int, typer.Option(min=1, help="Number of distinct information needs.")] = (
        150
    ),
    impressions: Annotated[
        int, typer.Option(min=1, help="Number of impressions per snapshot.")
    ] = 15_000,
    sentences: Annotated[
        int, typer.Option(min=1, help="Approximate number of sentences per document.")
    ] = 12,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 1,
    over: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True,
            help="Simulate query logs over these existing crawls, one per snapshot; repeatable.",
        ),
    ] = None,
    crawl_format: Annotated[
        CrawlFormat, typer.Option(help="File format of the crawls.")
    ] = CrawlFormat.JSONL,
    log_format: Annotated[
        LogFormat, typer.Option(help="File format of the query logs.")
    ] = LogFormat.JSONL,
    threads: Annotated[
        int, typer.Option(min=1, max=MAX_THREADS, help="Number of worker processes.")
    ] = 1,
    quiet: Quiet = False,
) -> None:
    """Simulate the crawls, query logs and ground truth of a search engine.

    Example: longeval simulate world --snapshots 3 --documents 10000 --queries 500
    """
    from builder.simulation import Simulation, simulate_over
    from builder.simulation import simulate as write_world

    params = parse_options(
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
    workflow: Annotated[Path, typer.Argument(help="Collection definition (TOML file).")],
    out: Annotated[
        Path | None,
        typer.Option(help="Collection folder; default: a folder next to the definition."),
    ] = None,
    snapshot: Annotated[
        list[str] | None,
        typer.Option(
            help="Build only this snapshot, without publishing; repeatable or comma-separated."
        ),
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Stop after this stage, without publishing.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print what would run and why, without running it.")
    ] = False,
    allow_empty: Annotated[
        bool,
        typer.Option(
            "--allow-empty", help="Publish snapshots without documents, queries or judgements."
        ),
    ] = False,
    verify: Annotated[
        Path | None,
        typer.Option(
            help="Rebuild this published version in a temporary folder and compare every file."
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
    """Build a collection from its definition; stages that are up to date are skipped.

    Example: longeval build world/workflow.toml --out collections/world
    """
    from builder.commands.build import build as build_collection
    from builder.commands.build import verify as verify_version

    is_json = format is OutputFormat.JSON
    quiet = quiet or is_json
    progress = create_progress(quiet)
    say = print_step_warning if quiet else print_step
    if verify is not None:
        differing = verify_version(
            workflow,
            verify,
            threads=threads,
            memory=memory,
            executor=executor,
            progress=progress,
            on_unit=say,
        )
        _print_verification(verify, differing, as_json=is_json)
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
        progress=progress,
        on_unit=say,
    )
    if is_json:
        print_json(build_to_json(report))
    elif explain:
        _print_plan(report)
    elif not quiet:
        _print_result(report)


def _print_verification(version: Path, differing: Sequence[str], *, as_json: bool) -> None:
    """Print the files that differ; exit with code 1 if there are any."""
    if as_json:
        print_json(verification_to_json(version, differing))
    else:
        for name in differing:
            typer.echo(f"differs: {name}")
        if not differing:
            typer.echo(f"{version}: verified, all files are identical")
    if differing:
        raise typer.Exit(1)


def _print_sanity(rows: "list[SanityRow] | None") -> None:
    """Print BM25 scores of the demo collection, or the extras that they require."""
    from builder.cli.evaluation import format_sanity_rows

    if rows is None:
        typer.echo("BM25 scores: install the extras [baseline] and [evaluation] to compute them\n")
    else:
        typer.echo(f"BM25 compared with a chance baseline:\n{format_sanity_rows(rows)}\n")


def _print_plan(report: "BuildReport") -> None:
    """Print every unit with the reasons why it would run or be skipped."""
    for step in report.steps:
        action, reason = ("run ", join_reasons(step)) if step.ran else ("skip", "up to date")
        typer.echo(f"{action}  {step.unit!s:<24} {reason}")
    typer.echo(f"{report.units_run} of {len(report.steps)} units would run")


def _print_result(report: "BuildReport") -> None:
    """Print what a build ran and published."""
    typer.echo(f"{report.units_run} of {len(report.steps)} units ran, the others were up to date")
    if report.version is None:
        typer.echo(f"a partial build publishes nothing; its tables are in {report.root}")
    elif report.published:
        _print_summary(report)
        for note in report.topic_changes:
            typer.echo(escape_control(f"differs from the replaced draft: {note}"))
        typer.echo(f"published {report.version}")
    else:
        typer.echo(f"nothing to do: {report.version} is up to date")


def _print_summary(report: "BuildReport") -> None:
    """Print the table sizes, click statistics and coverage of every snapshot."""
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
    typer.echo("\n" + format_table(rows, header) + "\n")
    folders = [collection.snapshot(name).folder for name in collection.snapshots]
    shares = [(name, *map(format_percent, values)) for name, values in evidence_shares(folders)]
    typer.echo(format_table(shares, ("evidence", *collection.snapshots)) + "\n")


def _format_next_steps(world: Path, report: "BuildReport") -> str:
    """Return the folders of the demo and commands to try next."""
    from builder.collection.read import open_collection

    version = report.version or report.root
    lines = [f"collection   {version}", f"raw data     {world}"]
    manifest = open_collection(version).manifest
    if manifest["definition"]["parameters"]["translate"]["model"] is None:
        lines.append("translation  off; to enable it, set [translate] model in the definition")
    lines += [
        "",
        "Next steps:",
        f"  {version / 'report.html'}",
        f"  longeval validate {version}",
        f"  longeval build {world / 'workflow.toml'} --out {report.root} --explain",
        f"  python -c \"import builder; print(builder.open_collection('{version}').snapshots)\"",
    ]
    return "\n".join(lines)


COMMANDS: tuple[Callable[..., Any], ...] = (demo, simulate, build)
