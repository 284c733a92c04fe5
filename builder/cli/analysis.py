"""Verbs about how crawls and collections change: `changes`, `drift`."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from builder.cli.options import Definition, Format, Memory, PlainFormat, working_limits
from builder.cli.output import printable, table
from builder.runtime.limits import DEFAULT_MEMORY


def changes(
    old: Annotated[Path, typer.Argument(help="Earlier crawl: JSON lines, Parquet or WARC.")],
    new: Annotated[Path, typer.Argument(help="Later crawl.")],
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
    memory: Memory = DEFAULT_MEMORY,
    definition: Definition = None,
) -> None:
    """Compare the pages of two crawls; `[crawl]` of --definition says how they are read.

    Example: longeval changes june.jsonl.gz september.jsonl.gz --format json
    """
    from builder.definition.files import read_section
    from builder.drift import compare_crawls
    from builder.parameters import ChangeParameters, CrawlParameters

    reading = read_section(definition, CrawlParameters, "crawl") if definition else None
    with working_limits(memory) as limits:
        found = compare_crawls(old, new, ChangeParameters(), limits, reading=reading)
    if format is PlainFormat.JSON:
        typer.echo(json.dumps(found, ensure_ascii=False, indent=1, sort_keys=True))
    else:
        typer.echo(table(list(_flatten(found)), ("statistic", "value")))


def drift(
    collection: Annotated[Path, typer.Argument(help="A version folder, or one above it.")],
    html: Annotated[Path | None, typer.Option(help="Write the report here.")] = None,
    start: Annotated[
        str | None, typer.Option("--from", help="Earlier of two snapshots, adjacent or not.")
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", help="Later of two snapshots; default: the last.")
    ] = None,
    memory: Memory = "4GiB",
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Print what changed between snapshots of a collection, or write the report.

    Example: longeval drift demo/collection --html report.html
    """
    from builder.commands.drift import drift_of
    from builder.drift import HEADER, findings, pair_rows, render_report, unseen
    from builder.runtime.progress import TerminalProgress

    with working_limits(memory) as limits:
        found = drift_of(collection, start, end, limits, TerminalProgress())
    if html is not None:
        html.write_text(render_report(found), encoding="utf-8")
        typer.echo(f"wrote {html}")
    if format is PlainFormat.JSON:
        typer.echo(json.dumps(found, ensure_ascii=False, indent=1, sort_keys=True))
    elif html is None:
        rows = pair_rows(found)
        typer.echo(table(rows, HEADER) if rows else "one snapshot has nothing to compare with")
        for finding in findings(found):
            mark = "! " if finding.warns else "- "
            typer.echo(mark + printable(finding.text))
        for text in unseen(found):
            typer.echo(printable(f"? cannot tell: {text}"))


def _flatten(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Numbers and texts of nested values by dotted path; long lists are left to JSON."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _flatten(item, f"{path}.{key}".lstrip("."))
    elif isinstance(value, float):
        yield path, f"{value:.6g}"
    elif not isinstance(value, list):
        yield path, value


VERBS: tuple[Callable[..., Any], ...] = (changes, drift)
