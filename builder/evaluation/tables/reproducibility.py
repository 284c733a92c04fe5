"""Compares the result lists and scores of a system in two snapshots.

Computes the per-topic RMSE of scores, and Kendall's tau-b and rank-biased overlap of result lists
(Breuer et al. 2020). Result lists are restricted to documents that are in both snapshots, as Keller
et al. (2024) propose for future work.

A document that is missing from one of two result lists is tied with all other missing documents at
the end of that list. Queries that occur in only one of the snapshots are ignored.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

from builder.errors import UsageError
from builder.evaluation.measures.effectiveness import RunScorer
from builder.evaluation.measures.family import Floats
from builder.evaluation.measures.registry import parse_measures
from builder.evaluation.runs.assignment import RunFile, assign_runs, resolve_pivot
from builder.evaluation.runs.numbering import determine_snapshot_numbers
from builder.evaluation.runs.qrels import read_qrels
from builder.evaluation.runs.scoring import require_judged_queries
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
"""`quantity`: `rmse` of a measure, `kendall_tau_b` or `rbo_ext`; `queries`: number of compared
queries; `value`: null if there are no such queries; `over_pivot`: value minus the pivot's value,
null if there is no pivot."""


@dataclass(frozen=True)
class _RunWithAlignedIds:
    """Ranking and per-query scores of a run, with ids that are the same in all snapshots."""

    ranking: pl.DataFrame
    scores: dict[str, Floats]


def compare_runs_between_snapshots(
    snapshots: Mapping[str, Path],
    documents_map: Path,
    runs: Sequence[Path],
    measures: Sequence[str],
    *,
    pivot: str | None = None,
    depth: int = 100,
    rbo_p: float = DEFAULT_RBO_P,
) -> pl.DataFrame:
    """Compare the runs of each system between every pair of snapshots.

    Args:
        snapshots: Folder of each snapshot, by name.
        documents_map: Path of the collection's `documents_map.parquet`.
        runs: Run files, or folders of run files.
        measures: Names of the measures whose scores are compared.
        pivot: System with which all others are compared; None to compare no systems.
        depth: Number of documents compared per query.
        rbo_p: Persistence p of rank-biased overlap, between 0 and 1.

    Returns:
        Table with schema `REPRODUCIBILITY`, sorted by its first four columns.

    Raises:
        UsageError: No system has runs for two snapshots, or the pivot is unknown.
        DataError: A run answers no judged query of its snapshot.
    """
    files = assign_runs(runs, sorted(snapshots), determine_snapshot_numbers(snapshots))
    pivot_system = None if pivot is None else resolve_pivot(pivot, files)
    sides = {
        (file.system, file.snapshot): _read_and_score_run(
            file, snapshots[file.snapshot], measures, depth
        )
        for file in files
    }
    membership = parquet.read(documents_map, ["doc_id", "snapshots"])
    rows: list[tuple[object, ...]] = []
    for first, second in combinations(sorted(snapshots), 2):
        in_both = pl.col("snapshots").list.contains(first) & pl.col("snapshots").list.contains(
            second
        )
        common = membership.filter(in_both)["doc_id"]
        for system in sorted({system for system, _ in sides}):
            pair = sides.get((system, first)), sides.get((system, second))
            if pair[0] is not None and pair[1] is not None:
                quantities = _compare_runs(pair[0], pair[1], common, measures, rbo_p)
                rows += [(first, second, system, *cells) for cells in quantities]
    if not rows:
        raise UsageError("expected a system with runs for two snapshots, found none")
    return _build_table_with_pivot_differences(rows, pivot_system)


def _read_and_score_run(
    file: RunFile, snapshot_folder: Path, measures: Sequence[str], depth: int
) -> _RunWithAlignedIds:
    scorer = RunScorer(read_qrels(snapshot_folder / "qrels.parquet"), parse_measures(measures))
    run = read_snapshot_run(file.path, None, snapshot_folder)
    keys = read_query_keys(snapshot_folder)
    run_scores = scorer.score(run)
    require_judged_queries(run_scores, scorer, file)
    scores = {
        keys.get(query, query): run_scores.values[i] for i, query in enumerate(scorer.query_ids)
    }
    return _RunWithAlignedIds(
        replace_ids_with_keys(Run.truncate(run, depth).ranking, snapshot_folder), scores
    )


def _compare_runs(
    first: _RunWithAlignedIds,
    second: _RunWithAlignedIds,
    common_doc_ids: pl.Series,
    measures: Sequence[str],
    rbo_p: float,
) -> Iterator[tuple[str, int, float | None]]:
    judged = sorted(first.scores.keys() & second.scores.keys())
    for i, measure in enumerate(parse_measures(measures)):
        errors = [float(first.scores[query][i] - second.scores[query][i]) for query in judged]
        rmse = float(np.sqrt(np.mean(np.square(errors)))) if errors else None
        yield f"rmse {measure}", len(errors), rmse
    lists = _negated_ranks_by_query(first.ranking, second.ranking, common_doc_ids)
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


def _negated_ranks_by_query(
    first: pl.DataFrame, second: pl.DataFrame, common_doc_ids: pl.Series
) -> list[tuple[Floats, Floats]]:
    """Return the negated ranks (higher is better) of documents, for each query in both rankings.

    Each query has one array per ranking. Both arrays have an element for each document that exists
    in both snapshots and is in at least one of the rankings. A document that is missing from a
    ranking has a lower value than all documents in that ranking.

    Args:
        first: First ranking.
        second: Second ranking.
        common_doc_ids: Ids of the documents that are in both snapshots; others are ignored.
    """
    lists = [
        side.filter(pl.col("doc_id").is_in(common_doc_ids.implode())) for side in (first, second)
    ]
    keys = ["query_id", "doc_id"]
    one, other = (side.select(*keys, score=-pl.col("rank").cast(pl.Float64)) for side in lists)
    common = one.select("query_id").unique().join(other.select("query_id").unique(), on="query_id")
    joined = one.join(other, on=keys, how="full", coalesce=True, suffix="_other")
    joined = joined.join(common, on="query_id", how="semi").sort(keys)
    last = pl.col("score", "score_other").fill_null(float(np.finfo(np.float32).min))
    groups = joined.with_columns(last).group_by("query_id", maintain_order=True)
    return [(g["score"].to_numpy(), g["score_other"].to_numpy()) for _, g in groups]


def _build_table_with_pivot_differences(
    rows: Sequence[tuple[object, ...]], pivot: str | None
) -> pl.DataFrame:
    schema = {name: kind for name, kind in REPRODUCIBILITY.items() if name != "over_pivot"}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    keys = ["from_snapshot", "to_snapshot", "quantity"]
    reference = table.filter(pl.col("system") == (pivot or "")).select(
        *keys, pl.col("value").alias("pivot_value")
    )
    joined = table.join(reference, on=keys, how="left", maintain_order="left")
    over = joined.with_columns(over_pivot=pl.col("value") - pl.col("pivot_value")).drop(
        "pivot_value"
    )
    return over.sort("from_snapshot", "to_snapshot", "system", "quantity")
