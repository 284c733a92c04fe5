"""Evaluate runs over time: the one function behind `longeval evaluate`.

In: judgements of every snapshot and runs of every system. Out: `Evaluation`, all tables at once.
Runs are read one after the other and only their scores are kept, so memory is that of the largest
run.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import polars as pl

from builder import __version__
from builder.errors import UsageError
from builder.evaluation.measures.effectiveness import Judge, RunScores, SnapshotScores, gather
from builder.evaluation.measures.registry import parse_measures
from builder.evaluation.parameters import EvaluationParameters
from builder.evaluation.runs.assignment import assign_runs, find_pivot
from builder.evaluation.runs.qrels import read_qrels
from builder.evaluation.runs.score_tables import is_score_table, table_scores
from builder.evaluation.tables import results
from builder.evaluation.tables.perquery import query_drops, query_scores
from builder.evaluation.tables.topicsets import TopicSet, topic_sets
from builder.runtime.progress import NoProgress, Progress
from builder.trec.released import query_keys, read_run_of
from builder.trec.runs import Run


@dataclass(frozen=True)
class Evaluation:
    """Everything known about some systems over some snapshots.

    Args:
        parameters: How it was computed.
        snapshots: Snapshots in the order of time.
        systems: Systems, sorted.
        effectiveness: Means; columns as in `results.EFFECTIVENESS`.
        significance: Systems against the pivot; columns as in `results.SIGNIFICANCE`.
        persistence: Snapshots against each other; columns as in `results.PERSISTENCE`.
        agreement: Rankings of systems; columns as in `results.AGREEMENT`.
        query_scores: Score of each judged query, and its difference to the pivot (Keller et al.
            2024, equation 4); columns as in `perquery.QUERY_SCORES`.
        query_drops: For queries judged in both snapshots of a pair, the score in the first minus
            that in the second; columns as in `perquery.QUERY_DROPS`.
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
        """One line that lets anyone compute the same numbers again."""
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
class _Source:
    """A run, or a table of its scores, that has not been read yet."""

    system: str
    snapshot: str
    score: Callable[[Judge], RunScores]


def evaluate(
    qrels: Mapping[str, pl.DataFrame],
    runs: Mapping[str, Mapping[str, Run]],
    parameters: EvaluationParameters | None = None,
    *,
    progress: Progress | None = None,
) -> Evaluation:
    """Evaluate runs that are in memory.

    Args:
        qrels: Judgements by snapshot: columns `query_id`, `doc_id`, `grade`.
        runs: Runs by system and snapshot; a system may lack some snapshots.
        parameters: How to evaluate; the defaults where absent.
        progress: Told about every run.

    Raises:
        UsageError: no run, a run of an unknown snapshot, an unknown pivot, a run that was cut above
            the depth asked for, a measure that looks deeper than the depth, or splits.
        DataError: judgements with nulls or duplicates.
        MissingExtraError: the extra [evaluation] is not installed.
    """
    parameters = parameters or EvaluationParameters()
    if parameters.splits is not None:
        raise UsageError("splits are read from a collection's files; filter the frames instead")

    def loader(run: Run) -> Callable[[Judge], RunScores]:
        return lambda judge: judge.score(run.cut(parameters.depth))

    sources = [
        _Source(system, snapshot, loader(run))
        for system, by_snapshot in runs.items()
        for snapshot, run in by_snapshot.items()
    ]
    return _evaluate(qrels, sources, parameters, progress or NoProgress(), {})


def evaluate_paths(
    qrels: Mapping[str, Path],
    runs: Sequence[Path],
    parameters: EvaluationParameters | None = None,
    *,
    progress: Progress | None = None,
) -> Evaluation:
    """Evaluate run files against the judgements of a collection.

    Args:
        qrels: By snapshot, its `qrels.parquet` or a TREC qrels file.
        runs: Run files, folders of them, or tables of per-query scores (see `score_tables`); see
            `assignment` for how a path names its system and snapshot.
        parameters: How to evaluate; its pivot may be a system, one of the run files or a folder.
        progress: Told about every run.

    Raises:
        UsageError: as for `evaluate`; or a path that cannot be assigned or read.
        FormatError: a malformed run or qrels file; names file and line.
    """
    parameters = parameters or EvaluationParameters()
    files = assign_runs(runs, sorted(qrels))
    if parameters.pivot is not None:
        parameters = replace(parameters, pivot=find_pivot(parameters.pivot, files))
    depth = parameters.depth

    def loader(path: Path, snapshot: str) -> Callable[[Judge], RunScores]:
        def score(judge: Judge) -> RunScores:
            if is_score_table(path):
                return table_scores(path, judge)
            return judge.score(read_run_of(path, depth, qrels[snapshot].parent))

        return score

    sources = [_Source(f.system, f.snapshot, loader(f.path, f.snapshot)) for f in files]
    frames = {snapshot: read_qrels(path, parameters.splits) for snapshot, path in qrels.items()}
    keys = {snapshot: query_keys(path.parent) for snapshot, path in qrels.items()}
    return _evaluate(frames, sources, parameters, progress or NoProgress(), keys)


def _evaluate(
    qrels: Mapping[str, pl.DataFrame],
    sources: Sequence[_Source],
    parameters: EvaluationParameters,
    progress: Progress,
    keys: Mapping[str, Mapping[str, str]],
) -> Evaluation:
    systems = sorted({source.system for source in sources})
    _check(qrels, sources, systems, parameters)
    snapshots = _score(qrels, sources, systems, parameters, progress, keys)
    sets = topic_sets(snapshots, parameters)

    def table(
        rows: Callable[[TopicSet, Sequence[str], EvaluationParameters], Iterable[results.Row]],
        schema: dict[str, pl.DataType],
    ) -> pl.DataFrame:
        found = [row for topics in sets for row in rows(topics, systems, parameters)]
        return pl.DataFrame(found, schema=schema, orient="row")

    return Evaluation(
        parameters,
        tuple(scores.snapshot for scores in snapshots),
        tuple(systems),
        table(results.effectiveness_rows, results.EFFECTIVENESS),
        table(results.significance_rows, results.SIGNIFICANCE),
        table(results.persistence_rows, results.PERSISTENCE),
        table(results.agreement_rows, results.AGREEMENT),
        query_scores(snapshots, systems, parameters),
        query_drops(snapshots, systems, parameters),
    )


def _check(
    qrels: Mapping[str, pl.DataFrame],
    sources: Sequence[_Source],
    systems: Sequence[str],
    parameters: EvaluationParameters,
) -> None:
    if not sources:
        raise UsageError("expected at least one run, found none")
    for source in sources:
        if source.snapshot not in qrels:
            raise UsageError(
                f"run of {source.system!r}: expected one of the snapshots "
                f"{', '.join(sorted(qrels))}, found {source.snapshot!r}"
            )
    if parameters.pivot is not None and parameters.pivot not in systems:
        raise UsageError(
            f"pivot {parameters.pivot!r}: expected one of the systems {', '.join(systems)}"
        )


def _score(
    qrels: Mapping[str, pl.DataFrame],
    sources: Sequence[_Source],
    systems: Sequence[str],
    parameters: EvaluationParameters,
    progress: Progress,
    keys: Mapping[str, Mapping[str, str]],
) -> list[SnapshotScores]:
    measures = parse_measures(parameters.measures)
    progress.start("evaluate", len(sources), "runs")
    snapshots = []
    for snapshot in sorted(qrels):
        judge = Judge(qrels[snapshot], measures, f"qrels of {snapshot}")
        scores: dict[str, RunScores] = {}
        for source in sources:
            if source.snapshot == snapshot:
                scores[source.system] = source.score(judge)
                progress.advance(1)
        snapshots.append(gather(snapshot, judge, systems, scores, keys.get(snapshot)))
    progress.finish()
    return snapshots
