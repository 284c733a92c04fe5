"""Verbs of evaluation: runs, where their changes come from, baselines, combined runs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from builder.cli.options import Format, PlainFormat, Quiet
from builder.cli.output import table
from builder.cli.shapes import sanity_shape, say_json
from builder.io.disk import check_output_differs
from builder.reporting.numbers import format_score

if TYPE_CHECKING:
    import polars as pl

    from builder.collection.read import Collection as OpenCollection
    from builder.evaluation import SanityRow

Collection = Annotated[Path, typer.Argument(help="A version folder, or one above it.")]
Measures = Annotated[
    list[str] | None,
    typer.Option(help="Measures such as nDCG@10; comma-separated or repeatable."),
]
Runs = Annotated[list[Path], typer.Argument(help="Run files, or folders of them.")]


def evaluate(
    collection: Collection,
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="TREC runs, folders or zip files of them, or tables of scores (`trec_eval -q`, "
            "CSV); the snapshot is in the file's or folder's name."
        ),
    ],
    pivot: Annotated[str | None, typer.Option(help="System that others are related to.")] = None,
    measures: Measures = None,
    depth: Annotated[int, typer.Option(min=1, help="Documents looked at per query.")] = 1000,
    pairs: Annotated[str, typer.Option(help="Compare: first, consecutive or all.")] = "first",
    split: Annotated[
        list[str] | None, typer.Option(help="Judge only queries of this split; repeat it.")
    ] = None,
    resamples: Annotated[int, typer.Option(min=0, help="Bootstrap resamples.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    confidence: Annotated[float, typer.Option(help="Coverage of the intervals.")] = 0.95,
    rbo_p: Annotated[float, typer.Option(help="Persistence of rank-biased overlap.")] = 0.9,
    html: Annotated[Path | None, typer.Option(help="Also write tables and charts here.")] = None,
    per_query: Annotated[
        Path | None, typer.Option(help="Also write a row per query: .csv, .tsv, .parquet or .json.")
    ] = None,
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Evaluate runs over the snapshots of a collection.

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

    parameters = EvaluationParameters(
        measures=tuple(measures or DEFAULT_MEASURES),
        pivot=pivot,
        depth=depth,
        pairs=pairs,  # type: ignore[arg-type]  # checked there
        resamples=resamples,
        seed=seed,
        confidence=confidence,
        rbo_p=rbo_p,
        splits=tuple(split) if split else None,
    )
    for file in (html, per_query):
        if file is not None:
            check_output_differs(file, *runs)
    with extract_archives(runs) as files:
        found = evaluate_paths(qrels_files(collection), files, parameters)
    if per_query is not None:
        write_query_scores(found, per_query)
    if html is not None:
        html.write_text(html_report(found), encoding="utf-8")
    if format is PlainFormat.JSON:
        say_json(to_json(found))
        return
    print_rows(summary_rows(found))
    typer.echo(found.signature())


def qrels_files(collection: Path) -> dict[str, Path]:
    """Judgements by snapshot: of a collection, or files such as `2022-06.qrels` in a folder."""
    from builder.collection.read import open_collection

    judgements = sorted(collection.glob("*.qrels")) if collection.is_dir() else []
    if judgements:
        return {path.stem: path for path in judgements}
    return qrels_of(open_collection(collection))


def qrels_of(opened: "OpenCollection") -> dict[str, Path]:
    """File of the qrels of each snapshot of a collection."""
    return {name: opened.snapshot(name).folder / "qrels.parquet" for name in opened.snapshots}


def attribute(
    collection: Collection,
    runs: Runs,
    measures: Measures = None,
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
        qrels_of(opened),
        opened.path / f"{CHANGE_TABLES['document_changes']}.parquet",
        runs,
        tuple(measures or ("nDCG@10",)),
        depth=depth,
        splits=tuple(split) if split else None,
    )
    if format is PlainFormat.JSON:
        typer.echo(json.dumps([change.to_json() for change in found], indent=1))
    else:
        print_rows([change.row() for change in found])


def baseline(
    collection: Collection,
    out: Annotated[Path, typer.Option(help="Folder for the runs; one file a snapshot.")],
    language: Annotated[
        str | None, typer.Option(help="One of the collection; default: that of its pages.")
    ] = None,
    depth: Annotated[int, typer.Option(min=1, help="Documents per query.")] = 1000,
    quiet: Quiet = False,
) -> None:
    """Search every snapshot with BM25 and write the runs.

    Example: longeval baseline demo/collection --out runs/bm25
    """
    from builder.collection.read import open_collection
    from builder.evaluation import Bm25, bm25_snapshot, write_run

    opened = open_collection(collection)
    chosen, suffix = opened.resolve_language(language)
    parameters = Bm25(language=chosen, depth=depth)
    for name in opened.snapshots:
        folder = opened.snapshot(name).folder
        parts = sorted((folder / "documents").glob("part-*.parquet"))
        queries = folder / "queries.parquet"
        run = bm25_snapshot(parts, queries, parameters, suffix=suffix, tag=f"bm25-{chosen}")
        path = out / f"{name}.txt.gz"
        write_run(run, path)
        if not quiet:
            typer.echo(f"wrote {path}: {run.ranking.height:,} lines")


def sanity(
    collection: Collection,
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Search every snapshot with BM25, in each language, and compare with chance.

    Example: longeval sanity demo/collection
    """
    from builder.collection.read import open_collection
    from builder.evaluation import sanity_table

    opened = open_collection(collection)
    folders = [(name, opened.snapshot(name).folder) for name in opened.snapshots]
    rows = sanity_table(folders, opened.languages)
    if format is PlainFormat.JSON:
        say_json(sanity_shape(rows))
    else:
        typer.echo(sanity_lines(rows))


def sanity_lines(rows: "list[SanityRow]") -> str:
    """The sanity table as text."""
    cells = [
        (
            r.language,
            r.snapshot,
            r.queries,
            f"{r.ndcg:.3f}",
            f"{r.precision:.3f}",
            f"{r.by_chance:.3f}",
        )
        for r in rows
    ]
    return table(cells, ("language", "snapshot", "queries", "nDCG@10", "P@10", "by chance"))


RunFiles = Annotated[list[Path], typer.Argument(help="TREC runs of one snapshot.")]
NewRun = Annotated[Path, typer.Option(help="The new run; .gz is compressed.")]


def fuse(
    runs: RunFiles,
    out: NewRun,
    k: Annotated[int, typer.Option(min=0, help="Constant that damps the top ranks.")] = 60,
    depth: Annotated[int, typer.Option(min=1, help="Documents per query.")] = 1000,
    tag: Annotated[str, typer.Option(help="Name of the new run.")] = "rrf",
) -> None:
    """Fuse runs by reciprocal rank.

    Example: longeval fuse bm25/2022-06.txt.gz dense/2022-06.txt.gz --out rrf/2022-06.txt.gz
    """
    from builder.evaluation import reciprocal_rank_fusion, write_run
    from builder.trec import read_run

    check_output_differs(out, *runs)
    read = [read_run(path, depth) for path in runs]
    fused = reciprocal_rank_fusion(read, k=k, tag=tag, depth=depth)
    write_run(fused, out)
    typer.echo(f"wrote {out}: {fused.ranking.height:,} lines")


def rerank(
    run: Annotated[Path, typer.Argument(help="The run to re-rank.")],
    scores: Annotated[
        Path, typer.Argument(help="Lines `query document score`, or a run, of any model.")
    ],
    out: NewRun,
    top: Annotated[int, typer.Option(min=1, help="Documents per query that may move.")] = 100,
    tag: Annotated[str, typer.Option(help="Name of the new run.")] = "rerank",
) -> None:
    """Reorder the top of a run by the scores of any model.

    Example: longeval rerank bm25/2022-06.txt.gz scores.tsv --out mine/2022-06.txt.gz
    """
    from builder.evaluation import read_scores, write_run
    from builder.evaluation import rerank as reorder
    from builder.trec import read_run

    check_output_differs(out, run, scores)
    reordered = reorder(read_run(run, None), read_scores(scores), top=top, tag=tag)
    write_run(reordered, out)
    typer.echo(f"wrote {out}: {reordered.ranking.height:,} lines")


def dense(
    documents: Annotated[Path, typer.Argument(help="Parquet with doc_id and vector.")],
    queries: Annotated[Path, typer.Argument(help="Parquet with query_id and vector.")],
    out: NewRun,
    depth: Annotated[int, typer.Option(min=1, help="Documents per query.")] = 1000,
    tag: Annotated[str, typer.Option(help="Name of the new run.")] = "dense",
) -> None:
    """Search exactly by the inner product of embeddings of any model.

    Example: longeval dense documents.parquet queries.parquet --out dense/2022-06.txt.gz
    """
    from builder.evaluation import dense_search, write_run

    check_output_differs(out, documents, queries)
    found = dense_search(documents, queries, depth=depth, tag=tag)
    write_run(found, out)
    typer.echo(f"wrote {out}: {found.ranking.height:,} lines")


def boost(
    run: Annotated[Path, typer.Argument(help="The run to boost.")],
    qrels: Annotated[list[Path], typer.Argument(help="Judgements of earlier snapshots.")],
    out: NewRun,
    weight: Annotated[float, typer.Option(min=0, help="What a grade of 1 adds.")] = 1.0,
    tag: Annotated[str, typer.Option(help="Name of the new run.")] = "boost",
) -> None:
    """Move documents up that earlier snapshots judge relevant to the same query.

    Example: longeval boost bm25/2022-07.txt.gz 2022-06/qrels.parquet --out boost/2022-07.txt.gz
    """
    from builder.evaluation import qrel_boost, read_qrels, write_run
    from builder.trec import read_run

    check_output_differs(out, run, *qrels)
    judgements = [read_qrels(path) for path in qrels]
    boosted = qrel_boost(read_run(run, None), judgements, weight=weight, tag=tag)
    write_run(boosted, out)
    typer.echo(f"wrote {out}: {boosted.ranking.height:,} lines")


def reproducibility(
    collection: Collection,
    runs: Runs,
    pivot: Annotated[str | None, typer.Option(help="System that others are related to.")] = None,
    measures: Measures = None,
    depth: Annotated[int, typer.Option(min=1, help="Documents compared per query.")] = 100,
    rbo_p: Annotated[float, typer.Option(help="Persistence of rank-biased overlap.")] = 0.9,
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Compare result lists of two snapshots over the documents that both hold.

    Prints per-topic RMSE of scores, Kendall's tau-b and rank-biased overlap.

    Example: longeval reproducibility demo/collection runs/bm25 runs/dense --pivot bm25
    """
    from builder.collection.read import open_collection
    from builder.evaluation import reproducibility as compare_lists

    opened = open_collection(collection)
    table = compare_lists(
        {name: opened.snapshot(name).folder for name in opened.snapshots},
        opened.path / "documents_map.parquet",
        runs,
        tuple(measures or ("nDCG@10",)),
        pivot=pivot,
        depth=depth,
        rbo_p=rbo_p,
    )
    print_frames(format, reproducibility=table)


def print_frames(kind: PlainFormat, **frames: "pl.DataFrame") -> None:
    """Named tables as JSON, or one after the other as text."""
    if kind is PlainFormat.JSON:
        rows = {name: frame.to_dicts() for name, frame in frames.items()}
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=1, default=str))
        return
    for name, frame in frames.items():
        typer.echo(name)
        print_rows(frame.to_dicts())
        typer.echo("")


def print_rows(rows: list[dict[str, Any]]) -> None:
    """Rows of one table as text."""
    if not rows:
        typer.echo("(none)")
        return
    cells = [[_cell(value) for value in row.values()] for row in rows]
    typer.echo(table(cells, list(rows[0])))


def _cell(value: object) -> object:
    return format_score(value) if isinstance(value, float) else value


runs = typer.Typer(
    name="runs",
    help="Runs before they are submitted or evaluated.\n\n"
    "Example: longeval runs check demo/collection runs/bm25",
    no_args_is_help=True,
)


@runs.command("check")
def check_runs(
    collection: Collection,
    files: Annotated[list[Path], typer.Argument(help="Runs, folders or zip files of them.")],
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Check runs as the lab's checker does: exit 0 without errors, 1 with errors.

    Shows what `ir-metadata.yml` next to a run says of team, system and resources.

    Example: longeval runs check demo/collection team.zip
    """
    import polars as pl

    from builder.collection.read import open_collection
    from builder.evaluation import check_submissions, extract_archives
    from builder.evaluation.runs.archives import EXTRACTED_PREFIX

    opened = open_collection(collection)
    folders = {name: opened.snapshot(name).folder for name in opened.snapshots}
    with extract_archives(files) as paths:
        checked = check_submissions(folders, paths)
    shown = checked.runs.with_columns(pl.col("run").str.replace(EXTRACTED_PREFIX, ""))
    print_frames(format, runs=shown, findings=checked.findings)
    if checked.findings.filter(level="error").height:
        raise typer.Exit(1)


VERBS: tuple[Callable[..., Any], ...] = (
    *(evaluate, attribute, reproducibility, sanity, baseline),
    *(fuse, rerank, dense, boost),
)
