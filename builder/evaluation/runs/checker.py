"""Check a run before it is submitted: what the lab's checker would say, and a little more.

In: a run file and the queries and documents of its snapshot. Out: findings. Errors are what a run
is refused for: unreadable lines, more than 1,000 documents per query, documents that the snapshot
does not have, no query of the snapshot. Warnings are what costs effectiveness in silence.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from builder.errors import LongEvalError
from builder.evaluation.runs.assignment import assign_runs
from builder.evaluation.runs.metadata import find_metadata
from builder.io import parquet
from builder.trec.bounded import read_bounded
from builder.trec.released import to_release_ids
from builder.trec.runs import DEFAULT_DEPTH, read_run

Level = Literal["error", "warning"]
EXAMPLES = 3


@dataclass(frozen=True)
class RunFinding:
    """One thing that is wrong with a run.

    Args:
        level: `error` or `warning`.
        check: Name of the check.
        count: Queries, documents or lines concerned.
        message: What was expected and what was found.
    """

    level: Level
    check: str
    count: int
    message: str


@dataclass(frozen=True)
class CheckedRuns:
    """Runs and what is wrong with them.

    Args:
        runs: system, snapshot, run (path), and team, metadata_system and resources of its
            `ir-metadata.yml`, null without one.
        findings: system, snapshot, level, check, count, message.
    """

    runs: pl.DataFrame
    findings: pl.DataFrame


def check_submissions(snapshots: Mapping[str, Path], paths: Sequence[Path]) -> CheckedRuns:
    """Check runs of a collection, snapshot by snapshot.

    Args:
        snapshots: Folder of each snapshot.
        paths: Run files, or folders of them.

    Raises:
        UsageError: a path cannot be assigned to a system and snapshot.
        FormatError: an `ir-metadata.yml` is malformed.
    """
    described: list[tuple[object, ...]] = []
    findings: list[tuple[object, ...]] = []
    files = assign_runs(paths, sorted(snapshots))
    ids = {name: _ids(snapshots[name]) for name in {file.snapshot for file in files}}
    for file in files:
        about = find_metadata(file.path)
        shown = (about.team, about.system, about.resources) if about else (None, None, None)
        described.append((file.system, file.snapshot, str(file.path), *shown))
        found = check_run(file.path, *ids[file.snapshot], snapshots[file.snapshot])
        findings += [(file.system, file.snapshot, *vars(finding).values()) for finding in found]
    texts = ("system", "snapshot", "run", "team", "metadata_system", "resources")
    columns = {"level": pl.String(), "check": pl.String(), "count": pl.Int64()}
    place = {"system": pl.String(), "snapshot": pl.String()}
    schema = {**place, **columns, "message": pl.String()}
    return CheckedRuns(
        pl.DataFrame(described, schema=dict.fromkeys(texts, pl.String()), orient="row"),
        pl.DataFrame(findings, schema=schema, orient="row"),
    )


def _ids(snapshot: Path) -> tuple[pl.Series, pl.Series]:
    """Ids of the queries and of the documents of a snapshot."""
    queries = parquet.read(snapshot / "queries.parquet", ["query_id"])["query_id"]
    parts = sorted((snapshot / "documents").glob("part-*.parquet"))
    documents = [parquet.read(part, ["doc_id"])["doc_id"] for part in parts]
    return queries, pl.concat(documents) if documents else pl.Series("doc_id", [], pl.String)


def check_run(
    path: Path, queries: pl.Series, documents: pl.Series, snapshot: Path | None = None
) -> list[RunFinding]:
    """Check a run against its snapshot.

    Args:
        path: The file: six columns, plain, gzip or zstd.
        queries: Ids of the queries of the snapshot.
        documents: Ids of its documents.
        snapshot: Its folder, if the ids of an imported release are accepted.

    Returns:
        Findings, errors first; empty for a run that is as it should be.
    """
    try:
        run = read_run(path, None)
        ranking = (run if snapshot is None else to_release_ids(run, snapshot)).ranking
    except LongEvalError as error:
        return [RunFinding("error", "unreadable", 1, str(error))]
    if not ranking.height:
        return [RunFinding("error", "empty", 1, "expected at least one line, found none")]
    found = [*_queries(ranking, queries), *_documents(ranking, documents), *_lines(path)]
    return sorted(found, key=lambda finding: (finding.level, finding.check))


def _queries(ranking: pl.DataFrame, queries: pl.Series) -> Iterator[RunFinding]:
    answered = ranking["query_id"].unique().sort()
    unknown = answered.filter(~answered.is_in(queries.implode()))
    missing = queries.unique().sort()
    missing = missing.filter(~missing.is_in(answered.implode()))
    if len(unknown) == len(answered):
        yield _finding("error", "no_known_query", unknown, "no query of the snapshot: found only")
    elif len(unknown):
        yield _finding("warning", "unknown_queries", unknown, "queries that the snapshot lacks:")
    if len(missing):
        yield _finding("warning", "missing_queries", missing, "queries without a result:")
    deep = ranking.group_by("query_id").len().filter(pl.col("len") > DEFAULT_DEPTH)
    if deep.height:
        expected = f"more than {DEFAULT_DEPTH} documents for the queries"
        yield _finding("error", "too_deep", deep["query_id"].sort(), expected)


def _documents(ranking: pl.DataFrame, documents: pl.Series) -> Iterator[RunFinding]:
    named = ranking["doc_id"].unique().sort()
    unknown = named.filter(~named.is_in(documents.implode()))
    if len(unknown):
        yield _finding("error", "unknown_documents", unknown, "documents not in the snapshot:")


def _lines(path: Path) -> Iterator[RunFinding]:
    """What the columns say that a reader of runs ignores: ranks and tags."""
    text = pl.Series("line", read_bounded(path).decode().splitlines(), dtype=pl.String)
    fields = pl.col("line").str.extract_all(r"\S+").list
    rows = pl.DataFrame(text).select(
        query=fields.get(0, null_on_oob=True),
        rank=fields.get(3, null_on_oob=True).cast(pl.Int64, strict=False),
        score=fields.get(4, null_on_oob=True).cast(pl.Float64, strict=False),
        tag=fields.get(5, null_on_oob=True),
    )
    rows = rows.filter(pl.col("query").is_not_null())
    tags = rows["tag"].unique().sort()
    if len(tags) > 1:
        yield _finding("warning", "several_tags", tags, "expected one tag, found")
    rises = pl.col("score").diff().over("query", order_by="rank") > 0
    wrong = rows.filter(rises)["query"].unique().sort()
    if len(wrong):
        message = "ranks that contradict the scores, which count, in the queries"
        yield _finding("warning", "ranks_and_scores", wrong, message)


def _finding(level: Level, check: str, values: pl.Series, message: str) -> RunFinding:
    shown = ", ".join(map(str, values.head(EXAMPLES).to_list()))
    more = f", and {len(values) - EXAMPLES} more" if len(values) > EXAMPLES else ""
    return RunFinding(level, check, len(values), f"{message} {shown}{more}")
