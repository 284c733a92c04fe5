"""Command `longeval filtering`, and the options that it shares with `longeval trend`."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from builder.cli.options import Format, OutputFormat
from builder.cli.output import escape_control_characters, print_data_frames

if TYPE_CHECKING:
    from builder.tasks.filtering import FilteringParameters

TruthFile = Annotated[Path, typer.Argument(help="Truth file in TREC KBA format.")]
FilteringRuns = Annotated[
    list[Path], typer.Argument(help="Run files in TREC KBA format, one per system.")
]
Granularity = Annotated[
    str, typer.Option(help="Batch length: hour, day, week, month or a number of seconds.")
]
Cutoffs = Annotated[
    list[float] | None,
    typer.Option(
        "--cutoff", help="Minimum confidence of a returned document; repeatable or comma-separated."
    ),
]
Relevance = Annotated[
    int,
    typer.Option(
        help="Minimum rating of a relevant document: 2 (vital), 1 (useful) or 0 (neutral)."
    ),
]
AssessorRule = Annotated[
    str, typer.Option(help="Assessors that must rate a document relevant: all or any.")
]
UnjudgedRule = Annotated[
    str, typer.Option(help="How to treat unjudged returned documents: false_positive or ignored.")
]
Average = Annotated[
    str, typer.Option(help="Average over targets: macro (mean of scores) or micro (sum of counts).")
]
Zeta = Annotated[
    float,
    typer.Option(help="Parameter zeta of aptness: number of false positives that halves aptness."),
]
CutoffRule = Annotated[
    str,
    typer.Option(
        help="Whether the confidence of a returned document must be at_or_above or above the "
        "cutoff."
    ),
]


def create_filtering_parameters(
    granularity: str = "day",
    cutoffs: Sequence[float] | None = None,
    min_rating: int = 2,
    assessors: str = "all",
    unjudged: str = "false_positive",
    average: str = "macro",
    zeta: float = 1.0,
    cutoff_rule: str = "at_or_above",
    *,
    sweep_cutoffs: bool = False,
) -> "FilteringParameters":
    """Create filtering parameters from command-line options.

    Args:
        granularity: Batch length: `hour`, `day`, `week`, `month` or a number of seconds.
        cutoffs: Minimum confidences of returned documents; the default cutoffs if None or empty.
        min_rating: Minimum rating of a relevant document.
        assessors: Assessors that must rate a document relevant: `all` or `any`.
        unjudged: How to treat unjudged returned documents: `false_positive` or `ignored`.
        average: Average over targets: `macro` or `micro`.
        zeta: Number of false positives that halves the score of the measure aptness.
        cutoff_rule: Whether the confidence of a returned document must be `at_or_above` or `above`
            the cutoff.
        sweep_cutoffs: Whether to use `KENTER_SWEEP` as the default cutoffs.

    Raises:
        UsageError: A value is out of range.
    """
    from builder.tasks.filtering import KENTER_SWEEP, FilteringParameters

    default_cutoffs = KENTER_SWEEP if sweep_cutoffs else FilteringParameters().cutoffs
    return FilteringParameters(
        granularity=granularity,
        cutoffs=tuple(cutoffs or default_cutoffs),
        relevance=min_rating,
        assessors=assessors,  # type: ignore[arg-type]  # FilteringParameters validates strings
        unjudged=unjudged,  # type: ignore[arg-type]
        average=average,  # type: ignore[arg-type]
        zeta=zeta,
        cutoff_rule=cutoff_rule,  # type: ignore[arg-type]
    )


def filtering(
    truth: TruthFile,
    runs: FilteringRuns,
    granularity: Granularity = "day",
    cutoff: Cutoffs = None,
    relevance: Relevance = 2,
    assessors: AssessorRule = "all",
    unjudged: UnjudgedRule = "false_positive",
    average: Average = "macro",
    zeta: Zeta = 1.0,
    cutoff_rule: CutoffRule = "at_or_above",
    min_positives: Annotated[
        int,
        typer.Option(
            min=0,
            help="Minimum number of relevant documents per target; other targets are excluded from "
            "the TREC averages.",
        ),
    ] = 4,
    format: Format = OutputFormat.TEXT,  # noqa: A002 - name of the option
) -> None:
    """Score filtering runs per batch of documents and with the official TREC KBA measures.

    The batches follow Kenter et al. (2015).

    Example: longeval filtering truth.tsv run.gz --granularity day --format json
    """
    from builder.tasks.filtering import evaluate_filtering
    from builder.tasks.filtering.matches import mismatch_warnings

    parameters = create_filtering_parameters(
        granularity, cutoff, relevance, assessors, unjudged, average, zeta, cutoff_rule
    )
    report = evaluate_filtering(truth, runs, replace(parameters, min_positives=min_positives))
    for warning in mismatch_warnings(report):
        typer.echo(f"warning: {escape_control_characters(warning)}", err=True)
    if report.whole["targets_true"].sum() and not report.official.height:
        typer.echo(
            f"warning: no target has {min_positives} or more relevant documents, so the official "
            "averages are undefined: see --min-positives",
            err=True,
        )
    print_data_frames(
        format,
        whole=report.whole,
        official=report.official,
        official_cutoffs=report.official_cutoffs,
        batches=report.batches,
        runs=report.runs,
    )


COMMANDS: tuple[Callable[..., Any], ...] = (filtering,)
