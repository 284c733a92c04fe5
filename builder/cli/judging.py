"""Verbs about judgements by people: `pool`, `assess import`, `assess agreement`."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from builder.cli.options import Format, PlainFormat, Quiet
from builder.cli.output import table
from builder.errors import UsageError

if TYPE_CHECKING:
    from builder.judging import AgreementReport

CollectionFolder = Annotated[Path, typer.Argument(help="A version folder, or one above it.")]


def pool(
    collection: CollectionFolder,
    runs: Annotated[list[Path], typer.Argument(help="TREC runs on the snapshot.")],
    snapshot: Annotated[str, typer.Option(help="Snapshot that is judged.")],
    out: Annotated[Path, typer.Option(help="Folder for the pool, sheets and pages.")],
    depth: Annotated[
        int | None,
        typer.Option(help="Top results of every run; absent: 1-5 all, 6-10 half, 11-30 a quarter."),
    ] = None,
    seed: Annotated[str, typer.Option(help="Key of the sample.")] = "longeval-builder",
    assessor: Annotated[
        list[str] | None, typer.Option(help="Who judges all of it; repeat it.")
    ] = None,
    judged: Annotated[
        Path | None, typer.Option(help="Judgements (Parquet) to leave out of the pool.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Draw pairs to judge from runs, and write judging sheets and pages.

    Example: longeval pool demo/collection runs/*.txt --snapshot 2022-07 --out judging
    """
    from builder.collection.read import open_collection
    from builder.io.sources import Source
    from builder.judging import LONGEVAL_STRATA, depth_strata, pool_runs, read_assessments

    opened = open_collection(collection).snapshot(snapshot)
    known = None if judged is None else read_assessments([Source(judged, judged.name)]).lazy()
    report = pool_runs(
        runs,
        out,
        queries=opened.queries,
        documents=opened.documents,
        strata=LONGEVAL_STRATA if depth is None else depth_strata(depth),
        seed=seed,
        assessors=assessor or (),
        judgements=known,
        snapshot=opened.folder,
    )
    if quiet:
        return
    drawn = report.pool
    typer.echo(
        f"{drawn.pairs.height:,} pairs to judge of {drawn.eligible:,} eligible; left out: "
        f"{drawn.unknown_queries:,} with another query, {drawn.unknown_documents:,} with another "
        f"document, {drawn.judged:,} judged already"
    )
    for path in report.files:
        typer.echo(f"wrote {path}")


assess = typer.Typer(
    name="assess", help="Take in judgements by people and measure agreement.", no_args_is_help=True
)


@assess.command("import")
def import_sheets(
    sheets: Annotated[list[Path], typer.Argument(help="Judged sheets (TSV) or Parquet.")],
    out: Annotated[Path, typer.Option(help="Judgements (Parquet), for qrels.judgements.")],
    quiet: Quiet = False,
) -> None:
    """Check judging sheets and put their judgements into one table.

    Example: longeval assess import sheet-ann.tsv sheet-bob.tsv --out judgements.parquet
    """
    from builder.judging import import_assessments

    report = import_assessments(sheets, out)
    if not quiet:
        typer.echo(f"wrote {report.judgements:,} judgements; {report.unjudged:,} pairs unjudged")
        typer.echo(table(sorted(report.assessors.items()), ("assessor", "judgements")))


@assess.command("agreement")
def agreement(
    judgements: Annotated[Path, typer.Argument(help="Judgements (Parquet).")],
    collection: Annotated[
        Path | None, typer.Option(help="Collection whose click grades to compare with.")
    ] = None,
    snapshot: Annotated[str | None, typer.Option(help="Its snapshot.")] = None,
    format: Format = PlainFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """How far assessors agree with each other and with clicks.

    Example: longeval assess agreement judgements.parquet --collection c --snapshot 2022-06
    """
    from builder.collection.read import open_collection
    from builder.io.sources import Source
    from builder.judging import agreement_report, read_assessments

    if (collection is None) != (snapshot is None):
        raise UsageError("--collection and --snapshot: expected both or none")
    qrels = None
    if collection is not None and snapshot is not None:
        qrels = open_collection(collection).snapshot(snapshot).qrels
    rows = read_assessments([Source(judgements, str(judgements))])
    found = agreement_report(rows.lazy(), qrels)
    if format is PlainFormat.JSON:
        typer.echo(json.dumps(asdict(found), indent=1))
    else:
        _print_agreement(found)


def _print_agreement(found: "AgreementReport") -> None:
    sources = [*found.assessors, *([found.clicks] if found.clicks else [])]
    rows = [
        (s.first, s.second, s.pairs, s.same, _number(s.kappa), _number(s.quadratic_kappa))
        for s in sources
    ]
    header = ("first", "second", "pairs", "same", "kappa", "quadratic kappa")
    typer.echo(table(rows, header) if rows else "no two sources judged the same pair")
    typer.echo(
        f"Krippendorff's alpha over {found.units:,} pairs: nominal {_number(found.alpha_nominal)}, "
        f"ordinal {_number(found.alpha_ordinal)}"
    )


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"


VERBS: tuple[Callable[..., Any], ...] = (pool,)
