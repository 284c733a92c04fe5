"""Command `longeval summarization`, which scores temporal summaries."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from builder.cli.options import Format, OutputFormat
from builder.cli.output import print_data_frames


def summarization(
    nuggets: Annotated[Path, typer.Argument(help="Nuggets of all events (TSV).")],
    updates: Annotated[Path, typer.Argument(help="Pooled updates (TSV).")],
    matches: Annotated[Path, typer.Argument(help="Matches between updates and nuggets (TSV).")],
    runs: Annotated[list[Path], typer.Argument(help="Run files (TSV), one per system.")],
    events: Annotated[
        Path | None, typer.Option(help="File with the start and end time of each event.")
    ] = None,
    relevance: Annotated[
        str, typer.Option(help="Gain of a nugget: graded by importance, or binary.")
    ] = "graded",
    max_importance: Annotated[
        float | None,
        typer.Option(
            help="Importance at which the gain of a nugget is 1; default: the maximum importance "
            "in each event."
        ),
    ] = None,
    zero_importance: Annotated[
        str, typer.Option(help="How to treat nuggets of importance 0: kept or dropped.")
    ] = "kept",
    latency_step: Annotated[
        float, typer.Option(help="Parameter alpha of the latency discount, in seconds.")
    ] = 21_600,
    unpooled: Annotated[
        str, typer.Option(help="How to treat updates outside the pool: unmatched or ignored.")
    ] = "unmatched",
    tau: Annotated[
        list[int] | None,
        typer.Option(help="Also score the first TAU seconds of each event; repeatable."),
    ] = None,
    format: Format = OutputFormat.TEXT,  # noqa: A002 - name of the option
) -> None:
    """Score temporal summaries with the TREC 2014 measures, overall and over time.

    Example: longeval summarization nuggets.tsv updates.tsv matches.tsv run.tsv
    """
    from builder.tasks.summarization import SummarizationParameters, evaluate_summaries

    parameters = SummarizationParameters(
        relevance=relevance,  # type: ignore[arg-type]  # SummarizationParameters validates strings
        max_importance=max_importance,
        zero_importance=zero_importance,  # type: ignore[arg-type]
        latency_step=latency_step,
        unpooled=unpooled,  # type: ignore[arg-type]
        taus=tuple(tau or ()),
    )
    report = evaluate_summaries(nuggets, updates, matches, runs, events, parameters)
    print_data_frames(
        format,
        official_means=report.official_means,
        official=report.official,
        means=report.means,
        events=report.events,
        tau_means=report.tau_means,
        taus=report.taus,
        ignored=report.ignored,
    )


COMMANDS: tuple[Callable[..., Any], ...] = (summarization,)
