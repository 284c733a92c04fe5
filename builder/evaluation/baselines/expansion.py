"""Search with expanded queries, which consist of weighted index terms.

Expansion terms come from documents that were judged relevant to the same query in earlier
snapshots (Keller et al. 2025, Counterfactual Query Rewriting); see `rm3` and `keyqueries`.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from builder.evaluation.baselines.bm25 import Bm25Index, TermIds
from builder.trec.runs import Run

EXPANDED = {
    "query_id": pl.String(),
    "source": pl.String(),
    "terms": pl.List(pl.String()),
    "weights": pl.List(pl.Float64()),
}
"""Schema of tables of expanded queries.

`source`: `judged` (earlier judgements), `pseudo` (top documents of BM25) or `none` (the query is
unchanged); `terms` and `weights`: distinct index terms and their weights, null for an unchanged
query.
"""

Floats = npt.NDArray[np.float64]
RelevantDocuments = tuple[list[TermIds], list[float], list[str]]
"""Term ids, grades and ids of the relevant documents of a query, as parallel lists."""


def search_expanded_queries(
    index: Bm25Index, queries: pl.DataFrame, expansions: pl.DataFrame, *, tag: str = "expanded"
) -> Run:
    """Search an index with expanded queries; queries without an expansion are used unchanged.

    Args:
        index: Index of the snapshot.
        queries: Columns `query_id` and `text`.
        expansions: Expanded queries, schema `EXPANDED`, one row per query.
        tag: Name of the run.
    """
    plain = dict(query_ids_and_terms(index, queries))

    def query_scores() -> Iterator[tuple[str, npt.NDArray[np.floating]]]:
        for query_id, _, terms, weights in expansions.select(list(EXPANDED)).iter_rows():
            if terms is not None:
                ids = [index.analyzer.vocabulary[term] for term in terms]
                yield query_id, index.weighted_scores(np.array(ids), np.array(weights))
            elif len(plain[query_id]):
                yield query_id, index.scores(plain[query_id])

    return index.build_run(query_scores(), tag)


def build_expansion_frame(
    index: Bm25Index, rows: Iterator[tuple[str, str, TermIds, Floats]]
) -> pl.DataFrame:
    """Convert tuples (query id, source, term ids, weights) to a DataFrame of schema `EXPANDED`."""
    names = list(index.analyzer.vocabulary)
    values = [
        (query_id, source, [names[term] for term in terms.tolist()], weights.tolist())
        if len(terms)
        else (query_id, "none", None, None)
        for query_id, source, terms, weights in rows
    ]
    return pl.DataFrame(values, schema=EXPANDED, orient="row")


def query_ids_and_terms(index: Bm25Index, queries: pl.DataFrame) -> Iterator[tuple[str, TermIds]]:
    """Yield pairs of a query id and the query's term ids."""
    return zip(queries["query_id"], index.query_term_ids(queries["text"]), strict=True)


def relevant_documents_by_query(
    index: Bm25Index, feedback: pl.DataFrame, limit: int
) -> dict[str, RelevantDocuments]:
    """Return the term ids, grades and ids of each query's first `limit` relevant documents.

    Terms that are not in the index are omitted, as are documents without any term of the index.
    """
    terms = index.query_term_ids(feedback["text"])
    columns = feedback.select("query_id", "grade", "doc_id").iter_rows()
    judged: dict[str, RelevantDocuments] = {}
    for (query_id, grade, doc_id), ids in zip(columns, terms, strict=True):
        texts, grades, doc_ids = judged.setdefault(query_id, ([], [], []))
        if len(ids) and len(texts) < limit:
            texts.append(ids)
            grades.append(float(grade))
            doc_ids.append(doc_id)
    return judged
