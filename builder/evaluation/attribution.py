"""Where the change of each system's score comes from, for the runs of a collection.

In: a collection's judgements and document changes, and run files. Out: one row for each system,
measure and pair of snapshots: the change and what documents, queries and judgements contribute
(`builder.drift.attribution`), with the scores and numbers of queries of all eight cells.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from builder.drift import Attribution, RunWithQrels, attribute_change
from builder.errors import DataError, UsageError
from builder.evaluation.measures.effectiveness import Judge
from builder.evaluation.measures.registry import Measure, parse_measures
from builder.evaluation.runs.assignment import assign_runs
from builder.evaluation.runs.qrels import read_qrels
from builder.io import parquet
from builder.trec.released import by_keys, read_run_of
from builder.trec.runs import DEFAULT_DEPTH, Run

Pair = tuple[str, str]


@dataclass(frozen=True)
class AttributedChange:
    """The change of one system's mean score between two snapshots, taken apart.

    Args:
        system: The system.
        measure: The measure.
        pair: Earlier and later snapshot.
        attribution: The change, its parts, and the cells behind them.
    """

    system: str
    measure: str
    pair: Pair
    attribution: Attribution

    def row(self) -> dict[str, Any]:
        """One line of a table."""
        found = self.attribution
        return {
            "system": self.system,
            "measure": self.measure,
            "from": self.pair[0],
            "to": self.pair[1],
            "change": found.change,
            **found.contributions,
            "statistics_and_system": found.statistics_and_system,
            "least_queries": min(min(cell.n_from, cell.n_to) for cell in found.cells),
        }

    def to_json(self) -> dict[str, Any]:
        """The row and its eight cells."""
        cells = [
            {
                "held": sorted(cell.held),
                "mean_from": cell.mean_from,
                "mean_to": cell.mean_to,
                "n_from": cell.n_from,
                "n_to": cell.n_to,
            }
            for cell in self.attribution.cells
        ]
        return {**self.row(), "residual": self.attribution.statistics_and_system, "cells": cells}


def attribute_paths(
    qrels: Mapping[str, Path],
    document_changes: Path,
    runs: Sequence[Path],
    measures: Sequence[str] = ("nDCG@10",),
    *,
    depth: int = DEFAULT_DEPTH,
    splits: tuple[str, ...] | None = None,
) -> list[AttributedChange]:
    """Attribute the changes of all systems between consecutive snapshots that they ran on.

    Args:
        qrels: By snapshot, in order of time, its `qrels.parquet`.
        document_changes: The collection's `changes/documents.parquet`.
        runs: Run files, or folders of them, named as for `evaluate_paths`.
        measures: Such as `nDCG@10`.
        depth: Documents looked at per query.
        splits: Judge only queries of these splits.

    Raises:
        UsageError: no system ran on two consecutive snapshots, or a path cannot be assigned.
        FormatError: a malformed run or qrels file; names file and line.
        DataError: a snapshot has no judgement, or a pair no document.
    """
    files = assign_runs(runs, sorted(qrels))
    paths = {(file.system, file.snapshot): file.path for file in files}
    judged = {name: read_qrels(path, splits) for name, path in qrels.items()}
    names = list(qrels)
    found = [
        AttributedChange(system, str(measure), pair, attribution)
        for pair in pairwise(names)
        for system in sorted({file.system for file in files})
        if all((system, name) in paths for name in pair)
        for measure, attribution in _attribute(
            [
                _aligned(paths[system, name], judged[name], depth, qrels[name].parent)
                for name in pair
            ],
            unchanged(document_changes, pair),
            parse_measures(measures),
            depth,
        )
    ]
    if not found:
        raise UsageError(
            "expected runs of a system on two consecutive snapshots of "
            f"{', '.join(names)}, found {', '.join(f'{s} on {n}' for s, n in sorted(paths))}"
        )
    return sorted(found, key=lambda change: (change.system, change.measure, change.pair))


def unchanged(document_changes: Path, pair: Pair) -> pl.Series:
    """Ids of the documents that both snapshots hold with the same words.

    Raises:
        DataError: nothing is known of the documents of these snapshots.
    """
    of_pair = parquet.scan(document_changes).filter(from_snapshot=pair[0], to_snapshot=pair[1])
    if of_pair.head(1).collect().is_empty():
        raise DataError(
            f"expected documents of {pair[0]} and {pair[1]}, found none; what they contribute "
            "cannot be told from queries and judgements alone"
        )
    rows = of_pair.filter(status="unchanged")
    return rows.select("doc_id").collect()["doc_id"]


def _aligned(
    path: Path, judged: pl.DataFrame, depth: int, snapshot: Path
) -> tuple[Run, pl.DataFrame]:
    """A run and judgements of a snapshot, under ids that hold in every snapshot."""
    run = read_run_of(path, depth, snapshot)
    keyed = replace(run, ranking=by_keys(run.ranking, snapshot))
    return keyed, by_keys(judged, snapshot)


def _attribute(
    sides: Sequence[tuple[Run, pl.DataFrame]],
    same: pl.Series,
    measures: Sequence[Measure],
    depth: int,
) -> Iterator[tuple[Measure, Attribution]]:
    before, after = (RunWithQrels(run.ranking, qrels) for run, qrels in sides)
    for measure in measures:

        def score(
            run: pl.DataFrame, qrels: pl.DataFrame, measure: Measure = measure
        ) -> dict[str, float]:
            judge = Judge(qrels, [measure])
            ranked = Run.from_scores(run.select("query_id", "doc_id", "score"), "run", depth)
            values = judge.score(ranked).values[:, 0]
            return dict(zip(judge.query_ids, values.tolist(), strict=True))

        yield measure, attribute_change(before, after, same, score)
