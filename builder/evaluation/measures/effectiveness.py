"""Effectiveness of systems in one snapshot: a score for every judged query, and means over them.

In: judgements and runs of a snapshot. Out: `SnapshotScores`, a full array (judged queries, systems,
measures). Every judged query counts: one that is absent from a run scores 0 there; a query of the
run that nobody judged is ignored; both are counted. A system without a run is NaN throughout.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from builder.errors import UsageError
from builder.evaluation.measures.family import Floats
from builder.evaluation.measures.hits import find_hits
from builder.evaluation.measures.provided import provided_scores
from builder.evaluation.measures.registry import Measure
from builder.evaluation.measures.trec_eval import TrecEval
from builder.evaluation.runs.qrels import check_qrels
from builder.trec.runs import Run

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class RunScores:
    """Scores of one run.

    Args:
        values: Shape (judged queries, measures).
        missing: Judged queries that the run lacks, shape (judged queries,).
        unjudged: Queries of the run that nobody judged.
    """

    values: Floats
    missing: Flags
    unjudged: int


@dataclass(frozen=True)
class SnapshotScores:
    """Scores of all systems in one snapshot.

    Args:
        snapshot: Its name.
        query_ids: The judged queries, sorted.
        values: Shape (queries, systems, measures); NaN where a system has no run.
        missing: Judged queries that a run lacks, shape (queries, systems).
        unjudged: Queries of each system's run that nobody judged; -1 where it has no run.
        irrelevant: Judged queries without any relevant document, shape (queries,).
        keys: What each query is called in every snapshot: its id, or its key where a release was
            imported (see `schemas.ReleaseIds`).
    """

    snapshot: str
    query_ids: tuple[str, ...]
    values: Floats
    missing: Flags
    unjudged: tuple[int, ...]
    irrelevant: Flags
    keys: tuple[str, ...]

    def restrict(self, keys: Iterable[str]) -> "SnapshotScores":
        """The same scores for some of the judged queries, in the order of their keys."""
        place = {key: number for number, key in enumerate(self.keys)}
        wanted = sorted(place.keys() & set(keys))
        kept = np.array([place[key] for key in wanted], dtype=np.int64)
        return SnapshotScores(
            self.snapshot,
            tuple(self.query_ids[number] for number in kept),
            self.values[kept],
            self.missing[kept],
            self.unjudged,
            self.irrelevant[kept],
            tuple(wanted),
        )

    def means(self) -> Floats:
        """Means over the judged queries, shape (systems, measures); NaN where there is none."""
        if not self.query_ids:
            return np.full(self.values.shape[1:], np.nan)
        return np.asarray(self.values.mean(axis=0), dtype=np.float64)


class Judge:
    """Scores runs against the judgements of one snapshot.

    Args:
        qrels: Columns `query_id`, `doc_id`, `grade`; unique by the first two. A negative grade
            means not judged, as for trec_eval.
        measures: What to compute.
        where: What the judgements are, for messages.

    Raises:
        DataError: the judgements have nulls, or judge a pair twice.
        MissingExtraError: the extra [evaluation] is not installed.
    """

    def __init__(
        self, qrels: pl.DataFrame, measures: Sequence[Measure], where: str = "qrels"
    ) -> None:
        # trec_eval's -1 and -2 mean unjudged; pytrec_eval 0.5 corrupts memory on them
        self._qrels = check_qrels(qrels, where).filter(pl.col("grade") >= 0)
        best = self._qrels.group_by("query_id").agg(pl.col("grade").max()).sort("query_id")
        self.query_ids: tuple[str, ...] = tuple(best["query_id"])
        self.irrelevant: Flags = (best["grade"] < 1).to_numpy().astype(np.bool_)
        self.measures = tuple(measures)
        self._provided = [i for i, measure in enumerate(measures) if measure.is_provided]
        self._asked = [
            i
            for i, measure in enumerate(measures)
            if measure.compute is None and not measure.is_provided
        ]
        self._trec_eval = TrecEval([measures[i] for i in self._asked], self._qrels)

    def score(self, run: Run) -> RunScores:
        """Scores of a run for every judged query.

        Raises:
            UsageError: a measure looks deeper than the run was cut.
            DataError: a grade is above the maximum that ERR was given.
        """
        deepest = max((measure.cutoff or 0 for measure in self.measures), default=0)
        if run.depth is not None and deepest > run.depth:
            raise UsageError(
                f"expected a run depth of at least {deepest}, the largest cutoff among the "
                f"measures, found {run.depth}; raise the depth or drop the measure"
            )
        hits = find_hits(self._qrels, run)
        values = np.zeros((len(self.query_ids), len(self.measures)))
        values[:, self._asked] = self._trec_eval.scores(hits)
        names = [str(self.measures[i]) for i in self._provided]
        values[:, self._provided] = provided_scores(names, self._qrels, self.query_ids, run)
        for index, measure in enumerate(self.measures):
            if measure.compute is not None:
                values[:, index] = measure.compute(measure, hits)
        return RunScores(values, hits.retrieved == 0, hits.unjudged)


def gather(
    snapshot: str,
    judge: Judge,
    systems: Sequence[str],
    scores: Mapping[str, RunScores],
    keys: Mapping[str, str] | None = None,
) -> SnapshotScores:
    """Put the scores of several runs of one snapshot side by side.

    Args:
        snapshot: Its name.
        judge: What scored them.
        systems: All systems of the evaluation, in order.
        scores: Scores by system; a system may lack a run here.
        keys: Key of each query, where that is not its id.
    """
    queries = len(judge.query_ids)
    values = np.full((queries, len(systems), len(judge.measures)), np.nan)
    missing = np.zeros((queries, len(systems)), dtype=np.bool_)
    for index, system in enumerate(systems):
        if system in scores:
            values[:, index] = scores[system].values
            missing[:, index] = scores[system].missing
    unjudged = tuple(scores[s].unjudged if s in scores else -1 for s in systems)
    named = tuple((keys or {}).get(query, query) for query in judge.query_ids)
    ids = judge.query_ids
    return SnapshotScores(snapshot, ids, values, missing, unjudged, judge.irrelevant, named)
