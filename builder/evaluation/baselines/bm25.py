"""In-memory BM25 index of documents, and search with plain or weighted queries.

Scores follow Robertson & Zaragoza 2009 with Lucene's non-negative idf, computed by bm25s. Documents
are read in batches, and only their term ids are kept in memory.
"""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from builder.errors import DataError, UsageError
from builder.evaluation.baselines.analyzer import Analyzer
from builder.evaluation.baselines.collection_statistics import (
    CollectionStatistics,
    statistics_from_term_ids,
)
from builder.extras import import_optional_module
from builder.runtime.progress import NoProgress, Progress
from builder.trec.runs import DEFAULT_DEPTH, Run, check_depth

TermIds = npt.NDArray[np.int32]
DocumentTerms = list["array[int]"]
_HITS = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}


@dataclass(frozen=True)
class Bm25Parameters:
    """Parameters of the BM25 baseline.

    Args:
        language: Language code of the texts; see `Analyzer`.
        k1: Term frequency saturation, at least 0.
        b: Strength of document length normalization, from 0 to 1.
        depth: Number of documents to retrieve per query.

    Raises:
        UsageError: A value is out of range.
    """

    language: str = "fr"
    k1: float = 1.2
    b: float = 0.75
    depth: int = DEFAULT_DEPTH

    def __post_init__(self) -> None:
        check_depth(self.depth)
        if self.k1 < 0 or not 0 <= self.b <= 1:
            raise UsageError(
                f"BM25: expected k1 >= 0 and b in [0, 1], found k1={self.k1}, b={self.b}"
            )


class Bm25Index:
    """In-memory BM25 index of documents, which are numbered from 0 in input order.

    Args:
        documents: Batches with columns `doc_id` and `text`; ids are unique over all batches.
        parameters: Parameters of BM25; None for the defaults.
        keep_terms: Whether to keep the terms of each document; required by `document_term_ids`.
        progress: Reports the number of indexed documents.
        statistics: Collection statistics used for scoring; None for those of the documents.

    Raises:
        DataError: There are no documents, or a document id occurs twice.
        MissingExtraError: The extra [baseline] is not installed.
    """

    def __init__(
        self,
        documents: Iterable[pl.DataFrame],
        parameters: Bm25Parameters | None = None,
        *,
        keep_terms: bool = False,
        progress: Progress | None = None,
        statistics: CollectionStatistics | None = None,
    ) -> None:
        self.parameters = parameters or Bm25Parameters()
        self.analyzer = Analyzer(self.parameters.language)
        self.doc_ids, terms = _analyze_documents(documents, self.analyzer, progress or NoProgress())
        self._model = _build_bm25s_index(terms, self.analyzer, self.parameters, statistics)
        self._documents = terms if keep_terms else None

    def __len__(self) -> int:
        return len(self.doc_ids)

    def query_term_ids(self, texts: pl.Series) -> list[TermIds]:
        """Convert each query text to term ids; terms that occur in no document are omitted."""
        return self.analyzer.term_ids(texts, add_terms=False)

    def document_term_ids(self, document_number: int) -> TermIds:
        """Return the term ids of a document in text order, with repetitions.

        Raises:
            UsageError: The index was built without `keep_terms`.
        """
        if self._documents is None:
            raise UsageError(
                "BM25: the index does not contain document terms; build it with keep_terms=True"
            )
        return np.array(self._documents[document_number], dtype=np.int32)

    def postings(self, term_id: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """Return the numbers of the documents that contain a term, and its BM25 score in each."""
        matrix = self._model.scores
        start, end = matrix["indptr"][term_id], matrix["indptr"][term_id + 1]
        return matrix["indices"][start:end].astype(np.int64), matrix["data"][start:end]

    def idf(self, terms: TermIds) -> npt.NDArray[np.float64]:
        """Return the idf of each term: ln(1 + (N - df + 0.5) / (df + 0.5)) for N documents."""
        starts = self._model.scores["indptr"]
        counts = (starts[terms + 1] - starts[terms]).astype(np.float64)
        return np.asarray(np.log(1 + (len(self) - counts + 0.5) / (counts + 0.5)))

    def scores(self, terms: TermIds) -> npt.NDArray[np.float32]:
        """Return the BM25 score of every document for a query, given by the ids of its terms.

        A term that occurs several times in the query contributes once per occurrence.
        """
        scores: npt.NDArray[np.float32] = self._model.get_scores_from_ids(terms)
        return scores

    def weighted_scores(
        self, terms: TermIds, weights: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """Return the BM25 score of every document for a query of distinct, weighted terms."""
        scores = np.zeros(len(self))
        for term, weight in zip(terms.tolist(), weights.tolist(), strict=True):
            documents, values = self.postings(term)
            scores[documents] += weight * values
        return scores

    def top_hits(self, query_id: str, scores: npt.NDArray[np.floating[Any]]) -> pl.DataFrame:
        """Return the `depth` documents with the highest positive scores for a query.

        Documents whose score is equal to the score at rank `depth` are also returned.

        Returns:
            Columns `query_id`, `doc_id`, `score`.
        """
        indices, values = _top_indexes_with_ties(scores, self.parameters.depth)
        columns = {"doc_id": self.doc_ids.gather(indices), "score": values.astype(np.float64)}
        return pl.DataFrame(columns).select(pl.lit(query_id).alias("query_id"), pl.all())

    def top_documents(
        self, scores: npt.NDArray[np.floating[Any]], depth: int
    ) -> npt.NDArray[np.int64]:
        """Return the numbers of the `depth` documents with the highest positive scores, best first.

        Ties are broken as in trec_eval.
        """
        documents, values = _top_indexes_with_ties(scores, depth)
        frame = pl.DataFrame({"document": documents, "score": values.astype(np.float32)})
        ids = frame.with_columns(doc_id=self.doc_ids.gather(documents))
        ranked = ids.sort("score", "doc_id", descending=True).head(depth)
        return ranked["document"].to_numpy()

    def search(self, queries: pl.DataFrame, *, tag: str = "bm25") -> Run:
        """Search the documents with queries.

        Args:
            queries: Columns `query_id` and `text`.
            tag: Name of the run.

        Returns:
            Run of the top `depth` documents with positive scores per query, with ties broken as in
            trec_eval. Queries without results are not in the run.
        """
        return self.build_run(
            (
                (query_id, self.scores(terms))
                for query_id, terms in zip(
                    queries["query_id"], self.query_term_ids(queries["text"]), strict=True
                )
                if len(terms)
            ),
            tag,
        )

    def build_run(
        self, scores_by_query: Iterable[tuple[str, npt.NDArray[np.floating[Any]]]], tag: str
    ) -> Run:
        """Build a run from the scores of all documents for each query.

        Args:
            scores_by_query: Pairs of a query id and an array with one score per document.
            tag: Name of the run.
        """
        results = [pl.DataFrame(schema=_HITS)]
        results += [self.top_hits(query_id, scores) for query_id, scores in scores_by_query]
        return Run.from_scores(pl.concat(results), tag, self.parameters.depth)


def bm25(
    documents: Iterable[pl.DataFrame],
    queries: pl.DataFrame,
    parameters: Bm25Parameters | None = None,
    *,
    tag: str = "bm25",
    progress: Progress | None = None,
    statistics: CollectionStatistics | None = None,
) -> Run:
    """Index documents, search them with BM25, and return the run.

    The arguments are those of `Bm25Index` and `Bm25Index.search`.
    """
    index = Bm25Index(documents, parameters, progress=progress, statistics=statistics)
    return index.search(queries, tag=tag)


def _analyze_documents(
    documents: Iterable[pl.DataFrame], analyzer: Analyzer, progress: Progress
) -> tuple[pl.Series, DocumentTerms]:
    doc_ids: list[pl.Series] = []
    terms: DocumentTerms = []
    progress.start("index", None, "documents")
    for batch in documents:
        doc_ids.append(batch["doc_id"])
        terms.extend(_to_id_arrays(analyzer.term_ids(batch["text"], add_terms=True)))
        progress.advance(batch.height)
    progress.finish()
    if not terms:
        raise DataError("BM25: expected documents to search, found none")
    all_ids = pl.concat(doc_ids).rechunk()
    if all_ids.n_unique() != len(all_ids):
        raise DataError("BM25: expected unique document ids, found duplicates")
    return all_ids, terms


def _to_id_arrays(terms: Iterable[TermIds]) -> Iterator["array[int]"]:
    """Convert term ids to `array.array`, which bm25s iterates over faster than NumPy arrays."""
    return (array("i", ids.tobytes()) for ids in terms)


def _build_bm25s_index(
    terms: DocumentTerms,
    analyzer: Analyzer,
    parameters: Bm25Parameters,
    statistics: CollectionStatistics | None,
) -> Any:
    """Build the bm25s index; return None if no document has an index term."""
    bm25s = import_optional_module("bm25s", "the BM25 baseline", "baseline")
    if not analyzer.vocabulary:
        return None
    own = statistics_from_term_ids(terms, analyzer.vocabulary) if statistics else None
    k1, b = parameters.k1, parameters.b
    if statistics and own:
        k1, b = statistics.rescale_parameters(own, k1, b)
    model = bm25s.BM25(k1=k1, b=b, method="lucene", backend="numpy")
    model.index((terms, dict(analyzer.vocabulary)), show_progress=False)
    if statistics and own:
        _scale_columns_in_place(model.scores, statistics.idf_ratios(own, analyzer.vocabulary))
    return model


def _scale_columns_in_place(scores: dict[str, Any], factors: npt.NDArray[np.float64]) -> None:
    """Multiply each column (term) of a sparse score matrix (CSC) by its factor, in place."""
    sizes = np.diff(scores["indptr"])[: len(factors)]
    scores["data"] *= np.repeat(factors.astype(np.float32), sizes)


def _top_indexes_with_ties(
    scores: npt.NDArray[np.floating[Any]], depth: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.floating[Any]]]:
    """Return the indexes and values of the top `depth` positive scores, in index order.

    Scores that are equal to the score at rank `depth` are also returned.
    """
    positive = np.flatnonzero(scores > 0)
    values = scores[positive]
    if len(values) > depth:
        kept = values >= np.partition(values, -depth)[-depth]
        positive, values = positive[kept], values[kept]
    return positive, values
