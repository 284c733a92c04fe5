"""BM25 over a snapshot: the run beside which every other run is read.

In: the documents and queries of a snapshot, in one of its languages. Out: a `Run`.
Scores are those of Robertson & Zaragoza 2009 with the non-negative idf of Lucene, computed by
bm25s; documents are read in batches and kept as term ids only.
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
from builder.extras import load
from builder.io import parquet
from builder.runtime.progress import NoProgress, Progress
from builder.text.names import ENGLISH, ENGLISH_SUFFIX, SOURCE_SUFFIX
from builder.trec.runs import DEFAULT_DEPTH, Run, check_depth

_BATCH_ROWS = 2048


@dataclass(frozen=True)
class Bm25:
    """Parameters of the baseline.

    Args:
        language: What words are in, see `Analyzer`.
        k1: Saturation of term frequency.
        b: Normalisation by document length, from 0 to 1.
        depth: Documents to retrieve per query.

    Raises:
        UsageError: a value is outside its range.
    """

    language: str = "fr"
    k1: float = 1.2
    b: float = 0.75
    depth: int = DEFAULT_DEPTH

    def __post_init__(self) -> None:
        check_depth(self.depth)
        if self.k1 < 0 or not 0 <= self.b <= 1:
            raise UsageError(f"BM25: expected k1 of at least 0 and b in [0, 1]: {self}")


def bm25_snapshot(
    documents: Sequence[Path],
    queries: Path,
    parameters: Bm25 | None = None,
    *,
    suffix: str | None = None,
    tag: str = "bm25",
    progress: Progress | None = None,
) -> Run:
    """Search the documents of a published snapshot with its queries.

    Args:
        documents: Parquet parts with `doc_id` and columns of titles and texts.
        queries: Parquet file with `query_id` and a column of texts.
        parameters: Language and constants; the defaults where absent.
        suffix: Of the columns of texts, see `Collection.languages`; absent: that of translations
            where the language is English.
        tag: Name of the run.
        progress: Told about every document.

    Raises:
        UsageError: a file cannot be read.
        DataError: no document, or the snapshot has no text in the language.
        MissingExtraError: the extra [baseline] is not installed.
    """
    parameters = parameters or Bm25()
    if suffix is None:
        suffix = ENGLISH_SUFFIX if parameters.language == ENGLISH else SOURCE_SUFFIX
    texts, column = _documents(documents, suffix), f"text{suffix}"
    asked = parquet.read(queries, columns=["query_id", column]).rename({column: "text"})
    if asked["text"].null_count():
        raise DataError(f"{queries}: column {column} is empty; the snapshot was not translated")
    return bm25(texts, asked, parameters, tag=tag, progress=progress)


def _documents(parts: Sequence[Path], suffix: str) -> Iterator[pl.DataFrame]:
    """Batches of `doc_id` and `text`: title and text of a language, joined by a line end."""
    title, text = f"title{suffix}", f"text{suffix}"
    for part in parts:
        try:
            file = pq.ParquetFile(part)
        except OSError as error:
            raise UsageError(f"{part}: expected a readable Parquet file ({error})") from error
        with file:
            for batch in file.iter_batches(_BATCH_ROWS, columns=["doc_id", title, text]):
                frame = pl.DataFrame(batch)
                if frame.height and frame[text].null_count() == frame.height:
                    raise DataError(f"{part}: column {text} is empty; it was not translated")
                joined = pl.concat_str(title, text, separator="\n", ignore_nulls=True)
                yield frame.select("doc_id", text=joined)


def bm25(
    documents: Iterable[pl.DataFrame],
    queries: pl.DataFrame,
    parameters: Bm25 | None = None,
    *,
    tag: str = "bm25",
    progress: Progress | None = None,
) -> Run:
    """Search documents with queries.

    Args:
        documents: Batches with columns `doc_id` and `text`; ids are unique over all batches.
        queries: Columns `query_id` and `text`.
        parameters: Language and constants; the defaults where absent.
        tag: Name of the run.
        progress: Told about every document.

    Returns:
        Documents with a score above 0, at most `depth` per query, ties as trec_eval breaks them. A
        query that matches nothing is not in the run.

    Raises:
        DataError: no document, or a document comes twice.
        MissingExtraError: the extra [baseline] is not installed.
    """
    parameters = parameters or Bm25()
    analyzer = Analyzer(parameters.language)
    doc_ids, terms = _read(documents, analyzer, progress or NoProgress())
    model = _index(terms, analyzer, parameters) if analyzer.vocabulary else None
    asked = analyzer.term_ids(queries["text"], grow=False)
    found = [pl.DataFrame(schema={"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64})]
    for query_id, query in zip(queries["query_id"], asked, strict=True):
        if model is not None and len(query):
            places, scores = _best(model.get_scores_from_ids(query), parameters.depth)
            columns = {"doc_id": doc_ids.gather(places), "score": scores.astype(np.float64)}
            hits = pl.DataFrame(columns).select(pl.lit(query_id).alias("query_id"), pl.all())
            found.append(hits)
    return Run.from_scores(pl.concat(found), tag, parameters.depth)


def _read(
    documents: Iterable[pl.DataFrame], analyzer: Analyzer, progress: Progress
) -> "tuple[pl.Series, list[array[int]]]":
    doc_ids: list[pl.Series] = []
    terms: list[array[int]] = []
    progress.start("index", None, "documents")
    for batch in documents:
        doc_ids.append(batch["doc_id"])
        # compact arrays: as small as NumPy's, and the indexer's loops read them faster
        terms.extend(
            array("i", ids.tobytes()) for ids in analyzer.term_ids(batch["text"], grow=True)
        )
        progress.advance(batch.height)
    progress.finish()
    if not terms:
        raise DataError("BM25: expected documents to search, found none")
    every = pl.concat(doc_ids).rechunk()
    if every.n_unique() != len(every):
        raise DataError("BM25: expected each document once, found an id twice")
    return every, terms


def _index(terms: "list[array[int]]", analyzer: Analyzer, parameters: Bm25) -> Any:
    bm25s = load("bm25s", "the BM25 baseline", "baseline")
    model = bm25s.BM25(k1=parameters.k1, b=parameters.b, method="lucene", backend="numpy")
    model.index((terms, dict(analyzer.vocabulary)), show_progress=False)
    return model


def _best(
    scores: npt.NDArray[np.float32], depth: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Places and scores of the best documents, with all that tie with the last of them."""
    positive = np.flatnonzero(scores > 0)
    values = scores[positive]
    if len(values) > depth:
        kept = values >= np.partition(values, -depth)[-depth]
        positive, values = positive[kept], values[kept]
    return positive, values
