"""Commands that create, combine and check runs, such as `dense`, `fuse` and `runs check`."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from builder.cli.help import CommandGroup
from builder.cli.options import CollectionFolder, Format, OutputFormat, RunDepth
from builder.cli.output import escape_control_characters, print_data_frames
from builder.io.disk import check_output_is_not_input
from builder.reporting.numbers import pluralize

if TYPE_CHECKING:
    from builder.trec import Run

RunFile = Annotated[Path, typer.Argument(help="TREC run file of one snapshot.")]
OutputRun = Annotated[
    Path, typer.Option(help="Output run file; compressed if the name ends in .gz.")
]
Tag = Annotated[str, typer.Option(help="Tag of the output run.")]


def dense(
    documents: Annotated[
        Path, typer.Argument(help="Document embeddings: Parquet with doc_id and vector.")
    ],
    queries: Annotated[
        Path, typer.Argument(help="Query embeddings: Parquet with query_id and vector.")
    ],
    out: OutputRun,
    depth: RunDepth = 1000,
    tag: Tag = "dense",
) -> None:
    """Rank documents by the inner product of query and document embeddings (exact search).

    Example: longeval dense documents.parquet queries.parquet --out dense/2022-06.txt.gz
    """
    from builder.evaluation import dense_search

    check_output_is_not_input(out, documents, queries)
    write_run_file(dense_search(documents, queries, depth=depth, tag=tag), out)


def boost(
    run: RunFile,
    qrels: Annotated[list[Path], typer.Argument(help="Qrels of earlier snapshots.")],
    out: OutputRun,
    weight: Annotated[
        float,
        typer.Option(
            min=0,
            help="Weight of a document's mean grade in earlier snapshots. Scores are first scaled "
            "to 0-1 per query; the weighted grade is then added.",
        ),
    ] = 1.0,
    tag: Tag = "boost",
) -> None:
    """Rerank a run: promote documents that were relevant to the same query in earlier snapshots.

    Example: longeval boost bm25/2022-07.txt.gz 2022-06/qrels.parquet --out boost/2022-07.txt.gz
    """
    from builder.evaluation import qrel_boost, read_qrels
    from builder.trec import read_run, to_release_ids

    check_output_is_not_input(out, run, *qrels)
    judgements = [read_qrels(path) for path in qrels]
    ranked = read_run(run, None)
    for path in qrels:
        ranked = to_release_ids(ranked, path.parent)
    write_run_file(qrel_boost(ranked, judgements, weight=weight, tag=tag), out)


def fuse(
    runs: Annotated[list[Path], typer.Argument(help="TREC run files of the same snapshot.")],
    out: OutputRun,
    k: Annotated[
        int,
        typer.Option(
            min=0,
            help="Constant k in the RRF score 1 / (k + rank); a larger k reduces the weight of the "
            "top ranks.",
        ),
    ] = 60,
    depth: RunDepth = 1000,
    tag: Tag = "rrf",
) -> None:
    """Combine runs by reciprocal rank fusion (RRF).

    Warns if the paths of the runs name different snapshots.

    Example: longeval fuse bm25/2022-06.txt.gz dense/2022-06.txt.gz --out rrf/2022-06.txt.gz
    """
    from builder.evaluation import reciprocal_rank_fusion
    from builder.evaluation.runs.dates import check_distinct_runs, different_snapshots_warning
    from builder.trec import read_run

    check_output_is_not_input(out, *runs)
    check_distinct_runs(runs)
    if warning := different_snapshots_warning(runs):
        typer.echo(f"warning: {escape_control_characters(warning)}", err=True)
    inputs = [read_run(path, depth) for path in runs]
    write_run_file(reciprocal_rank_fusion(inputs, k=k, tag=tag, depth=depth), out)


def rerank(
    run: RunFile,
    scores: Annotated[
        Path,
        typer.Argument(help="Score file: a TREC run, or text with lines `query document score`."),
    ],
    out: OutputRun,
    top: Annotated[
        int, typer.Option(min=1, help="Number of top documents to rerank per query.")
    ] = 100,
    tag: Tag = "rerank",
) -> None:
    """Rerank the top documents of a run by the scores of another model.

    Example: longeval rerank bm25/2022-06.txt.gz scores.tsv --out mine/2022-06.txt.gz
    """
    from builder.evaluation import read_scores
    from builder.evaluation import rerank as rerank_run
    from builder.trec import read_run

    check_output_is_not_input(out, run, scores)
    write_run_file(rerank_run(read_run(run, None), read_scores(scores), top=top, tag=tag), out)


def write_run_file(run: "Run", path: Path, note: str = "", *, quiet: bool = False) -> None:
    """Write a run; unless `quiet` is true, print the path, the number of lines and a note."""
    from builder.evaluation import write_run

    write_run(run, path)
    if not quiet:
        typer.echo(f"wrote {path}: {pluralize(run.ranking.height, 'line')}{note}")


runs = typer.Typer(
    name="runs",
    cls=CommandGroup,
    help="Check runs before submission.\n\nExample: longeval runs check demo/collection runs/bm25",
    no_args_is_help=True,
)


@runs.command("check")
def check_runs(
    collection: CollectionFolder,
    files: Annotated[
        list[Path],
        typer.Argument(help="TREC run files, folders of run files, or zip files of run files."),
    ],
    format: Format = OutputFormat.TEXT,  # noqa: A002 - name of the option
) -> None:
    """Check runs against the rules of the LongEval submission checker.

    Also prints the team, system and resources from the `ir-metadata.yml` of each run.

    Exits with code 1 if there are errors.

    Example: longeval runs check demo/collection team.zip
    """
    import polars as pl

    from builder.collection.read import open_collection
    from builder.evaluation import check_submissions, extract_archives
    from builder.evaluation.runs.archives import EXTRACTED_PREFIX

    opened = open_collection(collection)
    with extract_archives(files) as paths:
        checked = check_submissions([opened.snapshot(name) for name in opened.snapshots], paths)
    run_table = checked.runs.with_columns(pl.col("run").str.replace(EXTRACTED_PREFIX, ""))
    findings = checked.findings.with_columns(pl.col("message").str.replace(EXTRACTED_PREFIX, ""))
    print_data_frames(format, runs=run_table, findings=findings)
    if checked.findings.filter(level="error").height:
        raise typer.Exit(1)


COMMANDS: tuple[Callable[..., Any], ...] = (dense, boost, fuse, rerank)
