"""BM25 baseline over the documents and queries of a snapshot in one of its languages.

Scores follow Robertson & Zaragoza 2009 with Lucene's non-negative idf, computed by bm25s. Documents
are read in batches, and only their term ids are kept in memory.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow.parquet as pq

from builder.errors import DataError, UsageError
from builder.evaluation.baselines.analyzer import Analyzer
from builder.evaluation.baselines.collection_statistics import (
    CollectionStatistics,
    count_statistics,
    statistics_of_terms,
)
from builder.extras import import_optional
from builder.io import parquet
from builder.runtime.progress import NoProgress, Progress
from builder.text.names import ENGLISH, ENGLISH_SUFFIX, SOURCE_SUFFIX
from builder.trec.runs import DEFAULT_DEPTH, Run, check_depth

_BATCH_ROWS = 2048


@dataclass(frozen=True)
class Bm25:
    """Parameters of the BM25 baseline.

    Args:
        language: Language code of the texts, see `Analyzer`.
        k1: Saturation of the term frequency.
        b: Strength of document length normalization, from 0 to 1.
        depth: Documents to retrieve per query.

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


def bm25_snapshot(
    documents: Sequence[Path],
    queries: Path,
    parameters: Bm25 | None = None,
    *,
    suffix: str | None = None,
    tag: str = "bm25",
    progress: Progress | None = None,
    statistics: CollectionStatistics | None = None,
) -> Run:
    """Search the documents of a published snapshot with its queries.

    Args:
        documents: Parquet files with `doc_id`, title and text columns.
        queries: Parquet file with `query_id` and a text column.
        parameters: Parameters of BM25; None for the defaults.
        suffix: Suffix of the text columns, see `Collection.languages`; None for the translation if
            the language is English, and for the source text otherwise.
        tag: Name of the run.
        progress: Reports the number of indexed documents.
        statistics: Collection statistics of another snapshot, see `snapshot_statistics`; None for
            those of the documents.

    Raises:
        UsageError: A file is unreadable.
        DataError: There are no documents, or the snapshot has no texts in the language.
        MissingExtraError: The extra [baseline] is not installed.
    """
    parameters = parameters or Bm25()
    suffix = _suffix_of(parameters) if suffix is None else suffix
    texts, column = _read_documents(documents, suffix), f"text{suffix}"
    query_texts = parquet.read(queries, columns=["query_id", column]).rename({column: "text"})
    if query_texts["text"].null_count():
        raise DataError(f"{queries}: column {column} is empty; the snapshot was not translated")
    return bm25(texts, query_texts, parameters, tag=tag, progress=progress, statistics=statistics)


def snapshot_statistics(
    documents: Sequence[Path],
    parameters: Bm25 | None = None,
    *,
    suffix: str | None = None,
    progress: Progress | None = None,
) -> CollectionStatistics:
    """Count the collection statistics that BM25 uses for the documents of a published snapshot.

    Args:
        documents: Parquet files with `doc_id`, title and text columns.
        parameters: Parameters of BM25; None for the defaults.
        suffix: Suffix of the text columns, as for `bm25_snapshot`.
        progress: Reports the number of documents.

    Raises:
        UsageError: A file is unreadable.
        DataError: There are no words, or the snapshot has no texts in the language.
        MissingExtraError: The extra [baseline] is not installed.
    """
    parameters = parameters or Bm25()
    suffix = _suffix_of(parameters) if suffix is None else suffix
    return count_statistics(
        _read_documents(documents, suffix),
        Analyzer(parameters.language),
        progress or NoProgress(),
    )


def _suffix_of(parameters: Bm25) -> str:
    return ENGLISH_SUFFIX if parameters.language == ENGLISH else SOURCE_SUFFIX


def _read_documents(parts: Sequence[Path], suffix: str) -> Iterator[pl.DataFrame]:
    """Yield batches of `doc_id` and `text`: title and text, separated by a line break."""
    title, text = f"title{suffix}", f"text{suffix}"
    for part in parts:
        try:
            file = pq.ParquetFile(part)
        except OSError as error:
            raise UsageError(f"{part}: cannot read Parquet file: {error}") from error
        with file:
            for batch in file.iter_batches(_BATCH_ROWS, columns=["doc_id", title, text]):
                frame = pl.DataFrame(batch)
                if frame.height and frame[text].null_count() == frame.height:
                    raise DataError(
                        f"{part}: column {text} is empty; the documents were not translated"
                    )
                joined = pl.concat_str(title, text, separator="\n", ignore_nulls=True)
                yield frame.select("doc_id", text=joined)


def bm25(
    documents: Iterable[pl.DataFrame],
    queries: pl.DataFrame,
    parameters: Bm25 | None = None,
    *,
    tag: str = "bm25",
    progress: Progress | None = None,
    statistics: CollectionStatistics | None = None,
) -> Run:
    """Search documents with queries using BM25.

    Args:
        documents: Batches with columns `doc_id` and `text`; ids are unique over all batches.
        queries: Columns `query_id` and `text`.
        parameters: Parameters of BM25; None for the defaults.
        tag: Name of the run.
        progress: Reports the number of indexed documents.
        statistics: Collection statistics of another collection; None for those of the documents.

    Returns:
        Run of the top `depth` documents with positive scores per query, with ties broken as in
        trec_eval. Queries without results are not in the run.

    Raises:
        DataError: There are no documents, or a document id occurs twice.
        MissingExtraError: The extra [baseline] is not installed.
    """
    parameters = parameters or Bm25()
    analyzer = Analyzer(parameters.language)
    doc_ids, terms = _analyze_documents(documents, analyzer, progress or NoProgress())
    model = _build_index(terms, analyzer, parameters, statistics) if analyzer.vocabulary else None
    query_terms = analyzer.term_ids(queries["text"], add_terms=False)
    schema = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}
    results = [pl.DataFrame(schema=schema)]
    for query_id, query in zip(queries["query_id"], query_terms, strict=True):
        if model is not None and len(query):
            indices, scores = _top_documents(model.get_scores_from_ids(query), parameters.depth)
            columns = {"doc_id": doc_ids.gather(indices), "score": scores.astype(np.float64)}
            hits = pl.DataFrame(columns).select(pl.lit(query_id).alias("query_id"), pl.all())
            results.append(hits)
    return Run.from_scores(pl.concat(results), tag, parameters.depth)


def _analyze_documents(
    documents: Iterable[pl.DataFrame], analyzer: Analyzer, progress: Progress
) -> "tuple[pl.Series, list[array[int]]]":
    doc_ids: list[pl.Series] = []
    terms: list[array[int]] = []
    progress.start("index", None, "documents")
    for batch in documents:
        doc_ids.append(batch["doc_id"])
        # array.array is as compact as NumPy, and bm25s iterates over it faster
        terms.extend(
            array("i", ids.tobytes()) for ids in analyzer.term_ids(batch["text"], add_terms=True)
        )
        progress.advance(batch.height)
    progress.finish()
    if not terms:
        raise DataError("BM25: there are no documents to search")
    all_ids = pl.concat(doc_ids).rechunk()
    if all_ids.n_unique() != len(all_ids):
        raise DataError("BM25: document ids are not unique")
    return all_ids, terms


def _build_index(
    terms: "list[array[int]]",
    analyzer: Analyzer,
    parameters: Bm25,
    statistics: CollectionStatistics | None,
) -> Any:
    bm25s = import_optional("bm25s", "the BM25 baseline", "baseline")
    k1, b = parameters.k1, parameters.b
    own = None if statistics is None else statistics_of_terms(terms, analyzer.vocabulary)
    if statistics is not None and own is not None:
        k1, b = statistics.rescale(own, k1, b)
    model = bm25s.BM25(k1=k1, b=b, method="lucene", backend="numpy")
    model.index((terms, dict(analyzer.vocabulary)), show_progress=False)
    if statistics is not None and own is not None:
        ratios = statistics.idf_ratios(own, analyzer.vocabulary)
        _scale_terms(model.scores, ratios.astype(np.float32))
    return model


def _scale_terms(scores: dict[str, Any], factors: npt.NDArray[np.float32]) -> None:
    """Multiply the scores of each term, stored in compressed sparse columns, by its factor."""
    sizes = np.diff(scores["indptr"])[: len(factors)]
    scores["data"] *= np.repeat(factors, sizes)


def _top_documents(
    scores: npt.NDArray[np.float32], depth: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Return index and score of the top `depth` documents, and of those that tie with the last."""
    positive = np.flatnonzero(scores > 0)
    values = scores[positive]
    if len(values) > depth:
        kept = values >= np.partition(values, -depth)[-depth]
        positive, values = positive[kept], values[kept]
    return positive, values
