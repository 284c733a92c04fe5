"""Command group `longeval trend`, which fits trends to scores over snapshots or batches."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from builder.cli.arguments import DefaultCommandGroup
from builder.cli.evaluation import qrels_by_snapshot
from builder.cli.filtering import (
    AssessorRule,
    Average,
    CutoffRule,
    Cutoffs,
    FilteringRuns,
    Granularity,
    Relevance,
    TruthFile,
    UnjudgedRule,
    Zeta,
    create_filtering_parameters,
)
from builder.cli.options import CollectionFolder, Format, Measures, OutputFormat, ScoredRuns
from builder.cli.output import print_data_frames
from builder.errors import UsageError
from builder.io.disk import check_output_is_not_input

if TYPE_CHECKING:
    from builder.evaluation import TrendReport
    from builder.tasks.filtering import FilteringTrendParameters


class TrendGroup(DefaultCommandGroup):
    """Command group `trend`, whose default command depends on whether an argument is a folder."""

    def default_command(self, args: list[str]) -> str:
        """Return `snapshots` if any argument is a folder, and otherwise `filtering`."""
        return "snapshots" if any(Path(argument).is_dir() for argument in args) else "filtering"


trend = typer.Typer(
    name="trend",
    cls=TrendGroup,
    help="Fit and compare linear trends of scores over time.\n\n"
    "Implements Kenter et al. (2015). Without a subcommand, runs `longeval trend snapshots` if an "
    "argument is a folder, and `longeval trend filtering` otherwise.\n\n"
    "Example: longeval trend demo/collection runs/bm25 --measures nDCG@10",
    no_args_is_help=True,
)
JSON_ONLY = (
    "intercept",
    "t",
    "df",
    "end_point_observed",
    "anderson_darling",
    "durbin_watson",
    "durbin_watson_p_positive",
    "slope_per_batch",
)
"""Trend columns that are printed only as JSON, because text rows would be too long."""
Residuals = Annotated[
    str, typer.Option(help="Residuals to test for normality and independence: raw or weighted.")
]
ChartFile = Annotated[
    Path | None,
    typer.Option(help="Also plot the scores and the trend of each system in this SVG file."),
]
Granularities = Annotated[
    list[str] | None,
    typer.Option(
        "--granularity",
        help="Batch length: hour, day, week, month or a number of seconds; repeatable or "
        "comma-separated. Default: 1, 7 and 30 days.",
    ),
]


@trend.command("filtering")
def fit_filtering_trends(
    truth: TruthFile,
    runs: FilteringRuns,
    measure: Annotated[
        str, typer.Option(help="Measure: precision, recall, f_pr, aptness or f_pra.")
    ] = "f_pra",
    granularity: Granularity = "day",
    cutoff: Cutoffs = None,
    relevance: Relevance = 2,
    assessors: AssessorRule = "all",
    unjudged: UnjudgedRule = "false_positive",
    average: Average = "macro",
    zeta: Zeta = 1.0,
    cutoff_rule: CutoffRule = "at_or_above",
    residuals: Residuals = "raw",
    chart: ChartFile = None,
    format: Format = OutputFormat.TEXT,  # noqa: A002 - name of the option
) -> None:
    """Fit a linear trend to the batch scores of each filtering system.

    Default confidence cutoffs: 50, 100, ..., 1000.

    Example: longeval trend filtering truth.tsv run-a.gz run-b.gz --granularity week
    """
    from builder.tasks.filtering import FilteringTrendParameters, evaluate_filtering_trends

    _check_chart_path(chart, truth, *runs)
    filtering = create_filtering_parameters(
        granularity,
        cutoff,
        relevance,
        assessors,
        unjudged,
        average,
        zeta,
        cutoff_rule,
        sweep_cutoffs=True,
    )
    parameters = FilteringTrendParameters(measure, residuals, filtering)  # type: ignore[arg-type]
    report = evaluate_filtering_trends(truth, runs, parameters)
    _print_report(format, report, chart)


@trend.command("snapshots")
def fit_snapshot_trends(
    collection: CollectionFolder,
    runs: ScoredRuns,
    measures: Measures = None,
    residuals: Residuals = "raw",
    chart: ChartFile = None,
    format: Format = OutputFormat.TEXT,  # noqa: A002 - name of the option
) -> None:
    """Fit a linear trend to each system's scores on the snapshots of a collection.

    Example: longeval trend snapshots demo/collection runs/bm25 --measures nDCG@10
    """
    from builder.collection.read import open_collection
    from builder.evaluation import (
        EvaluationParameters,
        evaluate_paths,
        evaluation_trend_report,
        extract_archives,
    )

    _check_chart_path(chart, *runs)
    qrels = qrels_by_snapshot(open_collection(collection))
    names = tuple(measures or ("nDCG@10",))
    parameters = EvaluationParameters(measures=names, resamples=0)
    with extract_archives(runs) as files:
        evaluation = evaluate_paths(qrels, files, parameters)
    report = evaluation_trend_report(evaluation, residuals)  # type: ignore[arg-type]  # validated there
    _print_report(format, report, chart)


@trend.command("scores")
def fit_score_trends(
    scores: Annotated[
        Path,
        typer.Argument(
            help="TSV or CSV with columns system, measure, snapshot, score and, optionally, weight."
        ),
    ],
    residuals: Residuals = "raw",
    chart: ChartFile = None,
    format: Format = OutputFormat.TEXT,  # noqa: A002 - name of the option
) -> None:
    """Fit a linear trend to each system's scores in a table.

    Example: longeval trend scores scores.tsv
    """
    from builder.evaluation import snapshot_trend_report_from_file

    _check_chart_path(chart, scores)
    report = snapshot_trend_report_from_file(scores, residuals)  # type: ignore[arg-type]  # validated there
    _print_report(format, report, chart)


@trend.command("rankings")
def compare_rankings(
    truth: TruthFile,
    runs: FilteringRuns,
    granularity: Granularity = "day",
    cutoff: Cutoffs = None,
    relevance: Relevance = 2,
    zeta: Zeta = 1.0,
    format: Format = OutputFormat.TEXT,  # noqa: A002 - name of the option
) -> None:
    """Rank the systems by F1 and by the end points of their trends, and compare the rankings.

    Reproduces table 1 of Kenter et al. (2015).

    Example: longeval trend rankings truth.tsv run-a.gz run-b.gz
    """
    from builder.tasks.filtering import compare_rankings as compare

    parameters = _create_trend_parameters(granularity, cutoff, relevance, zeta)
    print_data_frames(format, rankings=compare(truth, runs, parameters))


@trend.command("granularities")
def compare_granularities(
    truth: TruthFile,
    runs: FilteringRuns,
    granularity: Granularities = None,
    cutoff: Cutoffs = None,
    relevance: Relevance = 2,
    zeta: Zeta = 1.0,
    format: Format = OutputFormat.TEXT,  # noqa: A002 - name of the option
) -> None:
    """Compare the trend slopes for the first batch length with the slopes for each other length.

    Reproduces table 2 of Kenter et al. (2015).

    Example: longeval trend granularities truth.tsv run-a.gz --granularity day --granularity week
    """
    from builder.tasks.filtering import GRANULARITIES
    from builder.tasks.filtering import compare_granularities as compare

    parameters = _create_trend_parameters("day", cutoff, relevance, zeta)
    differences = compare(truth, runs, parameters, granularity or GRANULARITIES)
    print_data_frames(format, slope_differences=differences)


@trend.command("assumptions")
def check_assumptions(
    truth: TruthFile,
    runs: FilteringRuns,
    granularity: Granularities = None,
    cutoff: Cutoffs = None,
    relevance: Relevance = 2,
    zeta: Zeta = 1.0,
    level: Annotated[float, typer.Option(help="Significance level of the tests.")] = 0.05,
    format: Format = OutputFormat.TEXT,  # noqa: A002 - name of the option
) -> None:
    """Count the trends whose residuals are normal and independent.

    Reproduces table 3 of Kenter et al. (2015).

    Example: longeval trend assumptions truth.tsv run-a.gz run-b.gz
    """
    from builder.tasks.filtering import GRANULARITIES
    from builder.tasks.filtering import check_trend_assumptions as check

    parameters = _create_trend_parameters("day", cutoff, relevance, zeta)
    assumptions = check(truth, runs, parameters, granularity or GRANULARITIES, level)
    print_data_frames(format, assumptions=assumptions)


def _check_chart_path(chart: Path | None, *inputs: Path) -> None:
    """Check that the chart is an SVG file and does not overwrite an input file.

    Raises:
        UsageError: The chart path has a suffix other than `.svg`, or is the path of an input file.
    """
    if chart is not None:
        if chart.suffix.lower() != ".svg":
            raise UsageError(
                f"--chart: expected a file name that ends in .svg, found {chart.name!r}"
            )
        check_output_is_not_input(chart, *inputs)


def _print_report(output_format: OutputFormat, report: "TrendReport", chart: Path | None) -> None:
    """Print the trends, ranking and pairwise comparisons of systems; plot trends to `chart`.

    Text output leaves out the columns in `JSON_ONLY`; JSON output has all columns.
    """
    from builder.evaluation import trend_chart

    if chart is not None:
        chart.write_text(trend_chart(report), encoding="utf-8")
    trends = report.trends
    if output_format is OutputFormat.TEXT:
        trends = trends.drop(*JSON_ONLY)
    print_data_frames(
        output_format,
        trends=trends,
        ranking=report.ranking,
        comparisons=report.comparisons,
    )


def _create_trend_parameters(
    granularity: str, cutoffs: list[float] | None, min_rating: int, zeta: float
) -> "FilteringTrendParameters":
    """Create trend parameters from options; the default cutoffs are 50, 100, ..., 1000."""
    from builder.tasks.filtering import FilteringTrendParameters

    filtering = create_filtering_parameters(
        granularity, cutoffs, min_rating, zeta=zeta, sweep_cutoffs=True
    )
    return FilteringTrendParameters(filtering=filtering)
