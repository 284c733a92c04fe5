"""The command `baseline`: searches the snapshots of a collection with BM25."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from builder.cli.options import CollectionFolder, Quiet, RunDepth
from builder.cli.runs import write_run_file
from builder.errors import UsageError

if TYPE_CHECKING:
    from builder.collection.read import Snapshot
    from builder.evaluation import Bm25Parameters, KeyQueryParameters, Rm3Parameters
    from builder.trec import Run

FEEDBACK_SOURCES = {
    "judged": "earlier judgements",
    "pseudo": "pseudo-relevance feedback",
    "none": "no expansion",
}


class ExpansionMethod(StrEnum):
    """Query expansion method."""

    RM3 = "rm3"
    KEYQUERY = "keyquery"


def baseline(
    collection: CollectionFolder,
    out: Annotated[Path, typer.Option(help="Output folder, for one run file per snapshot.")],
    language: Annotated[
        str | None, typer.Option(help="Language to search in; default: the source language.")
    ] = None,
    depth: RunDepth = 1000,
    expansion_method: Annotated[
        ExpansionMethod | None,
        typer.Option(
            "--expand",
            help="Query expansion method. The feedback documents of a query are the documents "
            "judged relevant to it in earlier snapshots.",
        ),
    ] = None,
    fb_docs: Annotated[
        int, typer.Option(min=1, help="Maximum number of feedback documents per query.")
    ] = 10,
    fb_terms: Annotated[
        int, typer.Option(min=1, help="Number of terms taken from the feedback documents.")
    ] = 10,
    original_weight: Annotated[
        float, typer.Option(min=0, max=1, help="Weight of the original query, for --expand rm3.")
    ] = 0.5,
    earlier_statistics: Annotated[
        bool,
        typer.Option(
            "--earlier-statistics",
            help="Use the collection statistics of the preceding snapshot for ranking, as input "
            "for `longeval attribute`. The first snapshot is not ranked.",
        ),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Search every snapshot with BM25 and write the runs.

    For queries without earlier judgements, `--expand rm3` uses pseudo-relevance feedback (the top
    BM25 results are the feedback documents), and `--expand keyquery` does not expand the query.

    Example: longeval baseline demo/collection --out runs/bm25
    """
    from builder.collection.read import open_collection
    from builder.evaluation import Bm25Parameters

    expansion = _parse_expansion(expansion_method, fb_docs, fb_terms, original_weight)
    opened = open_collection(collection)
    if earlier_statistics:
        _check_earlier_statistics(opened.snapshots, expansion_method)
    searched, suffix = opened.resolve_language(language)
    parameters = Bm25Parameters(language=searched, depth=depth)
    snapshots = [opened.snapshot(name) for name in opened.snapshots]
    for number in range(int(earlier_statistics), len(snapshots)):
        earlier, snapshot = snapshots[:number], snapshots[number]
        path, note = out / f"{snapshot.name}.txt.gz", ""
        if expansion is None:
            statistics_source = earlier[-1] if earlier_statistics else None
            run = _search_snapshot(snapshot, statistics_source, parameters, suffix)
        else:
            run, note = _search_with_expansion(snapshot, earlier, expansion, parameters, suffix)
        write_run_file(run, path, note, quiet=quiet)


def _parse_expansion(
    expansion_method: ExpansionMethod | None, fb_docs: int, fb_terms: int, original_weight: float
) -> "Rm3Parameters | KeyQueryParameters | None":
    """Return the parameters of the query expansion; None if queries are not expanded.

    Raises:
        UsageError: An option is set that the expansion method does not use.
    """
    from builder.evaluation import KeyQueryParameters, Rm3Parameters

    rm3, defaults = Rm3Parameters(fb_docs, fb_terms, original_weight), Rm3Parameters()
    if expansion_method is None and rm3 != defaults:
        raise UsageError(
            "--fb-docs, --fb-terms, --original-weight: expected --expand rm3 or --expand keyquery "
            "with these options, found no --expand"
        )
    if expansion_method == ExpansionMethod.KEYQUERY and original_weight != defaults.original_weight:
        raise UsageError("--original-weight: expected --expand rm3, found --expand keyquery")
    if expansion_method == ExpansionMethod.KEYQUERY:
        return KeyQueryParameters(fb_docs, fb_terms)
    return rm3 if expansion_method else None


def _search_snapshot(
    snapshot: "Snapshot",
    statistics_source: "Snapshot | None",
    parameters: "Bm25Parameters",
    column_suffix: str,
) -> "Run":
    """Search a snapshot with BM25.

    Args:
        snapshot: Snapshot to search.
        statistics_source: Snapshot whose collection statistics are used; None: use `snapshot`.
        parameters: Parameters of BM25.
        column_suffix: Suffix of the text columns in the search language, such as `_en`.
    """
    from builder.evaluation import search_snapshot, snapshot_bm25_statistics

    statistics = None
    if statistics_source is not None:
        statistics = snapshot_bm25_statistics(
            statistics_source.document_files(), parameters, suffix=column_suffix
        )
    return search_snapshot(
        snapshot.document_files(),
        snapshot.folder / "queries.parquet",
        parameters,
        suffix=column_suffix,
        tag=f"bm25-{parameters.language}",
        statistics=statistics,
    )


def _search_with_expansion(
    snapshot: "Snapshot",
    earlier: Sequence["Snapshot"],
    expansion: "Rm3Parameters | KeyQueryParameters",
    parameters: "Bm25Parameters",
    column_suffix: str,
) -> "tuple[Run, str]":
    """Search a snapshot with expanded queries.

    Returns:
        The run, and a note that counts the queries by source of their feedback documents: earlier
        judgements, pseudo-relevance feedback or none.
    """
    from builder.evaluation import search_snapshot_with_expansion

    method = type(expansion).__name__.lower()
    tag = f"bm25-{parameters.language}-{method}"
    run, expanded = search_snapshot_with_expansion(
        snapshot, earlier, expansion, parameters, suffix=column_suffix, tag=tag
    )
    sources = expanded["source"].to_list()
    counts = ", ".join(f"{text}: {sources.count(s):,}" for s, text in FEEDBACK_SOURCES.items())
    return run, f" (queries with {counts})"


def _check_earlier_statistics(
    snapshots: Sequence[str], expansion_method: ExpansionMethod | None
) -> None:
    """Check that `--earlier-statistics` can be combined with the snapshots and `--expand`.

    Raises:
        UsageError: Queries are expanded, or there are fewer than two snapshots.
    """
    if expansion_method is not None:
        raise UsageError(
            f"--earlier-statistics cannot be combined with --expand {expansion_method}"
        )
    if len(snapshots) < 2:
        raise UsageError(
            "--earlier-statistics: expected at least two snapshots, found only "
            f"{', '.join(snapshots)}"
        )


COMMANDS: tuple[Callable[..., Any], ...] = (baseline,)
