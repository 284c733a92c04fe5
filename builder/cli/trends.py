"""Verbs of filtering and trends: `filtering`, `trend` and the tables of Kenter et al. (2015)."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from builder.cli.arguments import DefaultGroup
from builder.cli.evaluation import Collection, Runs, print_frames
from builder.cli.options import Format, PlainFormat
from builder.errors import UsageError

if TYPE_CHECKING:
    from builder.evaluation import FilteringParameters, TrendReport

TruthFile = Annotated[Path, typer.Argument(help="Filtering truth (KBA format).")]
Granularity = Annotated[str, typer.Option(help="hour, day, week, month or seconds.")]
Granularities = Annotated[
    list[str] | None,
    typer.Option(help="Granularities, the first is the reference. Default: day,604800,2592000."),
]
Cutoffs = Annotated[
    list[str] | None,
    typer.Option(
        "--cutoff",
        help="Least confidences of a returned document: 500, 0,250,500 or 50:1000:50.",
    ),
]
Zeta = Annotated[float, typer.Option(help="Aptness is zeta / (zeta + false positives).")]
Relevance = Annotated[int, typer.Option(help="Least relevant rating: 2 vital, 1 useful too.")]
Assessors = Annotated[str, typer.Option(help="Who must find a pair relevant: all or any.")]
Unjudged = Annotated[str, typer.Option(help="Unjudged pairs: false_positive or ignored.")]
Average = Annotated[str, typer.Option(help="macro (over targets) or micro.")]
Start = Annotated[int | None, typer.Option(help="First unix second of the period.")]
End = Annotated[int | None, typer.Option(help="First unix second after the period.")]
Residuals = Annotated[str, typer.Option(help="Residuals to test: raw or weighted.")]
Weights = Annotated[str, typer.Option(help="Weight of a batch: documents or equal.")]
KENTER_GRANULARITIES = ("day", "604800", "2592000")
"""One, seven and thirty days."""

trend = typer.Typer(
    name="trend",
    cls=DefaultGroup,
    help="Trends of filtering systems, or of any measure over the snapshots of a collection.\n\n"
    "Example: longeval trend truth.tsv run-a.gz run-b.gz --granularity week",
    no_args_is_help=True,
)


def _numbers(text: str) -> Iterator[float]:
    """Cut-offs of one value: a number, or `first:last:step` with both ends."""
    parts = text.split(":")
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        numbers = []
    if len(numbers) == 1:
        yield numbers[0]
        return
    if len(numbers) != 3 or not numbers[2] > 0 or not 0 <= numbers[1] - numbers[0] < 1e6:
        raise UsageError(f"--cutoff: expected a number, or first:last:step, found {text!r}")
    steps = int((numbers[1] - numbers[0]) / numbers[2] + 1e-9)
    yield from (numbers[0] + i * numbers[2] for i in range(steps + 1))


def _filtering(cutoff: list[str] | None, default: tuple[float, ...], **given: Any) -> Any:
    from builder.evaluation import FilteringParameters

    cutoffs = tuple(number for text in cutoff or () for number in _numbers(text))
    return FilteringParameters(cutoffs=cutoffs or default, **given)


@trend.command("snapshots")
def snapshot_trends(
    collection: Collection,
    runs: Runs,
    measures: Annotated[
        list[str] | None, typer.Option(help="Such as nDCG@10; several may follow.")
    ] = None,
    residuals: Residuals = "raw",
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Fit a line through each system's scores over the snapshots of a collection.

    Example: longeval trend snapshots demo/collection runs/bm25 --measures nDCG@10
    """
    from builder.collection.read import open_collection
    from builder.evaluation import EvaluationParameters, evaluate_paths, evaluation_trend

    opened = open_collection(collection)
    qrels = {name: opened.snapshot(name).folder / "qrels.parquet" for name in opened.snapshots}
    chosen = tuple(measures or ("nDCG@10",))
    parameters = EvaluationParameters(measures=chosen, resamples=0)
    _print(format, evaluation_trend(evaluate_paths(qrels, runs, parameters), _kind(residuals)))


@trend.command("scores")
def score_trends(
    scores: Annotated[
        Path, typer.Argument(help="TSV or CSV: system, measure, snapshot, score[, weight].")
    ],
    residuals: Residuals = "raw",
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Fit a line through the scores of a table, one row per system, measure and snapshot.

    Example: longeval trend scores scores.csv
    """
    from builder.evaluation import snapshot_trend_path

    _print(format, snapshot_trend_path(scores, _kind(residuals)))


@trend.command("run")
def filtering_trends(
    truth: TruthFile,
    runs: Runs,
    measure: Annotated[str, typer.Option(help="Measure of a batch.")] = "f_pra",
    granularity: Granularity = "day",
    cutoff: Cutoffs = None,
    zeta: Zeta = 1.0,
    relevance: Relevance = 2,
    assessors: Assessors = "all",
    unjudged: Unjudged = "false_positive",
    average: Average = "macro",
    start: Start = None,
    end: End = None,
    residuals: Residuals = "raw",
    weights: Weights = "documents",
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Estimate how filtering systems get better or worse; the word `run` may be left out.

    Kenter et al. (2015). Without --cutoff, the paper's sweep from 50 to 1000 in steps of 50.

    Example: longeval trend truth.tsv run-a.gz run-b.gz --granularity week
    """
    from builder.evaluation import KENTER_SWEEP, TrendParameters, trend_paths

    given = {"granularity": granularity, "zeta": zeta, "relevance": relevance, "start": start}
    given |= {"assessors": assessors, "unjudged": unjudged, "average": average, "end": end}
    parameters = TrendParameters(
        measure=measure,
        residuals=_kind(residuals),
        filtering=_filtering(cutoff, KENTER_SWEEP, **given),
        weights=weights,  # type: ignore[arg-type]  # checked there
    )
    _print(format, trend_paths(truth, runs, parameters))


@trend.command("correlations")
def correlations(
    truth: TruthFile,
    runs: Runs,
    granularity: Granularity = "day",
    cutoff: Cutoffs = None,
    zeta: Zeta = 1.0,
    relevance: Relevance = 2,
    weights: Weights = "documents",
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Compare rankings of systems with and without time by Kendall's tau (Kenter, table 1).

    `official` ranks by the best F over the whole period, `f_pr` and `f_pra` by end points.

    Example: longeval trend correlations truth.tsv run-a.gz run-b.gz
    """
    import polars as pl

    from builder.evaluation import KENTER_SWEEP, filtering_paths, rank_correlations
    from builder.evaluation import filtering_trends as trends_of

    given = {"granularity": granularity, "zeta": zeta, "relevance": relevance}
    scored = filtering_paths(truth, runs, _filtering(cutoff, KENTER_SWEEP, **given))
    ranking = trends_of(scored, ["f_pr", "f_pra"], weights=_weight(weights)).ranking
    rankings = {"official": scored.whole.group_by("system").agg(score=pl.col("f_pr").max())}
    for name in ("f_pr", "f_pra"):
        of_measure = ranking.filter(measure=name)
        rankings[name] = of_measure.select("system", pl.col("end_point").alias("score"))
    scores = pl.concat(
        [
            frame.select("system", ranking=pl.lit(name), score="score")
            for name, frame in rankings.items()
        ]
    ).pivot("ranking", index="system", values="score")
    print_frames(format, correlations=rank_correlations(rankings), scores=scores.sort("system"))


@trend.command("stability")
def stability(
    truth: TruthFile,
    runs: Runs,
    granularities: Granularities = None,
    cutoff: Cutoffs = None,
    zeta: Zeta = 1.0,
    relevance: Relevance = 2,
    weights: Weights = "documents",
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Compare slopes at several granularities (Kenter, table 2).

    Example: longeval trend stability truth.tsv run-a.gz --granularities day,604800,2592000
    """
    from builder.evaluation import slope_stability

    reports = _by_granularity(
        truth, runs, granularities, cutoff, weights, "raw", zeta=zeta, relevance=relevance
    )
    if len(reports) < 2:
        raise UsageError("--granularities: expected two or more different granularities")
    print_frames(
        format, differences=slope_stability({n: report.trends for n, report in reports.items()})
    )


@trend.command("assumptions")
def assumptions(
    truth: TruthFile,
    runs: Runs,
    granularities: Granularities = None,
    cutoff: Cutoffs = None,
    zeta: Zeta = 1.0,
    relevance: Relevance = 2,
    weights: Weights = "documents",
    residuals: Residuals = "raw",
    alpha: Annotated[float, typer.Option(min=0, max=1, help="Level of the tests.")] = 0.05,
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Count how often residuals are normal and independent (Kenter, table 3).

    Example: longeval trend assumptions truth.tsv run-a.gz run-b.gz
    """
    from builder.evaluation import assumption_rates, with_nonzero

    reports = _by_granularity(
        truth, runs, granularities, cutoff, weights, residuals, zeta=zeta, relevance=relevance
    )
    frames = {name: with_nonzero(report) for name, report in reports.items()}
    print_frames(format, assumptions=assumption_rates(frames, alpha))


def _by_granularity(
    truth: Path,
    runs: list[Path],
    granularities: list[str] | None,
    cutoff: list[str] | None,
    weights: str,
    residuals: str,
    **given: Any,
) -> "dict[str, TrendReport]":
    """Trends of all measures, by granularity."""
    from builder.evaluation import FILTERING_MEASURES, KENTER_SWEEP, filtering_paths
    from builder.evaluation import filtering_trends as trends_of

    reports = {}
    for name in dict.fromkeys(granularities or KENTER_GRANULARITIES):
        parameters: FilteringParameters = _filtering(
            cutoff, KENTER_SWEEP, granularity=name, **given
        )
        scored = filtering_paths(truth, runs, parameters)
        reports[name] = trends_of(scored, FILTERING_MEASURES, _kind(residuals), _weight(weights))
    return reports


def _kind(residuals: str) -> Any:
    from builder.evaluation.checks import require_one_of

    require_one_of("--residuals", residuals, ("raw", "weighted"))
    return residuals


def _weight(weights: str) -> Any:
    from builder.evaluation.checks import require_one_of

    require_one_of("--weights", weights, ("documents", "equal"))
    return weights


def _print(kind: PlainFormat, report: "TrendReport") -> None:
    print_frames(kind, trends=report.trends, ranking=report.ranking, comparisons=report.comparisons)


def filtering(
    truth: TruthFile,
    runs: Runs,
    granularity: Granularity = "day",
    cutoff: Cutoffs = None,
    zeta: Zeta = 1.0,
    relevance: Relevance = 2,
    assessors: Assessors = "all",
    unjudged: Unjudged = "false_positive",
    average: Average = "macro",
    start: Start = None,
    end: End = None,
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Score filtering runs batch by batch: precision, recall, aptness and F of Kenter (2015).

    Example: longeval filtering truth.tsv run.gz --granularity day --format json
    """
    from builder.evaluation import filtering_paths

    given = {"granularity": granularity, "zeta": zeta, "relevance": relevance, "start": start}
    given |= {"assessors": assessors, "unjudged": unjudged, "average": average, "end": end}
    found = filtering_paths(truth, runs, _filtering(cutoff, (0.0,), **given))
    print_frames(format, whole=found.whole, batches=found.batches, runs=found.runs)


VERBS: tuple[Callable[..., Any], ...] = (filtering,)
