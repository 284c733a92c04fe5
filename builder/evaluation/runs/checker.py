"""Checks runs before submission, like the official checker of LongEval.

Errors are reasons for rejection: unreadable lines, more than 1,000 documents per query, documents
that are not in the snapshot, or no results for any query of the snapshot. Warnings are problems
that may go unnoticed and reduce effectiveness.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from builder.collection.read import Snapshot
from builder.errors import LongEvalError
from builder.evaluation.runs.assignment import assign_runs
from builder.evaluation.runs.metadata import read_nearest_metadata
from builder.evaluation.runs.numbering import determine_snapshot_numbers
from builder.io import parquet
from builder.trec.bounded import read_decompressed_bytes
from builder.trec.released import to_release_ids
from builder.trec.runs import DEFAULT_DEPTH, read_run

Level = Literal["error", "warning"]
EXAMPLES = 3


@dataclass(frozen=True)
class RunFinding:
    """Problem found in a run.

    Args:
        level: `error` or `warning`.
        check: Name of the check.
        count: Number of affected queries, documents, tags or lines.
        message: Description of the problem with examples.
    """

    level: Level
    check: str
    count: int
    message: str


@dataclass(frozen=True)
class CheckedRuns:
    """Checked runs and the problems found in them.

    Args:
        runs: One row per run, with columns system, snapshot and run (path), and with team,
            metadata_system and resources from its `ir-metadata.yml` (null without this file).
        findings: One row per problem, with columns system, snapshot, level, check, count, message.
    """

    runs: pl.DataFrame
    findings: pl.DataFrame


def check_submissions(snapshots: Sequence[Snapshot], paths: Sequence[Path]) -> CheckedRuns:
    """Check runs for the snapshots of a collection.

    Args:
        snapshots: Snapshots of the collection.
        paths: Run files, or folders of run files.

    Raises:
        UsageError: A path cannot be assigned to a system and snapshot.
        FormatError: An `ir-metadata.yml` is malformed.
    """
    runs: list[tuple[object, ...]] = []
    findings: list[tuple[object, ...]] = []
    by_name = {snapshot.name: snapshot for snapshot in snapshots}
    numbers = determine_snapshot_numbers({snapshot.name: snapshot.folder for snapshot in snapshots})
    files = assign_runs(paths, sorted(by_name), numbers)
    ids = {
        name: _read_query_and_document_ids(by_name[name])
        for name in {file.snapshot for file in files}
    }
    for file in files:
        data = read_nearest_metadata(file.path)
        columns = (data.team, data.system, data.resources) if data else (None, None, None)
        runs.append((file.system, file.snapshot, str(file.path), *columns))
        problems = check_run(file.path, *ids[file.snapshot], by_name[file.snapshot].folder)
        findings += [(file.system, file.snapshot, *vars(problem).values()) for problem in problems]
    texts = ("system", "snapshot", "run", "team", "metadata_system", "resources")
    keys = ("system", "snapshot", "level", "check")
    schema = {**dict.fromkeys(keys, pl.String), "count": pl.Int64, "message": pl.String}
    return CheckedRuns(
        pl.DataFrame(runs, schema=dict.fromkeys(texts, pl.String()), orient="row"),
        pl.DataFrame(findings, schema=schema, orient="row"),
    )


def _read_query_and_document_ids(snapshot: Snapshot) -> tuple[pl.Series, pl.Series]:
    """Read the ids of the queries and documents of a snapshot."""
    queries = parquet.read(snapshot.folder / "queries.parquet", ["query_id"])["query_id"]
    documents = [parquet.read(path, ["doc_id"])["doc_id"] for path in snapshot.document_files()]
    return queries, pl.concat(documents) if documents else pl.Series("doc_id", [], pl.String)


def check_run(
    path: Path, queries: pl.Series, documents: pl.Series, snapshot: Path | None = None
) -> list[RunFinding]:
    """Check a run against the queries and documents of its snapshot.

    Args:
        path: Run file with six columns, plain, gzip or zstd.
        queries: Ids of the snapshot's queries.
        documents: Ids of the snapshot's documents.
        snapshot: Folder of the snapshot, used to convert document ids to those of the qrels; None
            leaves the ids unchanged.

    Returns:
        Problems found, errors first; empty for a valid run.
    """
    try:
        run = read_run(path, None)
        ranking = (run if snapshot is None else to_release_ids(run, snapshot)).ranking
    except LongEvalError as error:
        return [RunFinding("error", "unreadable", 1, str(error))]
    if not ranking.height:
        return [RunFinding("error", "empty", 1, "the run contains no lines")]
    findings = [
        *_check_queries(ranking, queries),
        *_check_documents(ranking, documents),
        *_check_ranks_and_tags(path),
    ]
    return sorted(findings, key=lambda finding: (finding.level, finding.check))


def _check_queries(ranking: pl.DataFrame, queries: pl.Series) -> Iterator[RunFinding]:
    answered = ranking["query_id"].unique().sort()
    unknown = answered.filter(~answered.is_in(queries.implode()))
    missing = queries.unique().sort()
    missing = missing.filter(~missing.is_in(answered.implode()))
    if len(unknown) == len(answered):
        yield _make_finding(
            "error",
            "no_known_query",
            unknown,
            "expected queries of the snapshot, found only other queries:",
        )
    elif len(unknown):
        yield _make_finding("warning", "unknown_queries", unknown, "queries not in the snapshot:")
    if len(missing):
        yield _make_finding("warning", "missing_queries", missing, "queries without results:")
    deep = ranking.group_by("query_id").len().filter(pl.col("len") > DEFAULT_DEPTH)
    if deep.height:
        message = f"more than {DEFAULT_DEPTH} documents for the queries"
        yield _make_finding("error", "too_deep", deep["query_id"].sort(), message)


def _check_documents(ranking: pl.DataFrame, documents: pl.Series) -> Iterator[RunFinding]:
    named = ranking["doc_id"].unique().sort()
    unknown = named.filter(~named.is_in(documents.implode()))
    if len(unknown):
        yield _make_finding("error", "unknown_documents", unknown, "documents not in the snapshot:")


def _check_ranks_and_tags(path: Path) -> Iterator[RunFinding]:
    """Yield warnings about the ranks and tags of a run, which evaluation tools ignore."""
    lines = read_decompressed_bytes(path).decode(errors="replace").split("\n")
    text = pl.Series("line", lines, dtype=pl.String)
    fields = pl.col("line").str.extract_all(r"[^ \t\r\x0b\x0c]+").list
    rows = pl.DataFrame(text).select(
        query=fields.get(0, null_on_oob=True),
        document=fields.get(2, null_on_oob=True),
        rank=fields.get(3, null_on_oob=True).cast(pl.Float64, strict=False),
        score=fields.get(4, null_on_oob=True).cast(pl.Float64, strict=False).cast(pl.Float32),
        tag=fields.get(5, null_on_oob=True),
    )
    rows = rows.filter(pl.col("query").is_not_null())
    tags = rows["tag"].unique().sort()
    if len(tags) > 1:
        yield _make_finding("warning", "several_tags", tags, "expected one tag, found")
    yield from _check_ranks(rows)


def _check_ranks(rows: pl.DataFrame) -> Iterator[RunFinding]:
    """Yield warnings if ranks contradict the order of trec_eval, or all scores of a query are tied.

    trec_eval ignores ranks and sorts by score. Tied ranks are compatible with any order, as in a
    run in which all ranks are 0.

    Args:
        rows: Columns query, document, rank (Float64), score (Float32, as in trec_eval).
    """
    ranked = rows.filter(pl.col("rank").is_not_null())
    by_rank = ranked.sort("query", "rank", "score", descending=[False, False, True])
    inconsistent = _queries_where_column_increases(by_rank, ["query"], "score")
    if len(inconsistent):
        message = "ranks contradict the scores (only scores are evaluated) for the queries"
        yield _make_finding("warning", "ranks_and_scores", inconsistent, message)
    scores = rows.group_by("query").agg(pl.col("score").n_unique(), results=pl.len())
    tied = scores.filter((pl.col("score") == 1) & (pl.col("results") > 1))["query"].sort()
    if len(tied):
        message = (
            "all scores are equal as 32-bit floats, so results are ranked by document id, for the "
            "queries"
        )
        yield _make_finding("warning", "tied_scores", tied, message)
    within_ties = ranked.sort(
        "query", "score", "rank", "document", descending=[False, True, False, True]
    )
    reordered = _queries_where_column_increases(within_ties, ["query", "score"], "document")
    reordered = reordered.filter(~reordered.is_in(tied.implode()))
    if len(reordered):
        message = (
            "ranks contradict the order of tied results (trec_eval ranks results whose scores are "
            "equal as 32-bit floats by descending document id) for the queries"
        )
        yield _make_finding("warning", "ranks_of_ties", reordered, message)


def _queries_where_column_increases(rows: pl.DataFrame, keys: list[str], column: str) -> pl.Series:
    """Return the queries in which a column increases between successive rows of a group.

    Args:
        rows: Rows in the order in which they are compared.
        keys: Columns that define the groups.
        column: Column whose values are compared.
    """
    increases = pl.col(column) > pl.col(column).shift().over(keys)
    return rows.filter(increases)["query"].unique().sort()


def _make_finding(level: Level, check: str, affected: pl.Series, message: str) -> RunFinding:
    """Create a finding whose message ends with the first few affected ids or tags."""
    shown = ", ".join(map(str, affected.head(EXAMPLES).to_list()))
    more = f", and {len(affected) - EXAMPLES} more" if len(affected) > EXAMPLES else ""
    return RunFinding(level, check, len(affected), f"{message} {shown}{more}")
