"""Verbs about topics and queries: `topics rank`, `topics audit`, `queries audit`."""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from builder.cli.options import MOST, Format, PlainFormat
from builder.cli.output import table
from builder.io.disk import check_output_differs
from builder.reporting.numbers import format_score

if TYPE_CHECKING:
    import polars as pl

QueryFile = Annotated[Path, typer.Argument(help="Queries: .parquet, or lines id<TAB>text.")]


class Stability(StrEnum):
    """Measures of long-term stability."""

    CV = "cv"
    EVENNESS = "evenness"
    FLOOR = "floor"
    VOLATILITY = "volatility"
    TREND = "trend"


topics = typer.Typer(name="topics", help="Choose topics and audit them.", no_args_is_help=True)
queries = typer.Typer(name="queries", help="Audit query files.", no_args_is_help=True)


@topics.command("rank")
def rank(
    counts: Annotated[
        Path,
        typer.Argument(
            help="Monthly counts: label, month, count (.tsv or .csv, also .gz; .parquet)."
        ),
    ],
    stability: Annotated[Stability, typer.Option(help="Measure in the score.")] = Stability.CV,
    top: Annotated[int, typer.Option(min=1, max=MOST, help="Topics to keep.")] = 50,
    out: Annotated[
        Path | None, typer.Option(help="Write them as a topic table (TSV) for a definition.")
    ] = None,
    language: Annotated[str, typer.Option(help="Language of the labels.")] = "fr",
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Rank topic candidates by popularity and long-term stability, with the numbers.

    Example: longeval topics rank views.tsv --stability cv --top 30 --out topics.tsv
    """
    from builder.queries import FORMULA, rank_topic_file, write_topics

    ranked = rank_topic_file(counts, stability.value).head(top)
    if out is not None:
        check_output_differs(out, counts)
        write_topics(ranked, out, language, stability.value)
    if format is PlainFormat.JSON:
        _echo_json({"formula": FORMULA.format(stability=stability.value), "topics": ranked})
        return
    typer.echo(FORMULA.format(stability=stability.value))
    _echo_table(ranked)
    if out is not None:
        typer.echo(f"wrote {out}")


@topics.command("audit")
def audit_topics(
    table_file: Annotated[Path, typer.Argument(metavar="TOPICS", help="Topic table (TSV).")],
    query_files: Annotated[
        list[Path], typer.Argument(metavar="QUERIES...", help="Query files, as in `queries audit`.")
    ],
    examples: Annotated[int, typer.Option(min=0, max=MOST, help="Examples for each topic.")] = 10,
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Show what each matching policy takes for a topic, and where they differ.

    Example: longeval topics audit topics.tsv queries.tsv --examples 20
    """
    from builder.queries import audit_topic_file

    found = audit_topic_file(table_file, query_files, examples)
    frames = {
        "counts": found.counts,
        "false_words": found.false_words,
        "differences": found.differences,
    }
    if format is PlainFormat.JSON:
        _echo_json({"queries": found.queries, "texts": found.texts, **frames})
        return
    typer.echo(f"{found.texts:,} texts, {found.queries:,} distinct queries")
    for name, frame in frames.items():
        typer.echo(f"\n{name.replace('_', ' ')}")
        _echo_table(frame)


@queries.command("audit")
def audit_queries(
    file: QueryFile,
    examples: Annotated[int, typer.Option(min=0, max=MOST, help="Groups to show.")] = 10,
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Find the known faults of query files; personal data are counted, never shown.

    Example: longeval queries audit queries.tsv
    """
    from builder.queries import audit_text_file

    found = audit_text_file(file)
    groups = {"same_text": found.same_text, "same_folded": found.same_folded}
    if format is PlainFormat.JSON:
        faults = {"lines": found.lines, "longest": found.longest, "faults": found.faults}
        _echo_json({**faults, **groups})
        return
    typer.echo(f"{found.lines:,} lines; the longest text has {found.longest:,} characters\n")
    typer.echo(table(sorted(found.faults.items()), ("fault", "lines")))
    for name, frame in groups.items():
        typer.echo(f"\n{name.replace('_', ' ')} under several ids: {frame.height:,} groups")
        if frame.height and examples:
            _echo_table(frame.head(examples))


def _echo_json(value: dict[str, Any]) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=1, default=_rows))


def _rows(value: "pl.DataFrame") -> list[dict[str, Any]]:
    return value.to_dicts()


def _echo_table(frame: "pl.DataFrame") -> None:
    if frame.is_empty():
        typer.echo("(none)")
        return
    typer.echo(table([[_cell(v) for v in row] for row in frame.rows()], frame.columns))


def _cell(value: object) -> object:
    if isinstance(value, list):
        return ", ".join(map(str, value))[:80]
    return format_score(value) if isinstance(value, float) else value
