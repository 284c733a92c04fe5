"""Commands that create simulated data: `demo`, `simulate`."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from builder.cli.build import print_snapshot_statistics
from builder.cli.options import (
    MAX_THREADS,
    Quiet,
    Threads,
    create_progress_bar,
    parse_options,
)
from builder.cli.output import print_step_result, print_step_warning
from builder.reporting.numbers import pluralize

if TYPE_CHECKING:
    from builder.commands.build import BuildReport
    from builder.evaluation import SanityCheckRow


class CrawlFormat(StrEnum):
    """File format of simulated crawls."""

    JSONL = "jsonl"
    QWANT = "qwant"
    WARC = "warc"


class LogFormat(StrEnum):
    """File format of simulated query logs."""

    JSONL = "jsonl"
    PARQUET = "parquet"


def demo(
    folder: Annotated[Path, typer.Argument(help="Output folder.")] = Path("demo"),
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Simulate a small search engine, build a collection from its data and validate it.

    Example: longeval demo demo
    """
    from builder.commands.demo import demo as run_demo

    say = print_step_warning if quiet else print_step_result
    report = run_demo(folder, threads=threads, progress=create_progress_bar(quiet), on_step=say)
    if not quiet:
        print_snapshot_statistics(report.build)
        _print_sanity_scores(report.sanity)
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
            help="Existing crawl to use instead of a simulated one; repeatable, one crawl per "
            "snapshot.",
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
    from builder.simulation import SimulationParameters, simulate_over_crawls
    from builder.simulation import simulate as write_world

    params = parse_options(
        SimulationParameters,
        snapshots=snapshots,
        documents=documents,
        queries=queries,
        impressions=impressions,
        sentences=sentences,
        seed=seed,
        crawl_format=crawl_format.value,
        log_format=log_format.value,
    )
    backups = set(folder.glob("*.bak"))
    if over:
        simulate_over_crawls(folder, over, params)
    else:
        write_world(folder, params, threads=threads)
    for backup in sorted(set(folder.glob("*.bak")) - backups):
        typer.echo(f"note: an earlier file was kept as {backup}", err=True)
    if not quiet:
        typer.echo(f"wrote {folder}; build it with: longeval build {folder / 'workflow.toml'}")


def _print_sanity_scores(rows: "list[SanityCheckRow] | None") -> None:
    """Print the BM25 scores of the demo collection, or which extras to install to compute them."""
    from builder.cli.evaluation import format_sanity_rows

    if rows is None:
        typer.echo("BM25 scores: install the extras [baseline] and [evaluation] to compute them\n")
    else:
        typer.echo(f"BM25 compared with a chance baseline:\n{format_sanity_rows(rows)}\n")


def _format_next_steps(world: Path, report: "BuildReport") -> str:
    """Return text that names the folders of the demo and suggests commands to try next."""
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


COMMANDS: tuple[Callable[..., Any], ...] = (demo, simulate)
