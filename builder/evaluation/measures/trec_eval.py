"""Per-query scores of a run, from its hits: trec_eval's measures.

trec_eval is asked through pytrec_eval, but not with the run: it gets the judged documents at their
ranks, a placeholder for every document between them, and nothing below the last relevant one. No
measure of `FAMILIES` can tell the difference, and a run of a million lines costs a fifth of a
second.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from builder.errors import DataError
from builder.evaluation.measures.family import Floats
from builder.evaluation.measures.hits import Hits, judged_queries
from builder.evaluation.measures.registry import Measure
from builder.extras import import_optional

_TREC_NAMES = {
    "nDCG": ("ndcg", "ndcg_cut"),
    "AP": ("map", "map_cut"),
    "P": ("", "P"),
    "R": ("", "recall"),
    "RR": ("recip_rank", ""),
    "bpref": ("bpref", ""),
    "Rprec": ("Rprec", ""),
    "Success": ("", "success"),
}
"""trec_eval's name of each family, without and with a cutoff."""


def measure_of_trec_name(name: str) -> str | None:
    """The measure that trec_eval calls `ndcg_cut_10` or `map`; None of one it alone has."""
    stem, _, digits = name.rpartition("_")
    for family, (whole, cut) in _TREC_NAMES.items():
        if name == whole:
            return family
        if cut and stem == cut and digits.isdecimal():
            return f"{family}@{int(digits)}"
    return None


class TrecEval:
    """trec_eval's measures over the judgements of one snapshot.

    Args:
        measures: Measures whose engine is trec_eval.
        qrels: Columns `query_id`, `doc_id`, `grade`.

    Raises:
        MissingExtraError: pytrec_eval is not installed.
        DataError: a judged document id holds white space.
    """

    def __init__(self, measures: Sequence[Measure], qrels: pl.DataFrame) -> None:
        if qrels["doc_id"].str.contains(r"\s").any():
            raise DataError("qrels: expected document ids without white space, as TREC files need")
        self._measures = list(measures)
        self._queries = judged_queries(qrels)
        truth: dict[str, dict[str, int]] = {query: {} for query in self._queries}
        for query, document, grade in qrels.select("query_id", "doc_id", "grade").iter_rows():
            truth[query][document] = grade
        engine = import_optional("pytrec_eval", "the evaluation of runs", "evaluation")
        names: dict[int, set[str]] = {}
        for measure in measures:
            names.setdefault(_level(measure), set()).add(_trec_name(measure))
        self._evaluators: dict[int, Any] = {
            level: engine.RelevanceEvaluator(truth, asked, relevance_level=level)
            for level, asked in names.items()
        }

    def scores(self, hits: Hits) -> Floats:
        """Scores of a run, shape (judged queries, measures); 0 where a query has no hit."""
        values = np.zeros((len(self._queries), len(self._measures)))
        run = self._stand_in(hits)
        if not run:
            return values
        found = {level: engine.evaluate(run) for level, engine in self._evaluators.items()}
        rows = [row for row, query in enumerate(self._queries) if query in run]
        for column, measure in enumerate(self._measures):
            by_query, name = found[_level(measure)], _trec_name(measure)
            values[rows, column] = [by_query[self._queries[row]][name] for row in rows]
            if measure.family == "RR" and measure.cutoff is not None:
                values[values[:, column] * measure.cutoff < 1 - 1e-9, column] = 0.0
        return values

    def _stand_in(self, hits: Hits) -> dict[str, dict[str, float]]:
        """A run with the hits of each query down to its last relevant one, and placeholders."""
        deepest = np.zeros(len(self._queries), dtype=np.int64)
        relevant = hits.grade > 0
        np.maximum.at(deepest, hits.query[relevant], hits.rank[relevant])
        placeholders = [f" {rank}" for rank in range(1, int(deepest.max(initial=0)) + 1)]
        scores = [-float(rank) for rank in range(1, len(placeholders) + 1)]
        rankings = {
            query: placeholders[: deepest[query]] for query in np.flatnonzero(deepest).tolist()
        }
        shown = np.flatnonzero(hits.rank <= deepest[hits.query]).tolist()
        for hit, query, rank in zip(
            shown, hits.query[shown].tolist(), hits.rank[shown].tolist(), strict=True
        ):
            rankings[query][rank - 1] = hits.doc_id[hit]
        return {
            self._queries[query]: dict(zip(ranking, scores, strict=False))
            for query, ranking in rankings.items()
        }


def _level(measure: Measure) -> int:
    """The least relevant grade, trec_eval's -l."""
    return dict(measure.parameters).get("rel", 1)


def _trec_name(measure: Measure) -> str:
    """RR@k is asked as RR and cut by us, because trec_eval has no such measure."""
    whole, cut = _TREC_NAMES[measure.family]
    return f"{cut}_{measure.cutoff}" if cut and measure.cutoff is not None else whole
