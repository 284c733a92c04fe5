"""Per-query scores and means of all systems in a snapshot.

Scores are an array of shape (judged queries, systems, measures). A judged query that is missing
from a run scores 0, and unjudged queries in a run are ignored; the numbers of missing and of
unjudged queries are returned with the scores. If a system has no run for the snapshot, all its
scores are NaN.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from builder.errors import UsageError
from builder.evaluation.measures.family import Floats
from builder.evaluation.measures.hits import find_hits
from builder.evaluation.measures.ir_measures_adapter import ir_measures_scores
from builder.evaluation.measures.registry import Measure
from builder.evaluation.measures.trec_eval import TrecEvalScorer
from builder.evaluation.runs.qrels import check_qrels
from builder.trec.runs import Run

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class RunScores:
    """Per-query scores of one run.

    Args:
        values: Scores, shape (judged queries, measures).
        missing: Whether each judged query is missing from the run, shape (judged queries,).
        unjudged: Number of queries in the run that have no judgements.
    """

    values: Floats
    missing: Flags
    unjudged: int


@dataclass(frozen=True)
class SnapshotScores:
    """Scores of all systems in a snapshot.

    Args:
        snapshot: Name of the snapshot.
        query_ids: Sorted ids of the judged queries.
        values: Scores, shape (queries, systems, measures); NaN for systems without a run.
        missing: Whether each judged query is missing from each run, shape (queries, systems).
        unjudged: Number of queries without judgements in each system's run; -1 if the system has
            no run.
        irrelevant: Whether each query has no relevant document, shape (queries,).
        keys: Aligned id of each query, which is the same in all snapshots; differs from its id
            only in imported releases (see `schemas.ReleaseIds`).
    """

    snapshot: str
    query_ids: tuple[str, ...]
    values: Floats
    missing: Flags
    unjudged: tuple[int, ...]
    irrelevant: Flags
    keys: tuple[str, ...]

    def select_queries(self, aligned_ids: Iterable[str]) -> "SnapshotScores":
        """Select the scores of the queries with the given aligned ids, sorted by aligned id."""
        index = {key: number for number, key in enumerate(self.keys)}
        selected = sorted(index.keys() & set(aligned_ids))
        kept = np.array([index[key] for key in selected], dtype=np.int64)
        return SnapshotScores(
            self.snapshot,
            tuple(self.query_ids[number] for number in kept),
            self.values[kept],
            self.missing[kept],
            self.unjudged,
            self.irrelevant[kept],
            tuple(selected),
        )

    def means(self) -> Floats:
        """Return the mean score of each system and measure over the judged queries."""
        if not self.query_ids:
            return np.full(self.values.shape[1:], np.nan)
        return np.asarray(self.values.mean(axis=0), dtype=np.float64)


class RunScorer:
    """Scorer of runs against the relevance judgements of a snapshot.

    Args:
        qrels: Columns `query_id`, `doc_id`, `grade`, with one row per query-document pair. Negative
            grades mean unjudged, as in trec_eval. A query that has only such grades scores 0.
        measures: Measures to compute.
        name: Name of the judgements, for error messages.

    Raises:
        DataError: The judgements contain nulls or duplicate pairs.
        MissingExtraError: The extra [evaluation] is not installed.
    """

    def __init__(
        self, qrels: pl.DataFrame, measures: Sequence[Measure], name: str = "qrels"
    ) -> None:
        # pytrec_eval 0.5 corrupts memory on queries that have only negative grades
        pool = check_qrels(qrels, name)
        best = pool.group_by("query_id").agg(pl.col("grade").max()).sort("query_id")
        self._pool = pool.join(best.filter(pl.col("grade") >= 0), on="query_id", how="semi")
        self._qrels = pool.filter(pl.col("grade") >= 0)
        self.query_ids: tuple[str, ...] = tuple(best["query_id"])
        self.irrelevant: Flags = (best["grade"] < 1).to_numpy().astype(np.bool_)
        self.measures = tuple(measures)
        self._ir_measures_columns = [
            i for i, measure in enumerate(measures) if measure.is_from_ir_measures
        ]
        self._trec_eval_columns = [
            i
            for i, measure in enumerate(measures)
            if measure.scoring_function is None and not measure.is_from_ir_measures
        ]
        self._trec_eval = TrecEvalScorer(
            [measures[i] for i in self._trec_eval_columns], self._qrels, self.query_ids
        )

    def score(self, run: Run) -> RunScores:
        """Compute the scores of a run for every judged query.

        Raises:
            UsageError: The cutoff of a measure exceeds the depth of the run.
            DataError: A grade exceeds the maximum grade of ERR.
        """
        deepest = max((measure.cutoff or 0 for measure in self.measures), default=0)
        if run.depth is not None and deepest > run.depth:
            raise UsageError(
                f"the largest cutoff of the measures is {deepest}, but the run depth is only "
                f"{run.depth}; increase the depth or remove the measure"
            )
        hits = find_hits(self._qrels, self.query_ids, run)
        values = np.zeros((len(self.query_ids), len(self.measures)))
        values[:, self._trec_eval_columns] = self._trec_eval.scores(hits)
        names = [str(self.measures[i]) for i in self._ir_measures_columns]
        values[:, self._ir_measures_columns] = ir_measures_scores(
            names, self._pool, self.query_ids, run
        )
        for index, measure in enumerate(self.measures):
            if measure.scoring_function is not None:
                values[:, index] = measure.scoring_function(measure, hits)
        return RunScores(values, hits.retrieved == 0, hits.unjudged)


def stack_scores(
    snapshot: str,
    scorer: RunScorer,
    systems: Sequence[str],
    scores: Mapping[str, RunScores],
    aligned_ids: Mapping[str, str] | None = None,
) -> SnapshotScores:
    """Combine the scores of all systems on a snapshot into one array.

    Args:
        snapshot: Name of the snapshot.
        scorer: Scorer that computed the scores.
        systems: All systems of the evaluation, in the order of the array.
        scores: Scores by system; contains only systems with a run.
        aligned_ids: Aligned id (the same in all snapshots) by query id. Queries that are missing
            from this mapping, or all if it is None, keep their ids.
    """
    queries = len(scorer.query_ids)
    values = np.full((queries, len(systems), len(scorer.measures)), np.nan)
    missing = np.zeros((queries, len(systems)), dtype=np.bool_)
    for index, system in enumerate(systems):
        if system in scores:
            values[:, index] = scores[system].values
            missing[:, index] = scores[system].missing
    unjudged = tuple(scores[s].unjudged if s in scores else -1 for s in systems)
    query_ids = scorer.query_ids
    aligned = tuple((aligned_ids or {}).get(query, query) for query in query_ids)
    return SnapshotScores(
        snapshot, query_ids, values, missing, unjudged, scorer.irrelevant, aligned
    )
