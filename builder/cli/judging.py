"""Commands for manual relevance judgements: `pool`, `assess import`, `assess agreement`."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from builder.cli.help import CommandGroup
from builder.cli.options import CollectionFolder, Format, OutputFormat, Quiet
from builder.cli.output import format_table
from builder.errors import UsageError

if TYPE_CHECKING:
    from builder.judging import AgreementReport


def pool(
    collection: CollectionFolder,
    runs: Annotated[list[Path], typer.Argument(help="TREC run files of the snapshot.")],
    snapshot: Annotated[str, typer.Option(help="Snapshot to judge.")],
    out: Annotated[
        Path, typer.Option(help="Output folder for the pool, judging sheets and judging pages.")
    ],
    depth: Annotated[
        int | None,
        typer.Option(
            help="Pool the top DEPTH documents of every run; default: all documents at ranks 1-5, "
            "50% of the documents at ranks 6-10 and 25% of the documents at ranks 11-30."
        ),
    ] = None,
    seed: Annotated[
        str, typer.Option(help="Random seed of the sample (any text).")
    ] = "longeval-builder",
    assessor: Annotated[
        list[str] | None,
        typer.Option(
            help="Name of an assessor who judges the whole pool; repeatable or comma-separated."
        ),
    ] = None,
    judged: Annotated[
        Path | None,
        typer.Option(
            help="Existing judgements (Parquet); pairs with a judgement are excluded from the pool."
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Sample query-document pairs from runs and write judging sheets.

    Example: longeval pool demo/collection runs/*.txt --snapshot 2022-07 --out judging
    """
    from builder.collection.read import open_collection
    from builder.io.sources import Source
    from builder.judging import LONGEVAL_STRATA, depth_strata, pool_runs, read_assessments

    opened = open_collection(collection).snapshot(snapshot)
    existing = None if judged is None else read_assessments([Source(judged, judged.name)]).lazy()
    report = pool_runs(
        runs,
        out,
        queries=opened.queries,
        documents=opened.documents,
        strata=LONGEVAL_STRATA if depth is None else depth_strata(depth),
        seed=seed,
        assessors=assessor or (),
        judgements=existing,
        snapshot=opened.folder,
    )
    if quiet:
        return
    drawn = report.pool
    typer.echo(
        f"{drawn.pairs.height:,} of {drawn.eligible:,} eligible pairs selected for judging; "
        f"excluded: {drawn.unknown_queries:,} with an unknown query, "
        f"{drawn.unknown_documents:,} with an unknown document, {drawn.judged:,} already judged"
    )
    for path in report.files:
        typer.echo(f"wrote {path}")


assess = typer.Typer(
    name="assess",
    cls=CommandGroup,
    help="Import manual judgements and measure assessor agreement.",
    no_args_is_help=True,
)


@assess.command("import")
def import_sheets(
    sheets: Annotated[
        list[Path], typer.Argument(help="Completed judging sheets (TSV or Parquet).")
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="Output file (Parquet); list it under `judgements` in a `[[snapshots]]` section."
        ),
    ],
    quiet: Quiet = False,
) -> None:
    """Validate judging sheets and merge their judgements into one table.

    Example: longeval assess import sheet-ann.tsv sheet-bob.tsv --out judgements.parquet
    """
    from builder.judging import import_assessments

    report = import_assessments(sheets, out)
    if not quiet:
        typer.echo(
            f"wrote {report.judgements:,} judgements; {report.unjudged:,} pairs are unjudged"
        )
        typer.echo(format_table(sorted(report.assessors.items()), ("assessor", "judgements")))


@assess.command("agreement")
def measure_assessor_agreement(
    judgements: Annotated[Path, typer.Argument(help="Manual judgements (Parquet).")],
    collection: Annotated[
        Path | None,
        typer.Option(
            help="Collection whose click-based grades are compared with the manual grades; "
            "requires --snapshot."
        ),
    ] = None,
    snapshot: Annotated[
        str | None,
        typer.Option(
            help="Snapshot whose click-based grades are compared with the manual grades; requires "
            "--collection."
        ),
    ] = None,
    format: Format = OutputFormat.TEXT,  # noqa: A002 - name of the option
) -> None:
    """Measure agreement between assessors, and between assessors and click-based grades.

    Example: longeval assess agreement judgements.parquet --collection c --snapshot 2022-06
    """
    from builder.collection.read import open_collection
    from builder.io.sources import Source
    from builder.judging import measure_agreement, read_assessments

    if (collection is None) != (snapshot is None):
        given, missing = (
            ("snapshot", "collection") if collection is None else ("collection", "snapshot")
        )
        raise UsageError(
            f"--collection and --snapshot: expected both or neither, found only --{given}; "
            f"add --{missing}"
        )
    qrels = None
    if collection is not None and snapshot is not None:
        qrels = open_collection(collection).snapshot(snapshot).qrels
    rows = read_assessments([Source(judgements, str(judgements))])
    report = measure_agreement(rows.lazy(), qrels)
    if format is OutputFormat.JSON:
        typer.echo(json.dumps(asdict(report), indent=1))
    else:
        _print_agreement(report)


def _print_agreement(report: "AgreementReport") -> None:
    comparisons = [*report.assessors, *([report.clicks] if report.clicks else [])]
    rows = [
        (
            *(c.first, c.second, c.pairs, c.same),
            *(_format_coefficient(c.kappa), _format_coefficient(c.quadratic_kappa)),
        )
        for c in comparisons
    ]
    header = ("first", "second", "pairs", "same", "kappa", "quadratic kappa")
    typer.echo(format_table(rows, header) if rows else "no pair was judged more than once")
    typer.echo(
        f"Krippendorff's alpha over {report.units:,} pairs: "
        f"nominal {_format_coefficient(report.alpha_nominal)}, "
        f"ordinal {_format_coefficient(report.alpha_ordinal)}"
    )


def _format_coefficient(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"


COMMANDS: tuple[Callable[..., Any], ...] = (pool,)
