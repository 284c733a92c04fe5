"""RM3 query expansion: interpolation of a query with a relevance model of feedback documents.

Lavrenko & Croft 2001 (Relevance-Based Language Models) define the relevance model, and Abdul-Jaleel
et al. 2004 (UMass at TREC 2004) define the interpolation.

Feedback documents were judged relevant in earlier snapshots. Queries without feedback documents use
the top documents of BM25 (pseudo-relevance feedback).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from builder.errors import UsageError
from builder.evaluation.baselines.bm25 import Bm25Index, TermIds
from builder.evaluation.baselines.expansion import (
    Floats,
    build_expansion_frame,
    query_ids_and_terms,
    relevant_documents_by_query,
)


@dataclass(frozen=True)
class Rm3Parameters:
    """Parameters of RM3.

    Args:
        fb_docs: Maximum number of feedback documents per query.
        fb_terms: Number of terms kept from the relevance model.
        original_weight: Weight of the original query in the interpolation, from 0 to 1.

    Raises:
        UsageError: A value is out of range.
    """

    fb_docs: int = 10
    fb_terms: int = 10
    original_weight: float = 0.5

    def __post_init__(self) -> None:
        if min(self.fb_docs, self.fb_terms) < 1 or not 0 <= self.original_weight <= 1:
            raise UsageError(
                "RM3: expected fb_docs >= 1, fb_terms >= 1 and original_weight in [0, 1], found "
                f"fb_docs={self.fb_docs}, fb_terms={self.fb_terms}, "
                f"original_weight={self.original_weight}"
            )


def rm3(
    index: Bm25Index,
    queries: pl.DataFrame,
    feedback: pl.DataFrame,
    parameters: Rm3Parameters | None = None,
) -> pl.DataFrame:
    """Expand queries with the most probable terms of their relevance models.

    The weight of a term is `original_weight` P(w|Q) + (1 - `original_weight`) P(w|R). The relevance
    model P(w|R) (see `relevance_model`) weights documents by grade if they were judged and by BM25
    score otherwise. It is restricted to the `fb_terms` most probable terms and renormalized.

    Args:
        index: Index of the snapshot; must be built with `keep_terms` if a query has no feedback.
        queries: Columns `query_id` and `text`.
        feedback: Relevant documents, as returned by `read_earlier_feedback`.
        parameters: Parameters of RM3; None for the defaults.

    Returns:
        Table with schema `EXPANDED` and one row per query. A query is unchanged if it has neither
        relevant documents nor BM25 results.
    """
    parameters = parameters or Rm3Parameters()
    judged = relevant_documents_by_query(index, feedback, parameters.fb_docs)

    def expanded_queries() -> Iterator[tuple[str, str, TermIds, Floats]]:
        for query_id, query in query_ids_and_terms(index, queries):
            documents, weights, _ = judged.get(query_id, ([], [], []))
            source = "judged" if documents else "pseudo"
            if not documents and len(query):
                documents, weights = _top_ranked_documents(index, query, parameters.fb_docs)
            model = relevance_model(documents, np.array(weights))
            yield query_id, source, *_interpolate_query(query, *model, parameters)

    return build_expansion_frame(index, expanded_queries())


def _top_ranked_documents(
    index: Bm25Index, query: TermIds, limit: int
) -> tuple[list[TermIds], list[float]]:
    """Return the term ids and the BM25 scores of the top documents for a query."""
    scores = index.scores(query)
    documents = index.top_documents(scores, limit).tolist()
    return [index.document_term_ids(n) for n in documents], [float(scores[n]) for n in documents]


def relevance_model(documents: Sequence[TermIds], weights: Floats) -> tuple[TermIds, Floats]:
    """Estimate the relevance model P(w|R) = sum over d of P(d) tf(w, d) / |d| (RM1).

    Args:
        documents: Term ids of each document, with repetitions; no document is empty.
        weights: Positive weights of the documents, proportional to P(d).

    Returns:
        Distinct term ids, ascending, and their probabilities; empty if there are no documents.
    """
    if not documents:
        return np.zeros(0, np.int32), np.zeros(0)
    lengths = np.array([len(terms) for terms in documents])
    terms, inverse = np.unique(np.concatenate(documents), return_inverse=True)
    shares = np.repeat(weights / weights.sum() / lengths, lengths)
    return terms, np.asarray(np.bincount(inverse, weights=shares), dtype=np.float64)


def top_weighted_terms(terms: TermIds, weights: Floats, limit: int) -> tuple[TermIds, Floats]:
    """Return the `limit` terms with the highest weights, descending; ties are sorted by term id."""
    order = np.lexsort((terms, -weights))[:limit]
    return terms[order], weights[order]


def _interpolate_query(
    query: TermIds, terms: TermIds, probabilities: Floats, parameters: Rm3Parameters
) -> tuple[TermIds, Floats]:
    """Interpolate a query with its relevance model; return no terms if the model is empty."""
    if not len(terms):
        return terms, probabilities
    terms, kept = top_weighted_terms(terms, probabilities, parameters.fb_terms)
    alpha = parameters.original_weight if len(query) else 0.0
    shares = np.concatenate(
        [np.full(len(query), alpha / max(len(query), 1)), (1 - alpha) * kept / kept.sum()]
    )
    mixed, inverse = np.unique(np.concatenate([query, terms]), return_inverse=True)
    weights = np.asarray(np.bincount(inverse, weights=shares), dtype=np.float64)
    return top_weighted_terms(mixed[weights > 0], weights[weights > 0], len(mixed))
