"""Commands that score runs: `evaluate`, `attribute`, `reproducibility`, `sanity`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from builder.cli.json_output import print_json, sanity_rows_to_json
from builder.cli.options import (
    CollectionFolder,
    EvaluationDepth,
    Format,
    Measures,
    OutputFormat,
    Pivot,
    RboPersistence,
    RunPaths,
    ScoredRuns,
    Splits,
)
from builder.cli.output import (
    escape_control_characters,
    format_table,
    print_data_frames,
    print_rows,
)
from builder.errors import UsageError
from builder.io.disk import check_output_is_not_input

if TYPE_CHECKING:
    from builder.collection.read import Collection
    from builder.evaluation import SanityCheckRow


def evaluate(
    collection: CollectionFolder,
    runs: ScoredRuns,
    pivot: Pivot = None,
    measures: Annotated[
        list[str] | None,
        typer.Option(
            help="Measures such as P@10; repeatable or comma-separated. Default: nDCG, nDCG@10, "
            "P@10, AP, bpref, RR and ERR@20."
        ),
    ] = None,
    depth: EvaluationDepth = 1000,
    pairs: Annotated[
        str,
        typer.Option(
            help="Snapshot pairs to compare: first (the first snapshot and each later snapshot), "
            "consecutive or all."
        ),
    ] = "first",
    split: Splits = None,
    resamples: Annotated[
        int,
        typer.Option(min=0, help="Number of bootstrap resamples; 0 disables confidence intervals."),
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the bootstrap.")] = 0,
    confidence: Annotated[float, typer.Option(help="Level of the confidence intervals.")] = 0.95,
    rbo_p: RboPersistence = 0.9,
    html: Annotated[
        Path | None, typer.Option(help="Also write an HTML report to this file.")
    ] = None,
    per_query: Annotated[
        Path | None,
        typer.Option(
            help="Also write per-query scores to this .csv, .tsv, .parquet or .json file."
        ),
    ] = None,
    format: Format = OutputFormat.TEXT,  # noqa: A002 - name of the option
) -> None:
    """Score runs on every snapshot of a collection and measure how the scores change over time.

    Scores are averaged over all judged queries (counted in the column queries). A judged query that
    is missing from the run (column missing) scores 0. A query of the run without judgements (column
    unjudged) is ignored.

    Example: longeval evaluate demo/collection runs/bm25 runs/dense --pivot bm25
    """
    from builder.evaluation import (
        DEFAULT_MEASURES,
        EvaluationParameters,
        evaluate_paths,
        extract_archives,
        html_report,
        summary_rows,
        to_json,
        write_query_scores,
    )
    from builder.evaluation.reports.summary import missing_interval_notes, zero_score_warnings

    parameters = EvaluationParameters(
        measures=tuple(measures or DEFAULT_MEASURES),
        pivot=pivot,
        depth=depth,
        pairs=pairs,  # type: ignore[arg-type]  # EvaluationParameters validates it
        resamples=resamples,
        seed=seed,
        confidence=confidence,
        rbo_p=rbo_p,
        splits=tuple(split) if split else None,
    )
    for file in (html, per_query):
        if file is not None:
            check_output_is_not_input(file, *runs)
    with extract_archives(runs) as files:
        evaluation = evaluate_paths(find_qrels(collection), files, parameters)
    for warning in zero_score_warnings(evaluation):
        typer.echo(f"warning: {escape_control_characters(warning)}", err=True)
    if per_query is not None:
        write_query_scores(evaluation, per_query)
    if html is not None:
        html.write_text(html_report(evaluation), encoding="utf-8")
    if format is OutputFormat.JSON:
        print_json(to_json(evaluation))
        return
    print_rows(summary_rows(evaluation))
    for note in missing_interval_notes(evaluation):
        typer.echo(f"note: {escape_control_characters(note)}")
    typer.echo(evaluation.signature())


def find_qrels(folder: Path) -> dict[str, Path]:
    """Return a dict mapping each snapshot name to the path of its qrels file.

    Warns about files that are not read although their names contain `qrels`, such as `.qrels.xz`,
    and about snapshot names that do not show the chronological order.

    Args:
        folder: Folder of a collection, or folder of files such as `2022-06.qrels`,
            `2022-06.qrels.gz` or `2022-06.qrels.txt`.

    Raises:
        UsageError: Two files contain the qrels of the same snapshot.
    """
    from builder.collection.read import open_collection
    from builder.evaluation.runs.numbering import undated_names_warning

    found: dict[str, Path] = {}
    for path in sorted(folder.glob("*qrels*")) if folder.is_dir() else []:
        name, _, suffix = path.name.rpartition(".qrels")
        if path.name.startswith(".") or not path.is_file():
            continue
        if not name or suffix.removeprefix(".txt") not in ("", ".gz", ".zst"):
            expected = "expected a name such as 2022-06.qrels, .qrels.txt, .qrels.gz or .qrels.zst"
            typer.echo(
                escape_control_characters(f"warning: {path} was not read; {expected}"), err=True
            )
            continue
        if name in found:
            raise UsageError(
                f"{found[name]} and {path} are both qrels of {name}; remove one of them"
            )
        found[name] = path
    if order_warning := undated_names_warning(found):
        typer.echo(escape_control_characters(f"warning: {order_warning}"), err=True)
    return found or qrels_by_snapshot(open_collection(folder))


def qrels_by_snapshot(collection: "Collection") -> dict[str, Path]:
    """Return a dict mapping each snapshot name of a collection to the path of its qrels."""
    folders = folders_by_snapshot(collection)
    return {name: folder / "qrels.parquet" for name, folder in folders.items()}


def folders_by_snapshot(collection: "Collection") -> dict[str, Path]:
    """Return a dict mapping each snapshot name of a collection to its folder."""
    return {name: collection.snapshot(name).folder for name in collection.snapshots}


def attribute(
    collection: CollectionFolder,
    runs: RunPaths,
    measures: Measures = None,
    depth: EvaluationDepth = 1000,
    split: Splits = None,
    earlier_statistics: Annotated[
        list[Path] | None,
        typer.Option(
            help="Runs of the same systems that use the collection statistics of the preceding "
            "snapshot (see `longeval baseline --earlier-statistics`). If these runs are given, "
            "the residual of each score change is split into the effect of the collection "
            "statistics and the effect of the system."
        ),
    ] = None,
    format: Format = OutputFormat.TEXT,  # noqa: A002 - name of the option
) -> None:
    """Attribute score changes to changes in documents, queries and judgements.

    Example: longeval attribute demo/collection runs/bm25 --measures nDCG@10
    """
    from builder.collection.layout import CHANGE_TABLES
    from builder.collection.read import open_collection
    from builder.evaluation import attribute_score_changes, extract_archives

    opened = open_collection(collection)
    with extract_archives(runs) as files:
        attributions = attribute_score_changes(
            qrels_by_snapshot(opened),
            opened.path / f"{CHANGE_TABLES['document_changes']}.parquet",
            files,
            tuple(measures or ("nDCG@10",)),
            depth=depth,
            splits=tuple(split) if split else None,
            earlier_statistics=tuple(earlier_statistics or ()),
        )
    if format is OutputFormat.JSON:
        typer.echo(json.dumps([change.to_json() for change in attributions], indent=1))
    else:
        print_rows([change.to_row() for change in attributions])


def reproducibility(
    collection: CollectionFolder,
    runs: RunPaths,
    pivot: Pivot = None,
    measures: Measures = None,
    depth: Annotated[
        int, typer.Option(min=1, help="Maximum number of documents compared per query.")
    ] = 100,
    rbo_p: RboPersistence = 0.9,
    format: Format = OutputFormat.TEXT,  # noqa: A002 - name of the option
) -> None:
    """Compare how each system ranks the documents that two snapshots have in common.

    Prints the RMSE of the per-query scores, Kendall's tau-b and rank-biased overlap.

    Example: longeval reproducibility demo/collection runs/bm25 runs/dense --pivot bm25
    """
    from builder.collection.read import open_collection
    from builder.evaluation import compare_runs_between_snapshots, extract_archives

    opened = open_collection(collection)
    with extract_archives(runs) as files:
        comparisons = compare_runs_between_snapshots(
            folders_by_snapshot(opened),
            opened.path / "documents_map.parquet",
            files,
            tuple(measures or ("nDCG@10",)),
            pivot=pivot,
            depth=depth,
            rbo_p=rbo_p,
        )
    print_data_frames(format, reproducibility=comparisons)


def sanity(
    collection: CollectionFolder,
    format: Format = OutputFormat.TEXT,  # noqa: A002 - name of the option
) -> None:
    """Check the judgements of each snapshot and language by comparing BM25 with a chance baseline.

    The chance baseline scores the same rankings with the judgements of other queries.

    Example: longeval sanity demo/collection
    """
    from builder.collection.read import open_collection
    from builder.evaluation import run_sanity_check

    opened = open_collection(collection)
    snapshots = [opened.snapshot(name) for name in opened.snapshots]
    rows = run_sanity_check(snapshots, opened.languages)
    if format is OutputFormat.JSON:
        print_json(sanity_rows_to_json(rows))
    else:
        typer.echo(format_sanity_rows(rows))


def format_sanity_rows(rows: "list[SanityCheckRow]") -> str:
    """Format BM25 and chance scores as a text table, with one row per language and snapshot."""
    cells = [
        (
            *(row.language, row.snapshot, row.queries),
            *(
                "-" if mean is None else f"{mean:.3f}"
                for mean in (row.ndcg, row.precision, row.by_chance)
            ),
        )
        for row in rows
    ]
    return format_table(cells, ("language", "snapshot", "queries", "nDCG@10", "P@10", "by chance"))


COMMANDS: tuple[Callable[..., Any], ...] = (evaluate, attribute, reproducibility, sanity)
