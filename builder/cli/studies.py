"""Subcommands of temporal summarization and of classification collections."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from builder.cli.evaluation import Runs, print_frames, print_rows
from builder.cli.options import Format, PlainFormat, Quiet


def summarization(
    nuggets: Annotated[Path, typer.Argument(help="Nuggets of all events.")],
    updates: Annotated[Path, typer.Argument(help="Pooled updates.")],
    matches: Annotated[Path, typer.Argument(help="Matches of updates with nuggets.")],
    runs: Runs,
    events: Annotated[Path | None, typer.Option(help="Start and end of each event.")] = None,
    relevance: Annotated[
        str, typer.Option(help="Gain of a nugget by its importance (graded), or 1 (binary).")
    ] = "graded",
    max_importance: Annotated[
        float | None, typer.Option(help="Importance with gain 1; default: maximum of the event.")
    ] = None,
    zero_importance: Annotated[
        str, typer.Option(help="Nuggets of importance 0: kept or dropped.")
    ] = "kept",
    latency_step: Annotated[float, typer.Option(help="Seconds that halve a gain's lead.")] = 21_600,
    unpooled: Annotated[
        str, typer.Option(help="Updates outside the pool: unmatched or ignored.")
    ] = "unmatched",
    tau: Annotated[
        list[int] | None,
        typer.Option(help="Also score the first seconds of each event; repeatable."),
    ] = None,
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Score temporal summaries as the official scorer of TREC 2014 does, and over time.

    Example: longeval summarization nuggets.tsv updates.tsv matches.tsv run.tsv
    """
    from builder.tasks.summarization import SummarizationParameters, evaluate_summaries

    parameters = SummarizationParameters(
        relevance=relevance,  # type: ignore[arg-type]  # all texts are checked there
        max_importance=max_importance,
        zero_importance=zero_importance,  # type: ignore[arg-type]
        latency_step=latency_step,
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
    from builder.collection.validate import format_text
    from builder.tasks.classification import validate_classification

    findings = validate_classification(collection)
    for finding in findings:
        typer.echo(format_text(finding))
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


VERBS: tuple[Callable[..., Any], ...] = (summarization,)
