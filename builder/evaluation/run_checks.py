"""Checks run files against a collection before they are submitted or evaluated.

Reports what the lab's checker refuses (malformed lines, unknown queries and documents, more than
1,000 documents per query) and what lowers scores silently (queries without results, ranks that
contradict scores, snapshots without a run).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import polars as pl

from builder.collection.read import Collection
from builder.errors import FormatError
from builder.evaluation.runs.assignment import RunFile, assign_runs
from builder.trec.bounded import MAX_BYTES, read_bounded
from builder.trec.released import read_run_of
from builder.trec.runs import DEFAULT_DEPTH

EXAMPLES = 3

Severity: TypeAlias = Literal["error", "warning"]


@dataclass(frozen=True)
class RunFinding:
    """A defect of a run.

    Args:
        system: Name of the system.
        snapshot: Name of the snapshot.
        severity: `error` (the run would be refused) or `warning`.
        message: What is wrong.
        count: Number of queries, documents or lines concerned.
        examples: First ids concerned, at most `EXAMPLES`.
    """

    system: str
    snapshot: str
    severity: Severity
    message: str
    count: int
    examples: tuple[str, ...] = ()


def check_runs(collection: Collection, paths: Sequence[Path]) -> list[RunFinding]:
    """Check run files against the queries and documents of a collection.

    Args:
        collection: The collection.
        paths: Run files or folders of them, named as for `longeval evaluate`.

    Returns:
        Findings by system and snapshot; empty if all runs are sound.

    Raises:
        UsageError: a file cannot be assigned to a system and a snapshot.
    """
    files = assign_runs(paths, collection.snapshots)
    found = [finding for file in files for finding in _check_file(collection, file)]
    for system in sorted({file.system for file in files}):
        there = {file.snapshot for file in files if file.system == system}
        found += [
            RunFinding(system, name, "warning", "the system has no run for this snapshot", 1)
            for name in collection.snapshots
            if name not in there
        ]
    return sorted(found, key=lambda finding: (finding.system, finding.snapshot))


def _check_file(collection: Collection, file: RunFile) -> Iterator[RunFinding]:
    """Findings of one file."""
    snapshot = collection.snapshot(file.snapshot)
    try:
        run = read_run_of(file.path, None, snapshot.folder)
    except FormatError as error:
        yield RunFinding(file.system, file.snapshot, "error", str(error), 1)
        return
    queries = snapshot.queries.select("query_id").collect()["query_id"]
    documents = snapshot.documents.select("doc_id").collect()["doc_id"]
    ranked = run.ranking
    found = ranked["query_id"].unique()
    deep = ranked.group_by("query_id").len().filter(pl.col("len") > DEFAULT_DEPTH)["query_id"]
    strange = ranked["doc_id"].unique()
    strange = strange.filter(~strange.is_in(documents.implode())) if len(documents) else documents
    silent = queries.filter(~queries.is_in(found.implode()))
    disordered, tags = _ranks_and_tags(file.path)
    errors = {
        "queries are not in the snapshot": found.filter(~found.is_in(queries.implode())),
        "documents are not in the snapshot": strange,
        f"queries have more than {DEFAULT_DEPTH:,} documents": deep,
    }
    warnings = {
        "queries have no results, so they score 0": silent,
        "queries have ranks that contradict their scores, which count": disordered,
        "tags in one run": tags if len(tags) > 1 else tags.clear(),
    }
    for message, ids in (errors | warnings).items():
        if len(ids):
            severity: Severity = "error" if message in errors else "warning"
            examples = tuple(ids.sort().head(EXAMPLES).to_list())
            yield RunFinding(file.system, file.snapshot, severity, message, len(ids), examples)


def _ranks_and_tags(path: Path) -> tuple[pl.Series, pl.Series]:
    """Queries whose rank column contradicts the scores, and distinct tags of a well-formed file."""
    text = read_bounded(path, MAX_BYTES).decode("utf-8", "replace")
    cells = pl.Series("cells", text.splitlines(), dtype=pl.String).str.extract_all(r"\S+")
    rows = (
        cells.filter(cells.list.len() > 0)
        .to_frame()
        .select(
            query_id=pl.col("cells").list.get(0),
            rank=pl.col("cells").list.get(3).cast(pl.Int64, strict=False),
            score=pl.col("cells").list.get(4).cast(pl.Float32, strict=False),
            tag=pl.col("cells").list.get(5),
        )
    )
    by_rank = rows.drop_nulls("rank").sort("query_id", "rank", maintain_order=True)
    rises = pl.col("score").diff().over("query_id") > 0
    disordered = by_rank.filter(rises)["query_id"].unique()
    return disordered, rows["tag"].unique()
