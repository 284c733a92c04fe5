"""Evaluates runs of several systems on the snapshots of a collection (`longeval evaluate`).

Runs are read one at a time and only their scores are kept, so memory is bounded by the largest run.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

import polars as pl

from builder import __version__
from builder.errors import DataError, UsageError
from builder.evaluation.measures.effectiveness import (
    RunScorer,
    RunScores,
    SnapshotScores,
    stack_scores,
)
from builder.evaluation.measures.registry import parse_measures
from builder.evaluation.parameters import EvaluationParameters
from builder.evaluation.runs.assignment import assign_runs, resolve_pivot
from builder.evaluation.runs.numbering import determine_snapshot_numbers
from builder.evaluation.runs.qrels import read_qrels
from builder.evaluation.runs.scoring import score_run_file
from builder.evaluation.tables import results
from builder.evaluation.tables.perquery import query_score_drops, query_scores
from builder.evaluation.tables.topicsets import TopicSet, topic_sets
from builder.runtime.progress import NoProgress, Progress
from builder.text.names import natural_sort_key
from builder.trec.released import read_query_keys
from builder.trec.runs import Run


@dataclass(frozen=True)
class Evaluation:
    """Result tables of an evaluation of systems over snapshots.

    Args:
        parameters: Parameters of the evaluation.
        snapshots: Names of the snapshots, ordered by `natural_sort_key`, which sorts dates
            chronologically and numbers by value.
        systems: Names of the systems, sorted.
        effectiveness: Mean scores; columns as in `results.EFFECTIVENESS`.
        significance: Comparison of systems with the pivot; columns as in `results.SIGNIFICANCE`.
        persistence: Comparison of snapshots; columns as in `results.PERSISTENCE`.
        agreement: Agreement of system rankings; columns as in `results.AGREEMENT`.
        query_scores: Score of each judged query, and its difference from the score of the pivot
            (Keller et al. 2024, equation 4); columns as in `perquery.QUERY_SCORES`.
        query_drops: Score in the first minus score in the second snapshot of each pair, for queries
            judged in both; columns as in `perquery.QUERY_DROPS`.
    """

    parameters: EvaluationParameters
    snapshots: tuple[str, ...]
    systems: tuple[str, ...]
    effectiveness: pl.DataFrame
    significance: pl.DataFrame
    persistence: pl.DataFrame
    agreement: pl.DataFrame
    query_scores: pl.DataFrame
    query_drops: pl.DataFrame

    def signature(self) -> str:
        """Return a one-line summary of parameters and software versions, for reproducibility."""
        p = self.parameters
        parts = {
            "measures": "+".join(p.measures),
            "depth": p.depth or "all",
            "pivot": p.pivot or "none",
            "pairs": p.pairs,
            "bootstrap": f"{p.resamples}@{p.confidence}",
            "seed": p.seed,
            "rbo_p": p.rbo_p,
            "splits": "all" if p.splits is None else "+".join(p.splits),
            "pytrec_eval": version("pytrec-eval-terrier"),
            "longeval-builder": __version__,
        }
        return "|".join(f"{name}:{value}" for name, value in parts.items())


@dataclass(frozen=True)
class _LazyRun:
    """Run of a system for a snapshot, which is not read until `score` is called.

    Args:
        system: Name of the system.
        snapshot: Name of the snapshot.
        score: Function that computes the scores of the run, after reading it if it is in a file.
    """

    system: str
    snapshot: str
    score: Callable[[RunScorer], RunScores]


def evaluate(
    qrels: Mapping[str, pl.DataFrame],
    runs: Mapping[str, Mapping[str, Run]],
    parameters: EvaluationParameters | None = None,
    *,
    progress: Progress | None = None,
) -> Evaluation:
    """Evaluate in-memory runs against in-memory relevance judgements.

    Args:
        qrels: Relevance judgements by snapshot: columns `query_id`, `doc_id`, `grade`.
        runs: Runs by system and then by snapshot; runs may be missing for some snapshots.
        parameters: Parameters of the evaluation; None for the defaults.
        progress: Reports each scored run.

    Raises:
        UsageError: There are no runs, the snapshot of a run or the pivot is unknown, a run is
            truncated at a smaller depth than requested, a measure has a cutoff greater than the
            depth, or the parameters contain splits.
        DataError: The judgements contain nulls or duplicates.
        MissingExtraError: The extra [evaluation] is not installed.
    """
    parameters = parameters or EvaluationParameters()
    if parameters.splits is not None:
        raise UsageError(
            "splits apply only to the files of a collection; filter judgements in memory by query "
            "instead"
        )

    def score_function(run: Run) -> Callable[[RunScorer], RunScores]:
        return lambda scorer: scorer.score(run.truncate(parameters.depth))

    lazy_runs = [
        _LazyRun(system, snapshot, score_function(run))
        for system, by_snapshot in runs.items()
        for snapshot, run in by_snapshot.items()
    ]
    return _evaluate_lazy_runs(qrels, lazy_runs, parameters, progress or NoProgress(), {})


def evaluate_paths(
    qrels: Mapping[str, Path],
    runs: Sequence[Path],
    parameters: EvaluationParameters | None = None,
    *,
    progress: Progress | None = None,
) -> Evaluation:
    """Evaluate run files against the relevance judgements of a collection.

    Args:
        qrels: Path of the `qrels.parquet` or TREC qrels file of each snapshot, by snapshot name.
        runs: Run files, folders of run files, or tables of per-query scores (see `score_tables`).
            Their paths must name the system and the snapshot (see `assignment`).
        parameters: Parameters of the evaluation; the pivot may be a system, a run file or a folder.
        progress: Reports each scored run.

    Raises:
        UsageError: As for `evaluate`, or a path is unreadable or cannot be assigned to a snapshot.
        FormatError: A run or qrels file is malformed.
        DataError: No snapshot has judgements, or a run answers no judged query of its snapshot.
    """
    parameters = parameters or EvaluationParameters()
    folders = {snapshot: path.parent for snapshot, path in qrels.items()}
    files = assign_runs(runs, sorted(qrels), determine_snapshot_numbers(folders))
    if parameters.pivot is not None:
        parameters = replace(parameters, pivot=resolve_pivot(parameters.pivot, files))
    lazy_runs = [
        _LazyRun(
            file.system,
            file.snapshot,
            partial(score_run_file, file, folders[file.snapshot], parameters.depth),
        )
        for file in files
    ]
    frames = {snapshot: read_qrels(path, parameters.splits) for snapshot, path in qrels.items()}
    if not any(frame.height for frame in frames.values()):
        splits = f" of the splits {', '.join(parameters.splits)}" if parameters.splits else ""
        raise DataError(f"expected judged queries{splits} in at least one snapshot, found none")
    query_keys = {snapshot: read_query_keys(folder) for snapshot, folder in folders.items()}
    return _evaluate_lazy_runs(frames, lazy_runs, parameters, progress or NoProgress(), query_keys)


def _evaluate_lazy_runs(
    qrels: Mapping[str, pl.DataFrame],
    lazy_runs: Sequence[_LazyRun],
    parameters: EvaluationParameters,
    progress: Progress,
    query_keys: Mapping[str, Mapping[str, str]],
) -> Evaluation:
    systems = sorted({lazy_run.system for lazy_run in lazy_runs})
    _check_runs(qrels, lazy_runs, systems, parameters)
    snapshots = _score_runs(qrels, lazy_runs, systems, parameters, progress, query_keys)
    sets = topic_sets(snapshots, parameters)

    def build_table(
        row_generator: Callable[
            [TopicSet, Sequence[str], EvaluationParameters], Iterable[results.Row]
        ],
        schema: dict[str, pl.DataType],
    ) -> pl.DataFrame:
        values = [row for topics in sets for row in row_generator(topics, systems, parameters)]
        return pl.DataFrame(values, schema=schema, orient="row")

    return Evaluation(
        parameters,
        tuple(scores.snapshot for scores in snapshots),
        tuple(systems),
        build_table(results.effectiveness_rows, results.EFFECTIVENESS),
        build_table(results.significance_rows, results.SIGNIFICANCE),
        build_table(results.persistence_rows, results.PERSISTENCE),
        build_table(results.agreement_rows, results.AGREEMENT),
        query_scores(snapshots, systems, parameters),
        query_score_drops(snapshots, systems, parameters),
    )


def _check_runs(
    qrels: Mapping[str, pl.DataFrame],
    lazy_runs: Sequence[_LazyRun],
    systems: Sequence[str],
    parameters: EvaluationParameters,
) -> None:
    if not lazy_runs:
        raise UsageError("expected at least one run, found none")
    for lazy_run in lazy_runs:
        if lazy_run.snapshot not in qrels:
            raise UsageError(
                f"run of {lazy_run.system!r}: unknown snapshot {lazy_run.snapshot!r}; expected one "
                f"of {', '.join(sorted(qrels))}"
            )
    if parameters.pivot is not None and parameters.pivot not in systems:
        raise UsageError(
            f"pivot {parameters.pivot!r}: expected one of the systems {', '.join(systems)}"
        )


def _score_runs(
    qrels: Mapping[str, pl.DataFrame],
    lazy_runs: Sequence[_LazyRun],
    systems: Sequence[str],
    parameters: EvaluationParameters,
    progress: Progress,
    query_keys: Mapping[str, Mapping[str, str]],
) -> list[SnapshotScores]:
    measures = parse_measures(parameters.measures)
    progress.start("evaluate", len(lazy_runs), "runs")
    snapshots = []
    for snapshot in sorted(qrels, key=natural_sort_key):
        scorer = RunScorer(qrels[snapshot], measures, f"qrels of {snapshot}")
        scores: dict[str, RunScores] = {}
        for lazy_run in lazy_runs:
            if lazy_run.snapshot == snapshot:
                scores[lazy_run.system] = lazy_run.score(scorer)
                progress.advance(1)
        snapshots.append(stack_scores(snapshot, scorer, systems, scores, query_keys.get(snapshot)))
    progress.finish()
    return snapshots
