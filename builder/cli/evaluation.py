"""Verbs of evaluation: runs, baselines, trends, filtering, summaries, classification."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from builder.cli.analysis import Format, PlainFormat
from builder.cli.build import Quiet
from builder.cli.output import table

if TYPE_CHECKING:
    import polars as pl

MEASURES = ("nDCG", "nDCG@10", "P@10", "AP", "bpref", "RR", "ERR@20")

Collection = Annotated[Path, typer.Argument(help="A version folder, or one above it.")]
Runs = Annotated[list[Path], typer.Argument(help="Run files, or folders of them.")]
TruthFile = Annotated[Path, typer.Argument(help="Filtering truth (KBA format).")]


def evaluate(
    collection: Collection,
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="TREC runs, plain or gzip; the snapshot is in the file's or folder's name."
        ),
    ],
    pivot: Annotated[str | None, typer.Option(help="System that others are related to.")] = None,
    measures: Annotated[
        list[str] | None, typer.Option(help="Such as nDCG@10; several may follow.")
    ] = None,
    depth: Annotated[int, typer.Option(min=1, help="Documents looked at per query.")] = 1000,
    pairs: Annotated[str, typer.Option(help="Compare: first, consecutive or all.")] = "first",
    split: Annotated[
        list[str] | None, typer.Option(help="Judge only queries of this split; repeat it.")
    ] = None,
    resamples: Annotated[int, typer.Option(min=0, help="Bootstrap resamples.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    html: Annotated[Path | None, typer.Option(help="Also write tables and charts here.")] = None,
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Evaluate runs over the snapshots of a collection.

    Example: longeval evaluate demo/collection runs/bm25 runs/dense --pivot bm25
    """
    from builder.collection.read import open_collection
    from builder.evaluation import (
        EvaluationParameters,
        evaluate_paths,
        html_report,
        summary_rows,
        to_json,
    )

    opened = open_collection(collection)
    qrels = {name: opened.snapshot(name).folder / "qrels.parquet" for name in opened.snapshots}
    parameters = EvaluationParameters(
        measures=tuple(measures or MEASURES),
        pivot=pivot,
        depth=depth,
        pairs=pairs,  # type: ignore[arg-type]  # checked there
        resamples=resamples,
        seed=seed,
        splits=tuple(split) if split else None,
    )
    found = evaluate_paths(qrels, runs, parameters)
    if html is not None:
        html.write_text(html_report(found), encoding="utf-8")
    if format is PlainFormat.JSON:
        typer.echo(json.dumps(to_json(found), ensure_ascii=False, indent=1))
        return
    _print_rows(summary_rows(found))
    typer.echo(found.signature())


def attribute(
    collection: Collection,
    runs: Runs,
    measures: Annotated[
        list[str] | None, typer.Option(help="Such as nDCG@10; several may follow.")
    ] = None,
    depth: Annotated[int, typer.Option(min=1, help="Documents looked at per query.")] = 1000,
    split: Annotated[
        list[str] | None, typer.Option(help="Judge only queries of this split; repeat it.")
    ] = None,
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Tell how much of a change of score comes from documents, queries and judgements.

    Example: longeval attribute demo/collection runs/bm25 --measures nDCG@10
    """
    from builder.collection.layout import CHANGE_TABLES
    from builder.collection.read import open_collection
    from builder.evaluation import attribute_paths

    opened = open_collection(collection)
    found = attribute_paths(
        {name: opened.snapshot(name).folder / "qrels.parquet" for name in opened.snapshots},
        opened.path / f"{CHANGE_TABLES['document_changes']}.parquet",
        runs,
        tuple(measures or ("nDCG@10",)),
        depth=depth,
        splits=tuple(split) if split else None,
    )
    if format is PlainFormat.JSON:
        typer.echo(json.dumps([change.to_json() for change in found], indent=1))
    else:
        _print_rows([change.row() for change in found])


def baseline(
    collection: Collection,
    out: Annotated[Path, typer.Option(help="Folder for the runs; one file a snapshot.")],
    language: Annotated[str, typer.Option(help="fr as crawled, en as translated.")] = "fr",
    depth: Annotated[int, typer.Option(min=1, help="Documents per query.")] = 1000,
    quiet: Quiet = False,
) -> None:
    """Search every snapshot with BM25 and write the runs.

    Example: longeval baseline demo/collection --out runs/bm25
    """
    from builder.collection.read import open_collection
    from builder.evaluation import Bm25, bm25_snapshot, write_run

    opened = open_collection(collection)
    parameters = Bm25(language=language, depth=depth)  # type: ignore[arg-type]  # checked there
    for name in opened.snapshots:
        folder = opened.snapshot(name).folder
        parts = sorted((folder / "documents").glob("part-*.parquet"))
        run = bm25_snapshot(parts, folder / "queries.parquet", parameters, tag=f"bm25-{language}")
        path = out / f"{name}.txt.gz"
        write_run(run, path)
        if not quiet:
            typer.echo(f"wrote {path}: {run.ranking.height:,} lines")


def trend(
    truth: TruthFile,
    runs: Runs,
    measure: Annotated[str, typer.Option(help="Measure of a batch.")] = "f_pra",
    granularity: Annotated[str, typer.Option(help="hour, day, week, month or seconds.")] = "day",
    cutoff: Annotated[
        list[float] | None, typer.Option(help="Least confidence of a returned document; repeat it.")
    ] = None,
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Estimate how filtering systems get better or worse over time (Kenter et al. 2015).

    Example: longeval trend truth.tsv run-a.gz run-b.gz --granularity week
    """
    from builder.evaluation import FilteringParameters, TrendParameters, trend_paths

    filtering = FilteringParameters(granularity=granularity, cutoffs=tuple(cutoff or (0.0,)))
    report = trend_paths(truth, runs, TrendParameters(measure=measure, filtering=filtering))
    _print_frames(
        format, trends=report.trends, ranking=report.ranking, comparisons=report.comparisons
    )


def filtering(
    truth: TruthFile,
    runs: Runs,
    granularity: Annotated[str, typer.Option(help="hour, day, week, month or seconds.")] = "day",
    cutoff: Annotated[
        list[float] | None, typer.Option(help="Least confidence of a returned document; repeat it.")
    ] = None,
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Score filtering runs batch by batch: precision, recall, aptness, F (Kenter et al. 2015).

    Example: longeval filtering truth.tsv run.gz --granularity day --format json
    """
    from builder.evaluation import FilteringParameters, filtering_paths

    parameters = FilteringParameters(granularity=granularity, cutoffs=tuple(cutoff or (0.0,)))
    found = filtering_paths(truth, runs, parameters)
    _print_frames(format, whole=found.whole, batches=found.batches, runs=found.runs)


def summarization(
    nuggets: Annotated[Path, typer.Argument(help="Nuggets of all events.")],
    updates: Annotated[Path, typer.Argument(help="Pooled updates.")],
    matches: Annotated[Path, typer.Argument(help="Matches of updates with nuggets.")],
    runs: Runs,
    events: Annotated[Path | None, typer.Option(help="Start and end of each event.")] = None,
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Score temporal summaries (TREC 2014).

    Example: longeval summarization nuggets.tsv updates.tsv matches.tsv run.tsv
    """
    from builder.evaluation import summarization_paths

    report = summarization_paths(nuggets, updates, matches, runs, events)
    _print_frames(format, means=report.means, events=report.events, ignored=report.ignored)


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
    from builder.evaluation import build_classification

    built = build_classification(definition, out)
    if not quiet:
        _print_rows(built.splits.to_dicts())
        typer.echo(f"{'published' if built.rebuilt else 'nothing to do:'} {built.folder}")


@classification.command("validate")
def validate_posts(
    collection: Annotated[Path, typer.Argument(help="A version folder.")],
) -> None:
    """Check a classification collection: exit 0 when clean, 1 with findings.

    Example: longeval classification validate posts/0.1.0
    """
    from builder.collection.validate import as_text
    from builder.evaluation import validate_classification

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
    from builder.evaluation import evaluate_classification

    found = evaluate_classification(collection, predictions)
    _print_frames(format, summary=found.summary, scores=found.scores)


@classification.command("baseline")
def baseline_posts(
    collection: Annotated[Path, typer.Argument(help="A version folder.")],
    out: Annotated[Path, typer.Option(help="Predictions (TSV).")],
) -> None:
    """Predict with TF-IDF and logistic regression.

    Example: longeval classification baseline posts/0.1.0 --out baseline.tsv
    """
    from builder.evaluation import classification_baseline

    typer.echo(f"wrote {classification_baseline(collection, out):,} predictions to {out}")


def _print_frames(kind: PlainFormat, **frames: "pl.DataFrame") -> None:
    """Named tables as JSON, or one after the other as text."""
    if kind is PlainFormat.JSON:
        rows = {name: frame.to_dicts() for name, frame in frames.items()}
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=1, default=str))
        return
    for name, frame in frames.items():
        typer.echo(name)
        _print_rows(frame.to_dicts())
        typer.echo("")


def _print_rows(rows: list[dict[str, Any]]) -> None:
    if not rows:
        typer.echo("(none)")
        return
    cells = [[_cell(value) for value in row.values()] for row in rows]
    typer.echo(table(cells, list(rows[0])))


def _cell(value: object) -> object:
    return f"{value:.4f}" if isinstance(value, float) else value


VERBS: tuple[Callable[..., Any], ...] = (
    evaluate,
    attribute,
    baseline,
    trend,
    filtering,
    summarization,
)
