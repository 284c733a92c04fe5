"""Command groups `longeval topics` (rank, audit) and `longeval queries` (audit)."""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from builder.cli.help import CommandGroup
from builder.cli.options import MAX_ROWS, Format, OutputFormat
from builder.cli.output import format_table, print_rows
from builder.io.disk import check_output_is_not_input
from builder.reporting.numbers import pluralize

if TYPE_CHECKING:
    import polars as pl

QUERY_FILE_HELP = "Query file: Parquet, or text with a query id, a tab and a query on each line."


class StabilityMeasure(StrEnum):
    """Measure of the long-term stability of a topic's popularity."""

    CV = "cv"
    EVENNESS = "evenness"
    FLOOR = "floor"
    VOLATILITY = "volatility"
    TREND = "trend"


topics = typer.Typer(
    name="topics",
    cls=CommandGroup,
    help="Rank topic candidates and audit topics.",
    no_args_is_help=True,
)
queries = typer.Typer(
    name="queries",
    cls=CommandGroup,
    help="Audit query files for known defects.",
    no_args_is_help=True,
)


@topics.command("rank")
def rank_topics(
    counts: Annotated[
        Path,
        typer.Argument(
            help="Monthly counts: label, month, count (.tsv, .csv, .tsv.gz, .csv.gz or .parquet)."
        ),
    ],
    stability: Annotated[
        StabilityMeasure, typer.Option(help="Stability measure.")
    ] = StabilityMeasure.CV,
    top: Annotated[
        int, typer.Option(min=1, max=MAX_ROWS, help="Maximum number of topics to return.")
    ] = 50,
    out: Annotated[
        Path | None, typer.Option(help="Also write the topics as a topic table (TSV).")
    ] = None,
    language: Annotated[str, typer.Option(help="Language of the labels.")] = "fr",
    format: Format = OutputFormat.TEXT,  # noqa: A002 - name of the option
) -> None:
    """Rank topic candidates by popularity and long-term stability.

    Example: longeval topics rank views.tsv --stability cv --top 30 --out topics.tsv
    """
    from builder.queries import FORMULA, note_missing_months, read_monthly_counts, write_topics
    from builder.queries import rank_topics as rank_candidates

    monthly_counts = read_monthly_counts(counts)
    ranked = rank_candidates(monthly_counts, stability.value).head(top)
    notes = list(note_missing_months(monthly_counts))
    if out is not None:
        check_output_is_not_input(out, counts)
        write_topics(ranked, out, language, stability.value)
    if format is OutputFormat.JSON:
        formula = FORMULA.format(stability=stability.value)
        _print_json({"formula": formula, "topics": ranked, "notes": notes})
        return
    typer.echo(FORMULA.format(stability=stability.value))
    print_rows(ranked.to_dicts())
    for note in notes:
        typer.echo(f"note: {note}")
    if out is not None:
        typer.echo(f"wrote {out}")


@topics.command("audit")
def audit_topics(
    topic_file: Annotated[
        Path,
        typer.Argument(
            metavar="TOPICS", help="Topic table: TSV, or topics.parquet of a collection."
        ),
    ],
    query_files: Annotated[list[Path], typer.Argument(metavar="QUERIES...", help=QUERY_FILE_HELP)],
    examples: Annotated[
        int, typer.Option(min=0, max=MAX_ROWS, help="Maximum number of examples per topic.")
    ] = 10,
    format: Format = OutputFormat.TEXT,  # noqa: A002 - name of the option
) -> None:
    """Compare topic matching policies: show which queries each policy assigns to each topic.

    Example: longeval topics audit topics.tsv queries.tsv --examples 20
    """
    from builder.queries import audit_topics_in_files

    audit = audit_topics_in_files(topic_file, query_files, examples)
    frames = {
        "counts": audit.counts,
        "false_words": audit.false_words,
        "differences": audit.differences,
    }
    if format is OutputFormat.JSON:
        _print_json({"queries": audit.queries, "texts": audit.texts, **frames})
        return
    typer.echo(
        f"{pluralize(audit.texts, 'text')}, "
        f"{pluralize(audit.queries, 'distinct query', 'distinct queries')}"
    )
    for name, frame in frames.items():
        typer.echo(f"\n{name.replace('_', ' ')}")
        print_rows(frame.to_dicts())


@queries.command("audit")
def audit_queries(
    file: Annotated[Path, typer.Argument(help=QUERY_FILE_HELP)],
    examples: Annotated[
        int, typer.Option(min=0, max=MAX_ROWS, help="Maximum number of duplicate groups to print.")
    ] = 10,
    format: Format = OutputFormat.TEXT,  # noqa: A002 - name of the option
) -> None:
    """Count known defects of a query file, such as duplicates and personal data.

    Personal data are counted, but never printed.

    Example: longeval queries audit queries.tsv
    """
    from builder.queries import audit_texts_in_file

    audit = audit_texts_in_file(file)
    groups = {"same_text": audit.same_text, "same_folded": audit.same_folded}
    if format is OutputFormat.JSON:
        counts = {"lines": audit.lines, "longest": audit.longest, "faults": audit.faults}
        _print_json({**counts, **groups})
        return
    typer.echo(
        f"{pluralize(audit.lines, 'line')}; the longest text has "
        f"{pluralize(audit.longest, 'character')}\n"
    )
    typer.echo(format_table(sorted(audit.faults.items()), ("fault", "lines")))
    for name, frame in groups.items():
        typer.echo(
            f"\n{name.replace('_', ' ')} under several ids: {pluralize(frame.height, 'group')}"
        )
        if frame.height and examples:
            print_rows(frame.head(examples).to_dicts())


def _print_json(value: dict[str, Any]) -> None:
    """Print a dictionary as JSON, with data frames as lists of rows."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=1, default=_frame_to_rows))


def _frame_to_rows(frame: "pl.DataFrame") -> list[dict[str, Any]]:
    return frame.to_dicts()
