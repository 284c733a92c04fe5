"""Command group `longeval classification`, for collections of labeled posts over time."""

from pathlib import Path
from typing import Annotated

import typer

from builder.cli.help import CommandGroup
from builder.cli.options import Format, OutputFormat, Quiet
from builder.cli.output import format_row_counts, print_data_frames, print_rows
from builder.reporting.numbers import pluralize

VersionFolder = Annotated[
    Path, typer.Argument(help="Version folder of a classification collection.")
]

classification = typer.Typer(
    name="classification",
    cls=CommandGroup,
    help="Build, validate and evaluate collections of labeled posts over time.",
    no_args_is_help=True,
)


@classification.command("build")
def build_collection(
    definition: Annotated[Path, typer.Argument(help="Collection definition (TOML file).")],
    out: Annotated[Path, typer.Option(help="Collection folder in which the version is published.")],
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Print whether the build would run and why, without running it."
        ),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Build a classification collection from timestamped posts.

    Example: longeval classification build posts.toml --out posts
    """
    from builder.tasks.classification import build_classification, classification_rebuild_reasons

    if explain:
        reasons = classification_rebuild_reasons(definition, out)
        typer.echo(f"run   {'; '.join(reasons)}" if reasons else "skip  up to date")
        return
    report = build_classification(definition, out)
    if not quiet:
        print_rows(report.splits.to_dicts())
        typer.echo(format_row_counts(report.ledger))
        if report.unused_labels:
            counts = ", ".join(f"{reason} {n:,}" for reason, n in report.unused_labels.items())
            unused = pluralize(sum(report.unused_labels.values()), "post")
            typer.echo(f"human labels of {unused} were not used ({counts})")
        typer.echo(f"{'published' if report.rebuilt else 'nothing to do:'} {report.folder}")


@classification.command("validate")
def validate_collection(collection: VersionFolder) -> None:
    """Validate a classification collection and print what is wrong with it.

    Exits with code 1 if there are findings.

    Example: longeval classification validate posts/0.1.0
    """
    from builder.collection.findings import format_text
    from builder.tasks.classification import validate_classification

    findings = validate_classification(collection)
    for finding in findings:
        typer.echo(format_text(finding))
    typer.echo(pluralize(len(findings), "finding") if findings else "no findings")
    if findings:
        raise typer.Exit(1)


@classification.command("evaluate")
def evaluate_predictions(
    collection: VersionFolder,
    predictions: Annotated[
        list[Path], typer.Argument(help="Prediction files (TSV: id, label), one per system.")
    ],
    format: Format = OutputFormat.TEXT,  # noqa: A002 - name of the option
) -> None:
    """Score predictions by macro-F1 and weighted F1, and measure how the scores change over time.

    Example: longeval classification evaluate posts/0.1.0 mine.tsv
    """
    from builder.tasks.classification import evaluate_classification

    report = evaluate_classification(collection, predictions)
    print_data_frames(format, summary=report.summary, scores=report.scores)


@classification.command("agreement")
def measure_annotator_agreement(
    labels: Annotated[list[Path], typer.Argument(help="Human labels (TSV: id, annotator, label).")],
) -> None:
    """Measure annotator agreement: Cohen's kappa, Fleiss' kappa and Krippendorff's alpha.

    Example: longeval classification agreement ann.tsv bob.tsv
    """
    from builder.tasks.classification import measure_agreement_in_files

    report = measure_agreement_in_files(labels)
    print_rows(report.pairs.to_dicts())
    typer.echo(
        f"{pluralize(report.posts, 'post')}, {pluralize(len(report.annotators), 'annotator')}"
    )
    for name, coefficient in (
        ("Fleiss' kappa", report.fleiss),
        ("Krippendorff's alpha", report.krippendorff),
    ):
        value = "undefined" if coefficient.value is None else f"{coefficient.value:.4f}"
        typer.echo(f"{name} {value}" + (f" ({coefficient.reason})" if coefficient.reason else ""))


@classification.command("baseline")
def predict_with_baseline(
    collection: VersionFolder,
    out: Annotated[Path, typer.Option(help="Output file for the predictions (TSV).")],
) -> None:
    """Predict the labels of the test sets with TF-IDF and logistic regression.

    Example: longeval classification baseline posts/0.1.0 --out baseline.tsv
    """
    from builder.tasks.classification import run_classification_baseline

    predictions = run_classification_baseline(collection, out)
    typer.echo(f"wrote {pluralize(predictions, 'prediction')} to {out}")
