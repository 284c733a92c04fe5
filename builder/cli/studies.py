"""Verbs of filtering, trends, summaries and classification collections."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from builder.cli.arguments import DefaultGroup
from builder.cli.evaluation import Collection, Runs, print_frames, print_rows
from builder.cli.options import Format, PlainFormat, Quiet

TruthFile = Annotated[Path, typer.Argument(help="Filtering truth (KBA format).")]


trend = typer.Typer(
    name="trend",
    cls=DefaultGroup,
    help="Trends of filtering systems, or of any measure over the snapshots of a collection.\n\n"
    "Example: longeval trend truth.tsv run-a.gz run-b.gz --granularity week",
    no_args_is_help=True,
)


@trend.command("snapshots")
def snapshot_trends(
    collection: Collection,
    runs: Runs,
    measures: Annotated[
        list[str] | None, typer.Option(help="Such as nDCG@10; several may follow.")
    ] = None,
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
    report = evaluation_trend(evaluate_paths(qrels, runs, parameters))
    print_frames(
        format, trends=report.trends, ranking=report.ranking, comparisons=report.comparisons
    )


@trend.command("run")
def filtering_trends(
    truth: TruthFile,
    runs: Runs,
    measure: Annotated[str, typer.Option(help="Measure of a batch.")] = "f_pra",
    granularity: Annotated[str, typer.Option(help="hour, day, week, month or seconds.")] = "day",
    cutoff: Annotated[
        list[float] | None, typer.Option(help="Least confidence of a returned document; repeat it.")
    ] = None,
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Estimate how filtering systems get better or worse; the word `run` may be left out.

    Kenter et al. (2015).

    Example: longeval trend truth.tsv run-a.gz run-b.gz --granularity week
    """
    from builder.tasks.filtering import (
        FilteringParameters,
        FilteringTrendParameters,
        filtering_trend,
    )

    filtering = FilteringParameters(granularity=granularity, cutoffs=tuple(cutoff or (0.0,)))
    report = filtering_trend(
        truth, runs, FilteringTrendParameters(measure=measure, filtering=filtering)
    )
    print_frames(
        format, trends=report.trends, ranking=report.ranking, comparisons=report.comparisons
    )


def filtering(
    truth: TruthFile,
    runs: Runs,
    granularity: Annotated[str, typer.Option(help="hour, day, week, month or seconds.")] = "day",
    cutoff: Annotated[
        list[float] | None, typer.Option(help="Least confidence of a returned document; repeat it.")
    ] = None,
    min_positives: Annotated[
        int, typer.Option(min=0, help="Minimum relevant documents of a target, official averages.")
    ] = 4,
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Score filtering runs batch by batch (Kenter et al. 2015), and as the scorer of TREC KBA does.

    Example: longeval filtering truth.tsv run.gz --granularity day --format json
    """
    from builder.tasks.filtering import FilteringParameters, evaluate_filtering

    parameters = FilteringParameters(
        granularity=granularity, cutoffs=tuple(cutoff or (0.0,)), min_positives=min_positives
    )
    found = evaluate_filtering(truth, runs, parameters)
    print_frames(
        format,
        whole=found.whole,
        official=found.official,
        official_cutoffs=found.official_cutoffs,
        batches=found.batches,
        runs=found.runs,
    )


def summarization(
    nuggets: Annotated[Path, typer.Argument(help="Nuggets of all events.")],
    updates: Annotated[Path, typer.Argument(help="Pooled updates.")],
    matches: Annotated[Path, typer.Argument(help="Matches of updates with nuggets.")],
    runs: Runs,
    events: Annotated[Path | None, typer.Option(help="Start and end of each event.")] = None,
    tau: Annotated[
        list[int] | None, typer.Option(help="Seconds after the start of an event; repeat it.")
    ] = None,
    relevance: Annotated[str, typer.Option(help="graded or binary.")] = "graded",
    unpooled: Annotated[
        str, typer.Option(help="Updates that are not pooled: unmatched or ignored.")
    ] = "unmatched",
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Score temporal summaries as the official scorer of TREC 2014 does, and over time.

    Example: longeval summarization nuggets.tsv updates.tsv matches.tsv run.tsv
    """
    from builder.tasks.summarization import SummarizationParameters, evaluate_summaries

    parameters = SummarizationParameters(
        relevance=relevance,  # type: ignore[arg-type]
        unpooled=unpooled,  # type: ignore[arg-type]
        taus=tuple(tau or ()),
    )
    report = evaluate_summaries(nuggets, updates, matches, runs, events, parameters)
    print_frames(
        format,
        official_means=report.official_means,
        official=report.official,
        means=report.means,
        events=report.events,
        tau_means=report.tau_means,
        taus=report.taus,
        ignored=report.ignored,
    )


classification = typer.Typer(
    name="classification",
    help="Collections of labelled posts over time: build, check, evaluate.",
    no_args_is_help=True,
)


@classification.command("build")
def build_posts(
    definition: Annotated[Path, typer.Argument(help="Definition (TOML).")],
    out: Annotated[Path, typer.Option(help="The collection's folder.")],
    quiet: Quiet = False,
) -> None:
    """Make a classification collection from timestamped posts.

    Example: longeval classification build posts.toml --out posts
    """
    from builder.tasks.classification import build_classification

    built = build_classification(definition, out)
    if not quiet:
        print_rows(built.splits.to_dicts())
        typer.echo(f"{'published' if built.rebuilt else 'nothing to do:'} {built.folder}")


@classification.command("validate")
def validate_posts(
    collection: Annotated[Path, typer.Argument(help="A version folder.")],
) -> None:
    """Check a classification collection: exit 0 when clean, 1 with findings.

    Example: longeval classification validate posts/0.1.0
    """
    from builder.collection.validate import as_text
    from builder.tasks.classification import validate_classification

    findings = validate_classification(collection)
    for finding in findings:
        typer.echo(as_text(finding))
    typer.echo(f"{len(findings)} findings" if findings else "no findings")
    if findings:
        raise typer.Exit(1)


@classification.command("evaluate")
def evaluate_posts(
    collection: Annotated[Path, typer.Argument(help="A version folder, with its labels.")],
    predictions: Annotated[list[Path], typer.Argument(help="One TSV for each system.")],
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Score predictions: macro-F1, weighted F1, and their change over time.

    Example: longeval classification evaluate posts/0.1.0 mine.tsv
    """
    from builder.tasks.classification import evaluate_classification

    found = evaluate_classification(collection, predictions)
    print_frames(format, summary=found.summary, scores=found.scores)


@classification.command("agreement")
def agreement_of_annotators(
    labels: Annotated[list[Path], typer.Argument(help="Human labels (TSV: id, annotator, label).")],
) -> None:
    """Agreement of annotators: Cohen's kappa of every two, Fleiss' kappa and alpha of all.

    Example: longeval classification agreement ann.tsv bob.tsv
    """
    from builder.tasks.classification import agreement_paths

    found = agreement_paths(labels)
    print_rows(found.pairs.to_dicts())
    typer.echo(f"{found.posts:,} posts, {len(found.annotators)} annotators")
    for name, value in (("Fleiss' kappa", found.fleiss), ("Krippendorff", found.krippendorff)):
        text = "undefined" if value.value is None else f"{value.value:.4f}"
        typer.echo(f"{name} {text}" + (f" ({value.reason})" if value.reason else ""))


@classification.command("baseline")
def baseline_posts(
    collection: Annotated[Path, typer.Argument(help="A version folder.")],
    out: Annotated[Path, typer.Option(help="Predictions (TSV).")],
) -> None:
    """Predict with TF-IDF and logistic regression.

    Example: longeval classification baseline posts/0.1.0 --out baseline.tsv
    """
    from builder.tasks.classification import classification_baseline

    typer.echo(f"wrote {classification_baseline(collection, out):,} predictions to {out}")


VERBS: tuple[Callable[..., Any], ...] = (filtering, summarization)
