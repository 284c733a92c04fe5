"""Attributes score changes between snapshots to changes in documents, queries and judgements.

Reads run files, and returns the score change and the contribution of each of the three causes for
each system, measure and pair of snapshots. The method is described in `builder.drift.attribution`.
The contributions are computed from eight cells, one for each subset of the causes. A cell contains
mean scores and query counts, computed with the causes in the subset held constant.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from builder.drift import Attribution, RunWithQrels, attribute_score_change
from builder.errors import DataError, UsageError
from builder.evaluation.measures.effectiveness import RunScorer
from builder.evaluation.measures.registry import Measure, parse_measures
from builder.evaluation.runs.assignment import RunFile, assign_runs
from builder.evaluation.runs.numbering import determine_snapshot_numbers
from builder.evaluation.runs.qrels import read_qrels
from builder.evaluation.runs.scoring import require_judged_queries
from builder.io import parquet
from builder.trec.released import read_snapshot_run, replace_ids_with_keys
from builder.trec.runs import DEFAULT_DEPTH, Run

Pair = tuple[str, str]


@dataclass(frozen=True)
class AttributedScoreChange:
    """Change in a system's mean score between two snapshots, and the contribution of each cause.

    Args:
        system: Name of the system.
        measure: Name of the measure.
        pair: Names of the earlier and the later snapshot.
        attribution: Change, contributions, and the cells from which they are computed.
    """

    system: str
    measure: str
    pair: Pair
    attribution: Attribution

    def to_row(self) -> dict[str, Any]:
        """Return the score change and the contribution of each cause as a table row."""
        attribution = self.attribution
        return {
            "system": self.system,
            "measure": self.measure,
            "from": self.pair[0],
            "to": self.pair[1],
            "change": attribution.change,
            **attribution.contributions,
            "statistics_and_system": attribution.statistics_and_system,
            **attribution.residual_parts,
            "least_queries": min(min(cell.n_from, cell.n_to) for cell in attribution.cells),
        }

    def to_json(self) -> dict[str, Any]:
        """Return the values of `to_row`, and the cells they are computed from, as a JSON object."""
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
        return {**self.to_row(), "cells": cells}


def attribute_score_changes(
    qrels: Mapping[str, Path],
    document_changes: Path,
    runs: Sequence[Path],
    measures: Sequence[str] = ("nDCG@10",),
    *,
    depth: int = DEFAULT_DEPTH,
    splits: tuple[str, ...] | None = None,
    earlier_statistics: Sequence[Path] = (),
) -> list[AttributedScoreChange]:
    """Attribute score changes between consecutive snapshots to documents, queries and judgements.

    Args:
        qrels: Path of each snapshot's `qrels.parquet`, by snapshot name, in chronological order.
        document_changes: Path of the collection's `changes/documents.parquet`.
        runs: Run files, or folders of run files, named as for `evaluate_paths`.
        measures: Names of measures, such as `nDCG@10`.
        depth: Number of documents evaluated per query.
        splits: Evaluate only queries of these splits.
        earlier_statistics: Run files of the same systems for every snapshot but the first, ranked
            with the collection statistics of the preceding snapshot (see `search_snapshot`). They
            split the residual, which is the change that none of the causes explains. May be empty.

    Raises:
        UsageError: No system has runs for consecutive snapshots, a path cannot be assigned to a
            system and snapshot, or a run ranked with earlier statistics is missing.
        FormatError: A run or qrels file is malformed.
        DataError: A snapshot has no judgements, a run answers no judged query of its snapshot, or
            the document changes of a pair of snapshots are not recorded.
    """
    paths = _assign_run_files(runs, qrels)
    earlier_run_files = _assign_run_files(earlier_statistics, qrels)
    judged = {name: read_qrels(path, splits) for name, path in qrels.items()}
    names = list(qrels)
    changes = [
        AttributedScoreChange(system, str(measure), pair, attribution)
        for pair in pairwise(names)
        for system in sorted({system for system, _ in paths})
        if all((system, name) in paths for name in pair)
        for measure, attribution in _attribute_change_by_measure(
            [
                _read_run_with_aligned_ids(
                    paths[system, name], judged[name], depth, qrels[name].parent
                )
                for name in pair
            ],
            unchanged_document_ids(document_changes, pair),
            parse_measures(measures),
            depth,
            _read_ranking_with_earlier_statistics(
                earlier_run_files, (system, pair[1]), judged, qrels, depth
            )
            if earlier_run_files
            else None,
        )
    ]
    if not changes:
        assigned = ", ".join(f"{system} for {name}" for system, name in sorted(paths))
        raise UsageError(
            "expected a system with runs for two consecutive snapshots among "
            f"{', '.join(names)}, found only runs of {assigned}"
        )
    return sorted(changes, key=lambda change: (change.system, change.measure, change.pair))


def _assign_run_files(runs: Sequence[Path], qrels: Mapping[str, Path]) -> dict[Pair, RunFile]:
    """Return the run file of each system and snapshot, as a mapping from (system, snapshot)."""
    numbers = determine_snapshot_numbers({name: path.parent for name, path in qrels.items()})
    files = assign_runs(runs, sorted(qrels), numbers) if runs else []
    return {(file.system, file.snapshot): file for file in files}


def _read_ranking_with_earlier_statistics(
    earlier_run_files: Mapping[Pair, RunFile],
    system_and_snapshot: Pair,
    qrels_by_snapshot: Mapping[str, pl.DataFrame],
    qrels_paths: Mapping[str, Path],
    depth: int,
) -> pl.DataFrame:
    """Read a system's ranking computed with the collection statistics of the preceding snapshot.

    Raises:
        UsageError: `earlier_run_files` contains no run of the system for the snapshot.
    """
    system, snapshot = system_and_snapshot
    if system_and_snapshot not in earlier_run_files:
        found = ", ".join(f"{s} for {n}" for s, n in sorted(earlier_run_files))
        raise UsageError(
            f"expected a run of {system} for {snapshot}, ranked with the statistics of the "
            f"preceding snapshot, found only runs of {found}; the path of a run must name its "
            "system and snapshot"
        )
    run, _ = _read_run_with_aligned_ids(
        earlier_run_files[system_and_snapshot],
        qrels_by_snapshot[snapshot],
        depth,
        qrels_paths[snapshot].parent,
    )
    return run.ranking


def unchanged_document_ids(document_changes: Path, pair: Pair) -> pl.Series:
    """Return the ids of the documents whose words are the same in both snapshots of a pair.

    Raises:
        DataError: The document changes between the two snapshots are not recorded.
    """
    changes = parquet.scan(document_changes).filter(from_snapshot=pair[0], to_snapshot=pair[1])
    if changes.head(1).collect().is_empty():
        raise DataError(
            f"no document changes are recorded from {pair[0]} to {pair[1]}; without them, the "
            "contribution of documents cannot be computed"
        )
    rows = changes.filter(status="unchanged")
    return rows.select("doc_id").collect()["doc_id"]


def _read_run_with_aligned_ids(
    file: RunFile, qrels: pl.DataFrame, depth: int, snapshot_folder: Path
) -> tuple[Run, pl.DataFrame]:
    """Read a run, and replace the ids in run and qrels with keys shared by all snapshots.

    Raises:
        DataError: The run has no results for any judged query.
    """
    run = read_snapshot_run(file.path, depth, snapshot_folder)
    scorer = RunScorer(qrels, [])
    require_judged_queries(scorer.score(run), scorer, file)
    keyed = replace(run, ranking=replace_ids_with_keys(run.ranking, snapshot_folder))
    return keyed, replace_ids_with_keys(qrels, snapshot_folder)


def _attribute_change_by_measure(
    runs_and_qrels: Sequence[tuple[Run, pl.DataFrame]],
    unchanged_doc_ids: pl.Series,
    measures: Sequence[Measure],
    depth: int,
    ranking_with_earlier_statistics: pl.DataFrame | None,
) -> Iterator[tuple[Measure, Attribution]]:
    before, after = (RunWithQrels(run.ranking, qrels) for run, qrels in runs_and_qrels)
    for measure in measures:

        def score(
            run: pl.DataFrame, qrels: pl.DataFrame, measure: Measure = measure
        ) -> dict[str, float]:
            scorer = RunScorer(qrels, [measure])
            ranked = Run.from_scores(run.select("query_id", "doc_id", "score"), "run", depth)
            values = scorer.score(ranked).values[:, 0]
            return dict(zip(scorer.query_ids, values.tolist(), strict=True))

        yield (
            measure,
            attribute_score_change(
                before, after, unchanged_doc_ids, score, ranking_with_earlier_statistics
            ),
        )
