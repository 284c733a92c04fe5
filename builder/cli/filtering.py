"""The subcommand `longeval filtering`, and the options that it shares with `longeval trend`."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from builder.cli.evaluation import Runs, print_frames
from builder.cli.options import Format, PlainFormat

if TYPE_CHECKING:
    from builder.tasks.filtering import FilteringParameters

TruthFile = Annotated[Path, typer.Argument(help="Filtering truth (KBA format).")]
Granularity = Annotated[
    str, typer.Option(help="Length of a batch: hour, day, week, month or seconds.")
]
Cutoffs = Annotated[
    list[float] | None,
    typer.Option(
        "--cutoff", help="Minimum confidence of a returned document; comma-separated or repeatable."
    ),
]
Relevance = Annotated[
    int, typer.Option(help="Minimum relevant rating: 2 vital, 1 useful, 0 neutral.")
]
Assessors = Annotated[
    str, typer.Option(help="A pair is relevant if all or any of its assessors say so.")
]
Unjudged = Annotated[
    str, typer.Option(help="Returned pairs without a judgement: false_positive or ignored.")
]
Average = Annotated[
    str, typer.Option(help="macro: mean over targets; micro: counts of all targets together.")
]
Zeta = Annotated[float, typer.Option(help="Number of false positives that halves aptness.")]
CutoffRule = Annotated[
    str, typer.Option(help="Whether a document at the cut-off is returned: at_or_above or above.")
]


def filtering_parameters(
    granularity: str = "day",
    cutoffs: Sequence[float] | None = None,
    relevance: int = 2,
    assessors: str = "all",
    unjudged: str = "false_positive",
    average: str = "macro",
    zeta: float = 1.0,
    cutoff_rule: str = "at_or_above",
    *,
    sweep: bool = False,
) -> "FilteringParameters":
    """Parameters of the options.

    Args:
        granularity: See `FilteringParameters`, as all others.
        cutoffs: Cut-offs; None or empty: the default.
        relevance: Minimum relevant rating.
        assessors: `all` or `any`.
        unjudged: `false_positive` or `ignored`.
        average: `macro` or `micro`.
        zeta: Number of false positives that halves aptness.
        cutoff_rule: `at_or_above` or `above`.
        sweep: The default cut-offs are those of trends, `KENTER_SWEEP`.

    Raises:
        UsageError: a value is outside its range.
    """
    from builder.tasks.filtering import KENTER_SWEEP, FilteringParameters

    return FilteringParameters(
        granularity=granularity,
        cutoffs=tuple(cutoffs or (KENTER_SWEEP if sweep else FilteringParameters().cutoffs)),
        relevance=relevance,
        assessors=assessors,  # type: ignore[arg-type]  # all texts are checked there
        unjudged=unjudged,  # type: ignore[arg-type]
        average=average,  # type: ignore[arg-type]
        zeta=zeta,
        cutoff_rule=cutoff_rule,  # type: ignore[arg-type]
    )


def filtering(
    truth: TruthFile,
    runs: Runs,
    granularity: Granularity = "day",
    cutoff: Cutoffs = None,
    relevance: Relevance = 2,
    assessors: Assessors = "all",
    unjudged: Unjudged = "false_positive",
    average: Average = "macro",
    zeta: Zeta = 1.0,
    cutoff_rule: CutoffRule = "at_or_above",
    min_positives: Annotated[
        int, typer.Option(min=0, help="Minimum relevant documents of a target, official averages.")
    ] = 4,
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Score filtering runs batch by batch (Kenter et al. 2015), and as the scorer of TREC KBA does.

    Example: longeval filtering truth.tsv run.gz --granularity day --format json
    """
    from builder.tasks.filtering import evaluate_filtering

    parameters = filtering_parameters(
        granularity, cutoff, relevance, assessors, unjudged, average, zeta, cutoff_rule
    )
    found = evaluate_filtering(truth, runs, replace(parameters, min_positives=min_positives))
    print_frames(
        format,
        whole=found.whole,
        official=found.official,
        official_cutoffs=found.official_cutoffs,
        batches=found.batches,
        runs=found.runs,
    )


VERBS: tuple[Callable[..., Any], ...] = (filtering,)
