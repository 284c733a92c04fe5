"""BM25 runs of published snapshots, with plain or expanded queries."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from builder.collection.read import Snapshot
from builder.evaluation.baselines.analyzer import Analyzer
from builder.evaluation.baselines.bm25 import Bm25Index, Bm25Parameters
from builder.evaluation.baselines.collection_statistics import (
    CollectionStatistics,
    compute_collection_statistics,
)
from builder.evaluation.baselines.expansion import search_expanded_queries
from builder.evaluation.baselines.feedback import read_earlier_feedback
from builder.evaluation.baselines.keyqueries import KeyQueryParameters, find_keyqueries
from builder.evaluation.baselines.rm3 import Rm3Parameters, rm3
from builder.evaluation.baselines.texts import read_documents, read_query_texts
from builder.runtime.progress import NoProgress, Progress
from builder.text.names import ENGLISH, ENGLISH_SUFFIX, SOURCE_SUFFIX
from builder.trec.runs import Run


def search_snapshot(
    documents: Sequence[Path],
    queries: Path,
    parameters: Bm25Parameters | None = None,
    *,
    suffix: str | None = None,
    tag: str = "bm25",
    progress: Progress | None = None,
    statistics: CollectionStatistics | None = None,
) -> Run:
    """Search the documents of a published snapshot with its queries, using BM25.

    Args:
        documents: Parquet files with `doc_id`, title and text columns.
        queries: Parquet file with `query_id` and a text column.
        parameters: Parameters of BM25; None for the defaults.
        suffix: Suffix of the text columns; see `Collection.languages`. None selects the translation
            if `parameters.language` is English, and the source text otherwise.
        tag: Name of the run.
        progress: Reports the number of indexed documents.
        statistics: Collection statistics used for scoring, from `snapshot_bm25_statistics`; None
            for those of the documents.

    Raises:
        UsageError: A file is unreadable.
        DataError: There are no documents, or the snapshot has no texts in the language.
        MissingExtraError: The extra [baseline] is not installed.
    """
    parameters = parameters or Bm25Parameters()
    suffix = _default_suffix(parameters) if suffix is None else suffix
    query_texts = read_query_texts(queries, suffix)
    index = Bm25Index(
        read_documents(documents, suffix), parameters, progress=progress, statistics=statistics
    )
    return index.search(query_texts, tag=tag)


def snapshot_bm25_statistics(
    documents: Sequence[Path],
    parameters: Bm25Parameters | None = None,
    *,
    suffix: str | None = None,
    progress: Progress | None = None,
) -> CollectionStatistics:
    """Compute the BM25 collection statistics of a published snapshot.

    Args:
        documents: Parquet files with `doc_id`, title and text columns.
        parameters: Parameters of BM25; None for the defaults.
        suffix: Suffix of the text columns, as for `search_snapshot`.
        progress: Reports the number of processed documents.

    Raises:
        UsageError: A file is unreadable.
        DataError: The documents contain no index terms, or the snapshot has no texts in the
            language.
        MissingExtraError: The extra [baseline] is not installed.
    """
    parameters = parameters or Bm25Parameters()
    suffix = _default_suffix(parameters) if suffix is None else suffix
    texts = read_documents(documents, suffix)
    return compute_collection_statistics(
        texts, Analyzer(parameters.language), progress or NoProgress()
    )


def _default_suffix(parameters: Bm25Parameters) -> str:
    return ENGLISH_SUFFIX if parameters.language == ENGLISH else SOURCE_SUFFIX


def search_snapshot_with_expansion(
    snapshot: Snapshot,
    earlier_snapshots: Sequence[Snapshot],
    expansion: Rm3Parameters | KeyQueryParameters,
    parameters: Bm25Parameters,
    *,
    suffix: str,
    tag: str = "expanded",
) -> tuple[Run, pl.DataFrame]:
    """Search a snapshot with queries expanded using the judgements of earlier snapshots.

    Args:
        snapshot: Snapshot to search; its judgements are not used.
        earlier_snapshots: Snapshots whose judgements are used, in chronological order.
        expansion: Parameters of RM3 or of keyqueries.
        parameters: Parameters of BM25.
        suffix: Suffix of the text columns; see `Collection.languages`.
        tag: Name of the run.

    Returns:
        Run, and the expanded queries with schema `EXPANDED`.

    Raises:
        UsageError: A file is unreadable.
        DataError: There are no documents, or the snapshot has no texts in the language.
        MissingExtraError: The extra [baseline] is not installed.
    """
    queries = read_query_texts(snapshot.folder / "queries.parquet", suffix)
    documents = read_documents(snapshot.document_files(), suffix)
    index = Bm25Index(documents, parameters, keep_terms=isinstance(expansion, Rm3Parameters))
    feedback = read_earlier_feedback(earlier_snapshots, snapshot, suffix)
    if isinstance(expansion, Rm3Parameters):
        expanded = rm3(index, queries, feedback, expansion)
    else:
        expanded = find_keyqueries(index, queries, feedback, expansion)
    return search_expanded_queries(index, queries, expanded, tag=tag), expanded
