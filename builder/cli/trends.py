"""The group `longeval trend`: trends of scores over snapshots and of filtering systems."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from builder.cli.arguments import DefaultGroup
from builder.cli.evaluation import Collection, Measures, Runs, print_frames, qrels_of
from builder.cli.filtering import (
    Assessors,
    Average,
    CutoffRule,
    Cutoffs,
    Granularity,
    Relevance,
    TruthFile,
    Unjudged,
    Zeta,
    filtering_parameters,
)
from builder.cli.options import Format, PlainFormat

if TYPE_CHECKING:
    from builder.evaluation import TrendReport
    from builder.tasks.filtering import FilteringTrendParameters

trend = typer.Typer(
    name="trend",
    cls=DefaultGroup,
    help="Trends over time (Kenter et al. 2015). `longeval trend TRUTH RUNS` is `trend filtering`."
    "\n\nExample: longeval trend truth.tsv run-a.gz run-b.gz --granularity week",
    no_args_is_help=True,
)
Residuals = Annotated[
    str, typer.Option(help="Residuals tested for normality and independence: raw or weighted.")
]
Granularities = Annotated[
    list[str] | None,
    typer.Option(
        "--granularity",
        help="hour, day, week, month or seconds; repeatable. Default: 1, 7, 30 days.",
    ),
]


@trend.command("filtering")
def trend_of_filtering(
    truth: TruthFile,
    runs: Runs,
    measure: Annotated[
        str, typer.Option(help="precision, recall, f_pr, aptness or f_pra.")
    ] = "f_pra",
    granularity: Granularity = "day",
    cutoff: Cutoffs = None,
    relevance: Relevance = 2,
    assessors: Assessors = "all",
    unjudged: Unjudged = "false_positive",
    average: Average = "macro",
    zeta: Zeta = 1.0,
    cutoff_rule: CutoffRule = "at_or_above",
    residuals: Residuals = "raw",
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Fit the trend of each filtering system; default cut-offs: 50, 100, ..., 1000.

    Example: longeval trend filtering truth.tsv run-a.gz run-b.gz --granularity week
    """
    from builder.tasks.filtering import FilteringTrendParameters, filtering_trend

    filtering = filtering_parameters(
        granularity, cutoff, relevance, assessors, unjudged, average, zeta, cutoff_rule, sweep=True
    )
    parameters = FilteringTrendParameters(measure, residuals, filtering)  # type: ignore[arg-type]
    report = filtering_trend(truth, runs, parameters)
    _print_report(format, report)


@trend.command("snapshots")
def trend_of_snapshots(
    collection: Collection,
    runs: Runs,
    measures: Measures = None,
    residuals: Residuals = "raw",
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Fit a line through each system's scores over the snapshots of a collection.

    Example: longeval trend snapshots demo/collection runs/bm25 --measures nDCG@10
    """
    from builder.collection.read import open_collection
    from builder.evaluation import EvaluationParameters, evaluate_paths, evaluation_trend

    qrels = qrels_of(open_collection(collection))
    chosen = tuple(measures or ("nDCG@10",))
    parameters = EvaluationParameters(measures=chosen, resamples=0)
    evaluation = evaluate_paths(qrels, runs, parameters)
    report = evaluation_trend(evaluation, residuals)  # type: ignore[arg-type]  # checked there
    _print_report(format, report)


@trend.command("scores")
def trend_of_scores(
    scores: Annotated[
        Path,
        typer.Argument(
            help="TSV or CSV with columns system, measure, snapshot, score, and optionally weight."
        ),
    ],
    residuals: Residuals = "raw",
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Fit a line through the scores of each system in a table.

    Example: longeval trend scores scores.tsv
    """
    from builder.evaluation import snapshot_trend_path

    report = snapshot_trend_path(scores, residuals)  # type: ignore[arg-type]  # checked there
    _print_report(format, report)


@trend.command("rankings")
def compare_rankings(
    truth: TruthFile,
    runs: Runs,
    granularity: Granularity = "day",
    cutoff: Cutoffs = None,
    relevance: Relevance = 2,
    zeta: Zeta = 1.0,
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Compare rankings by F1 and by end points of trends: Kendall's tau (Kenter et al., table 1).

    Example: longeval trend rankings truth.tsv run-a.gz run-b.gz
    """
    from builder.tasks.filtering import compare_rankings as compare

    found = compare(truth, runs, _sweeping(granularity, cutoff, relevance, zeta))
    print_frames(format, rankings=found)


@trend.command("granularities")
def compare_granularities(
    truth: TruthFile,
    runs: Runs,
    granularity: Granularities = None,
    cutoff: Cutoffs = None,
    relevance: Relevance = 2,
    zeta: Zeta = 1.0,
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Compare slopes at the first granularity with those at others (Kenter et al., table 2).

    Example: longeval trend granularities truth.tsv run-a.gz --granularity day --granularity week
    """
    from builder.tasks.filtering import GRANULARITIES
    from builder.tasks.filtering import compare_granularities as compare

    parameters = _sweeping("day", cutoff, relevance, zeta)
    found = compare(truth, runs, parameters, granularity or GRANULARITIES)
    print_frames(format, slope_differences=found)


@trend.command("assumptions")
def check_assumptions(
    truth: TruthFile,
    runs: Runs,
    granularity: Granularities = None,
    cutoff: Cutoffs = None,
    relevance: Relevance = 2,
    zeta: Zeta = 1.0,
    level: Annotated[float, typer.Option(help="Significance level of the tests.")] = 0.05,
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Count trends with normal and independent residuals (Kenter et al., table 3).

    Example: longeval trend assumptions truth.tsv run-a.gz run-b.gz
    """
    from builder.tasks.filtering import GRANULARITIES
    from builder.tasks.filtering import check_assumptions as check

    parameters = _sweeping("day", cutoff, relevance, zeta)
    found = check(truth, runs, parameters, granularity or GRANULARITIES, level)
    print_frames(format, assumptions=found)


def _print_report(kind: PlainFormat, report: "TrendReport") -> None:
    """Print the trends of systems, their ranking and comparisons."""
    print_frames(kind, trends=report.trends, ranking=report.ranking, comparisons=report.comparisons)


def _sweeping(
    granularity: str, cutoffs: list[float] | None, relevance: int, zeta: float
) -> "FilteringTrendParameters":
    """Parameters of trends over the default cut-offs of trends, unless others are given."""
    from builder.tasks.filtering import FilteringTrendParameters

    filtering = filtering_parameters(granularity, cutoffs, relevance, zeta=zeta, sweep=True)
    return FilteringTrendParameters(filtering=filtering)
