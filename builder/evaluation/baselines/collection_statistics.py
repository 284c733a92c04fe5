"""Collection statistics of BM25: number of documents, mean length, and document frequencies.

If BM25 searches a later snapshot with the statistics of an earlier one, a document whose words did
not change keeps its score, whatever happened to other documents. This separates the effect of
changed collection statistics on scores from all other effects.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log

import numpy as np
import numpy.typing as npt
import polars as pl

from builder.errors import DataError
from builder.evaluation.baselines.analyzer import Analyzer
from builder.runtime.progress import Progress


@dataclass(frozen=True)
class CollectionStatistics:
    """Collection statistics that BM25 uses for scoring.

    Args:
        documents: Number of documents.
        mean_length: Mean number of terms per document.
        frequencies: Document frequency of each term.
    """

    documents: int
    mean_length: float
    frequencies: Mapping[str, int]

    def idf(self, term: str) -> float:
        """Return Lucene's idf of a term; an out-of-vocabulary term has document frequency 0."""
        frequency = self.frequencies.get(term, 0)
        return log(1 + (self.documents - frequency + 0.5) / (frequency + 0.5))

    def idf_ratios(
        self, index_statistics: "CollectionStatistics", terms: Iterable[str]
    ) -> npt.NDArray[np.float64]:
        """Return each term's idf in these statistics, divided by its idf in `index_statistics`."""
        return np.array([self.idf(term) / index_statistics.idf(term) for term in terms])

    def rescale_parameters(
        self, index_statistics: "CollectionStatistics", k1: float, b: float
    ) -> tuple[float, float]:
        """Return k1 and b, adjusted so that an index normalizes lengths by `self.mean_length`.

        An index normalizes by its own mean document length. With the adjusted values, it gives the
        scores that it would give with `self.mean_length`: in the BM25 denominator,
        tf + k1 (1 - b) + k1 b * length / mean length, k1 (1 - b) stays the same, and k1 b is
        multiplied by `index_statistics.mean_length` / `self.mean_length`.

        Args:
            index_statistics: Statistics of the indexed documents.
            k1: Value of k1 before the adjustment.
            b: Value of b before the adjustment.
        """
        constant, slope = k1 * (1 - b), k1 * b * index_statistics.mean_length / self.mean_length
        total = constant + slope
        return total, slope / total if total else b


def compute_collection_statistics(
    documents: Iterable[pl.DataFrame], analyzer: Analyzer, progress: Progress
) -> CollectionStatistics:
    """Compute BM25 collection statistics from batches of documents.

    Args:
        documents: Batches with a column `text`.
        analyzer: Analyzer of the texts; new terms are added to its vocabulary.
        progress: Reports the number of processed documents.

    Raises:
        DataError: The documents contain no index terms.
    """
    count = length = 0
    frequencies = np.zeros(0, np.int64)
    progress.start("statistics", None, "documents")
    for batch in documents:
        texts = analyzer.term_ids(batch["text"], add_terms=True)
        count, length = count + len(texts), length + sum(map(len, texts))
        frequencies = _add_document_frequencies(frequencies, texts, len(analyzer.vocabulary))
        progress.advance(batch.height)
    progress.finish()
    if not length:
        raise DataError("BM25: expected documents with index terms, found none")
    known = dict(zip(analyzer.vocabulary, frequencies.tolist(), strict=True))
    return CollectionStatistics(count, length / count, known)


def statistics_from_term_ids(
    documents: "Sequence[array[int]]", vocabulary: Mapping[str, int]
) -> CollectionStatistics:
    """Compute BM25 collection statistics from the term ids of each document."""
    ids = [np.asarray(text, np.int32) for text in documents]
    frequencies = _add_document_frequencies(np.zeros(0, np.int64), ids, len(vocabulary))
    known = dict(zip(vocabulary, frequencies.tolist(), strict=True))
    return CollectionStatistics(len(ids), sum(map(len, ids)) / len(ids), known)


def _add_document_frequencies(
    frequencies: npt.NDArray[np.int64],
    document_terms: list[npt.NDArray[np.int32]],
    vocabulary_size: int,
) -> npt.NDArray[np.int64]:
    """Return document frequencies by term id after a batch of documents is added."""
    distinct = (
        np.concatenate([np.unique(term_ids) for term_ids in document_terms])
        if document_terms
        else np.zeros(0, int)
    )
    grown = np.zeros(vocabulary_size, np.int64)
    grown[: len(frequencies)] = frequencies
    return grown + np.bincount(distinct.astype(np.int64), minlength=vocabulary_size)
