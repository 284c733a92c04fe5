"""Keyqueries: short queries that rank known relevant documents at the top.

Hagen et al. 2016 (Supporting Scholarly Search with Keyqueries) define a keyquery for a set of
documents as a minimal query that ranks these documents at the top. Keller et al. 2025
(Counterfactual Query Rewriting) derive keyqueries from documents that were relevant in earlier
snapshots.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import fsum, log2

import numpy as np
import numpy.typing as npt
import polars as pl

from builder.errors import UsageError
from builder.evaluation.baselines.bm25 import Bm25Index, TermIds
from builder.evaluation.baselines.expansion import (
    Floats,
    RelevantDocuments,
    build_expansion_frame,
    query_ids_and_terms,
    relevant_documents_by_query,
)
from builder.evaluation.baselines.rm3 import relevance_model, top_weighted_terms

MAX_TERMS = 4
"""Maximum number of terms in a keyquery; the number of candidates grows exponentially with it."""


@dataclass(frozen=True)
class KeyQueryParameters:
    """Parameters of the keyquery baseline.

    Args:
        fb_docs: Maximum number of relevant documents per query.
        fb_terms: Maximum number of candidate terms taken from each of two sources: the query (its
            rarest terms) and its relevant documents.
        max_terms: Maximum number of terms in a keyquery, up to `MAX_TERMS`.
        top: Cutoff of the DCG by which keyqueries are chosen.
        min_results: Minimum number of documents that a keyquery must retrieve.

    Raises:
        UsageError: A value is out of range.
    """

    fb_docs: int = 10
    fb_terms: int = 10
    max_terms: int = 3
    top: int = 10
    min_results: int = 10

    def __post_init__(self) -> None:
        if min(vars(self).values()) < 1 or self.max_terms > MAX_TERMS:
            values = ", ".join(f"{name}={value}" for name, value in vars(self).items())
            raise UsageError(
                f"keyqueries: expected parameters >= 1 and max_terms <= {MAX_TERMS}, found {values}"
            )


def find_keyqueries(
    index: Bm25Index,
    queries: pl.DataFrame,
    feedback: pl.DataFrame,
    parameters: KeyQueryParameters | None = None,
) -> pl.DataFrame:
    """Replace each query with a keyquery for its relevant documents from earlier snapshots.

    The candidate terms are the `fb_terms` rarest terms of the query and the `fb_terms` other terms
    with the highest P(w|R) idf(w), where R is the relevance model of the relevant documents. Every
    set of up to `max_terms` candidate terms is a candidate query. Among the candidate queries that
    retrieve at least `min_results` documents, the keyquery is the one with the highest DCG@`top` of
    the relevant documents in the index; ties are broken in favor of fewer terms. Documents with
    tied scores all get the worst of their ranks.

    Args:
        index: Index of the snapshot.
        queries: Columns `query_id` and `text`.
        feedback: Relevant documents, as returned by `read_earlier_feedback`.
        parameters: Parameters of keyqueries; None for the defaults.

    Returns:
        Table with schema `EXPANDED` and one row per query. A query is unchanged if no candidate
        query ranks a relevant document among the first `top`.
    """
    parameters = parameters or KeyQueryParameters()
    numbers = {doc_id: number for number, doc_id in enumerate(index.doc_ids)}
    judged = relevant_documents_by_query(index, feedback, parameters.fb_docs)

    def expanded_queries() -> Iterator[tuple[str, str, TermIds, Floats]]:
        for query_id, query in query_ids_and_terms(index, queries):
            documents = judged.get(query_id, ([], [], []))
            targets = [numbers[doc_id] for doc_id in documents[2] if doc_id in numbers]
            terms = _best_candidate_query(index, query, documents, targets, parameters)
            yield query_id, "judged", terms, np.ones(len(terms))

    return build_expansion_frame(index, expanded_queries())


def _best_candidate_query(
    index: Bm25Index,
    query: TermIds,
    documents: RelevantDocuments,
    targets: Sequence[int],
    parameters: KeyQueryParameters,
) -> TermIds:
    """Return the term ids of the keyquery, or an empty array if no candidate query qualifies."""
    if not targets:
        return np.zeros(0, np.int32)
    terms = _candidate_terms(index, query, documents, parameters.fb_terms)
    found, scores = _score_matrix(index, terms)
    columns = np.flatnonzero(np.isin(found, targets))
    best, best_gain = np.zeros(0, np.int32), 0.0
    for size in range(1, parameters.max_terms + 1):
        for candidate in combinations(range(len(terms)), size):
            total = scores[list(candidate)].sum(axis=0)
            if np.count_nonzero(total) >= parameters.min_results:
                gain = _target_dcg(total, columns, parameters.top)
                if gain > best_gain:
                    best, best_gain = terms[list(candidate)], gain
    return best


def _candidate_terms(
    index: Bm25Index, query: TermIds, documents: RelevantDocuments, limit: int
) -> TermIds:
    """Return the candidate terms of keyqueries.

    These are the `limit` rarest query terms, in query order, followed by the `limit` non-query
    terms with the highest P(w|R) * idf(w), where R is the relevance model estimated from the
    documents.
    """
    terms, probabilities = relevance_model(documents[0], np.array(documents[1]))
    new = ~np.isin(terms, query)
    weights = probabilities[new] * index.idf(terms[new])
    own = np.array(list(dict.fromkeys(query.tolist())), dtype=np.int32)
    rarest = np.sort(np.argsort(-index.idf(own), kind="stable")[:limit])
    return np.concatenate([own[rarest], top_weighted_terms(terms[new], weights, limit)[0]])


def _score_matrix(index: Bm25Index, terms: TermIds) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return the documents that contain at least one of the terms, and a matrix of BM25 scores.

    Documents are given by number; the matrix has one row per term and one column per document.
    """
    postings = [index.postings(term) for term in terms.tolist()]
    found = np.unique(np.concatenate([documents for documents, _ in postings]))
    scores = np.zeros((len(terms), len(found)))
    for row, (documents, values) in enumerate(postings):
        scores[row, np.searchsorted(found, documents)] = values
    return found, scores


def _target_dcg(scores: Floats, targets: npt.NDArray[np.int64], top: int) -> float:
    """Return the DCG@`top` of the target documents: the sum of 1 / log2(rank + 1).

    Args:
        scores: Score of every document for one query.
        targets: Indexes of the target documents in `scores`.
        top: Cutoff of the DCG.
    """
    retrieved = targets[scores[targets] > 0]
    ranks = [np.count_nonzero(scores >= scores[target]) for target in retrieved]
    return fsum(1 / log2(rank + 1) for rank in ranks if rank <= top)
