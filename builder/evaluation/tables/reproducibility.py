"""How far a system returns in a later snapshot what it returned in an earlier one, page by page.

In: runs of two snapshots, and the documents that both hold. Out: per-topic RMSE of scores, and
Kendall's tau-b and rank-biased overlap of result lists (Breuer et al. 2020), restricted to
documents that both snapshots hold: the future work of Keller et al. (2024).

A document that one of the two lists lacks is tied with all such documents after the last of that
list. Lists of queries that only one snapshot has do not count.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

from builder.errors import UsageError
from builder.evaluation.measures.effectiveness import Judge
from builder.evaluation.measures.family import Floats
from builder.evaluation.measures.registry import parse_measures
from builder.evaluation.runs.assignment import RunFile, assign_runs, find_pivot
from builder.evaluation.runs.qrels import read_qrels
from builder.io import parquet
from builder.statistics.rankings import DEFAULT_RBO_P, kendall_tau_b, rank_biased_overlap
from builder.trec.released import read_query_keys, read_snapshot_run, replace_ids_with_keys
from builder.trec.runs import Run

REPRODUCIBILITY = {
    "from_snapshot": pl.String(),
    "to_snapshot": pl.String(),
    "system": pl.String(),
    "quantity": pl.String(),
    "queries": pl.Int64(),
    "value": pl.Float64(),
    "over_pivot": pl.Float64(),
}
"""`quantity`: `rmse` of a measure, `kendall_tau_b` or `rbo_ext`; `queries`: over which it is taken;
`value`: null without any; `over_pivot`: value minus that of the pivot, null without one."""


@dataclass(frozen=True)
class _Side:
    """One system in one snapshot, under ids that hold in every snapshot."""

    ranking: pl.DataFrame
    scores: dict[str, Floats]


def reproducibility(
    snapshots: Mapping[str, Path],
    documents_map: Path,
    runs: Sequence[Path],
    measures: Sequence[str],
    *,
    pivot: str | None = None,
    depth: int = 100,
    rbo_p: float = DEFAULT_RBO_P,
) -> pl.DataFrame:
    """Compare the runs of each system in every two snapshots.

    Args:
        snapshots: Folder of each snapshot.
        documents_map: The collection's table of documents and the snapshots that hold them.
        runs: Run files, or folders of them.
        measures: Measures whose scores are compared.
        pivot: System that others are related to.
        depth: Documents compared per query.
        rbo_p: Persistence of rank-biased overlap.

    Returns:
        Columns as in `REPRODUCIBILITY`, sorted by the first four.

    Raises:
        UsageError: no system has runs in two snapshots, or the pivot is unknown.
    """
    files = assign_runs(runs, sorted(snapshots))
    chosen = None if pivot is None else find_pivot(pivot, files)
    sides = {
        (file.system, file.snapshot): _read(file, snapshots[file.snapshot], measures, depth)
        for file in files
    }
    held = parquet.read(documents_map, ["doc_id", "snapshots"])
    rows: list[tuple[object, ...]] = []
    for first, second in combinations(sorted(snapshots), 2):
        inside = pl.col("snapshots").list.contains(first) & pl.col("snapshots").list.contains(
            second
        )
        both = held.filter(inside)["doc_id"]
        for system in sorted({system for system, _ in sides}):
            pair = sides.get((system, first)), sides.get((system, second))
            if pair[0] is not None and pair[1] is not None:
                found = _compare(pair[0], pair[1], both, measures, rbo_p)
                rows += [(first, second, system, *cells) for cells in found]
    if not rows:
        raise UsageError("expected a system with runs in two snapshots, found none")
    return _over_pivot(rows, chosen)


def _read(file: RunFile, snapshot: Path, measures: Sequence[str], depth: int) -> _Side:
    judge = Judge(read_qrels(snapshot / "qrels.parquet"), parse_measures(measures))
    run = read_snapshot_run(file.path, None, snapshot)
    keys = read_query_keys(snapshot)
    values = judge.score(run).values
    scores = {keys.get(query, query): values[i] for i, query in enumerate(judge.query_ids)}
    return _Side(replace_ids_with_keys(Run.truncate(run, depth).ranking, snapshot), scores)


def _compare(
    first: _Side, second: _Side, both: pl.Series, measures: Sequence[str], rbo_p: float
) -> Iterator[tuple[str, int, float | None]]:
    judged = sorted(first.scores.keys() & second.scores.keys())
    for i, measure in enumerate(parse_measures(measures)):
        gaps = [float(first.scores[query][i] - second.scores[query][i]) for query in judged]
        rmse = float(np.sqrt(np.mean(np.square(gaps)))) if gaps else None
        yield f"rmse {measure}", len(gaps), rmse
    lists = _lists(first.ranking, second.ranking, both)
    for name in ("kendall_tau_b", "rbo_ext"):
        values = [
            float(
                kendall_tau_b(*pair)
                if name == "kendall_tau_b"
                else rank_biased_overlap(*pair, rbo_p)
            )
            for pair in lists
        ]
        defined = [value for value in values if not np.isnan(value)]
        yield name, len(defined), float(np.mean(defined)) if defined else None


def _lists(
    first: pl.DataFrame, second: pl.DataFrame, both: pl.Series
) -> list[tuple[Floats, Floats]]:
    """Scores of the documents of both lists of each common query, in one order."""
    kept = [side.filter(pl.col("doc_id").is_in(both.implode())) for side in (first, second)]
    keys = ["query_id", "doc_id"]
    one, other = (side.select(*keys, score=-pl.col("rank").cast(pl.Float64)) for side in kept)
    common = one.select("query_id").unique().join(other.select("query_id").unique(), on="query_id")
    joined = one.join(other, on=keys, how="full", coalesce=True, suffix="_other")
    joined = joined.join(common, on="query_id", how="semi").sort(keys)
    last = pl.col("score", "score_other").fill_null(float(np.finfo(np.float32).min))
    groups = joined.with_columns(last).group_by("query_id", maintain_order=True)
    return [(g["score"].to_numpy(), g["score_other"].to_numpy()) for _, g in groups]


def _over_pivot(rows: Sequence[tuple[object, ...]], pivot: str | None) -> pl.DataFrame:
    schema = {name: kind for name, kind in REPRODUCIBILITY.items() if name != "over_pivot"}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    keys = ["from_snapshot", "to_snapshot", "quantity"]
    reference = table.filter(pl.col("system") == (pivot or "")).select(
        *keys, pl.col("value").alias("of_pivot")
    )
    joined = table.join(reference, on=keys, how="left", maintain_order="left")
    over = joined.with_columns(over_pivot=pl.col("value") - pl.col("of_pivot")).drop("of_pivot")
    return over.sort("from_snapshot", "to_snapshot", "system", "quantity")
