"""Commands that compare crawls and snapshots: `changes`, `drift`."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from builder.cli.options import (
    CollectionFolder,
    DefinitionFile,
    Format,
    Memory,
    OutputFormat,
    limits_with_temporary_folder,
)
from builder.cli.output import escape_control_characters, format_table
from builder.runtime.limits import DEFAULT_MEMORY


def changes(
    old: Annotated[Path, typer.Argument(help="Earlier crawl: JSON Lines, Parquet or WARC.")],
    new: Annotated[Path, typer.Argument(help="Later crawl: JSON Lines, Parquet or WARC.")],
    format: Format = OutputFormat.TEXT,  # noqa: A002 - name of the option
    memory: Memory = DEFAULT_MEMORY,
    definition: DefinitionFile = None,
) -> None:
    """Compare the documents of two crawls.

    The section `[crawl]` of the file given by --definition describes the input format.

    Example: longeval changes june.jsonl.gz september.jsonl.gz --format json
    """
    from builder.definition.files import read_section
    from builder.drift import compare_crawls
    from builder.parameters import ChangeParameters, CrawlParameters

    reading = read_section(definition, CrawlParameters, "crawl") if definition else None
    with limits_with_temporary_folder(memory) as limits:
        comparison = compare_crawls(old, new, ChangeParameters(), limits, crawl_params=reading)
    if format is OutputFormat.JSON:
        typer.echo(json.dumps(comparison, ensure_ascii=False, indent=1, sort_keys=True))
    else:
        typer.echo(format_table(list(_flatten_dict(comparison)), ("statistic", "value")))


def drift(
    collection: CollectionFolder,
    html: Annotated[Path | None, typer.Option(help="Write an HTML report to this file.")] = None,
    from_snapshot: Annotated[
        str | None,
        typer.Option("--from", help="Earlier snapshot to compare; default: the first snapshot."),
    ] = None,
    to_snapshot: Annotated[
        str | None,
        typer.Option("--to", help="Later snapshot to compare; default: the last snapshot."),
    ] = None,
    memory: Memory = "4GiB",
    format: Format = OutputFormat.TEXT,  # noqa: A002 - name of the option
) -> None:
    """Measure what changed between the snapshots of a collection.

    Compares adjacent snapshots, or the two snapshots given by --from and --to.

    Example: longeval drift demo/collection --html report.html
    """
    from builder.collection.read import open_collection
    from builder.commands.drift import compute_drift
    from builder.drift import (
        SUMMARY_COLUMNS,
        list_findings,
        list_undecided_checks,
        render_report,
        summarize_pairs,
        summarize_undecided_checks,
    )
    from builder.runtime.progress import ProgressBar

    with limits_with_temporary_folder(memory) as limits:
        report = compute_drift(collection, from_snapshot, to_snapshot, limits, ProgressBar())
    if html is not None:
        html.write_text(render_report(report), encoding="utf-8")
    if format is OutputFormat.JSON:
        typer.echo(json.dumps(report, ensure_ascii=False, indent=1, sort_keys=True))
    elif html is not None:
        typer.echo(f"wrote {html}")
    else:
        rows = summarize_pairs(report)
        typer.echo(
            format_table(rows, SUMMARY_COLUMNS) if rows else "nothing to compare: only one snapshot"
        )
        for finding in list_findings(report):
            mark = "! " if finding.is_warning else "- "
            typer.echo(mark + escape_control_characters(finding.text))
        is_release = "imported" in open_collection(collection).manifest["definition"]
        undecided = summarize_undecided_checks if is_release else list_undecided_checks
        for text in undecided(report):
            typer.echo(escape_control_characters(f"? cannot tell: {text}"))


def _flatten_dict(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted path and value of each scalar in nested dictionaries, skipping lists."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _flatten_dict(item, f"{path}.{key}".lstrip("."))
    elif isinstance(value, float):
        yield path, f"{value:.6g}"
    elif not isinstance(value, list):
        yield path, value


COMMANDS: tuple[Callable[..., Any], ...] = (changes, drift)
