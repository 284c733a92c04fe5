"""Sanity check of a collection: effectiveness of BM25 compared with chance.

Computes the mean nDCG@10 and P@10 of BM25. As a chance baseline, also computes its mean nDCG@10
with the judgements of each query assigned to another query. Low scores indicate judgements
attached to the wrong queries, empty translations or missing documents (LongEval 2023, table of
baselines).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builder.collection.read import Snapshot
from builder.evaluation.baselines.bm25 import Bm25Parameters
from builder.evaluation.baselines.snapshots import search_snapshot
from builder.evaluation.measures.effectiveness import RunScorer
from builder.evaluation.measures.registry import parse_measures
from builder.evaluation.runs.qrels import read_qrels
from builder.io import parquet
from builder.runtime.progress import NoProgress, Progress
from builder.trec.runs import Run

MEASURES = ("nDCG@10", "P@10")
DEPTH = 100


@dataclass(frozen=True)
class SanityCheckRow:
    """Effectiveness of BM25 on one snapshot, searched in one language.

    Args:
        language: Language of the searched texts.
        snapshot: Name of the snapshot.
        queries: Number of judged queries; if it is 0, the three means are None.
        ndcg: Mean nDCG@10.
        precision: Mean P@10.
        by_chance: Mean nDCG@10 with the judgements of each query assigned to another query.
    """

    language: str
    snapshot: str
    queries: int
    ndcg: float | None
    precision: float | None
    by_chance: float | None


def run_sanity_check(
    snapshots: Sequence[Snapshot],
    languages: Mapping[str, str],
    *,
    progress: Progress | None = None,
) -> list[SanityCheckRow]:
    """Evaluate BM25 on every snapshot, in each language in which all queries have text.

    Args:
        snapshots: Snapshots in chronological order.
        languages: Column suffix of each language, as in `Collection.languages`.
        progress: Reports the number of indexed documents.

    Raises:
        MissingExtraError: The extra [baseline] or [evaluation] is not installed.
    """
    progress = progress or NoProgress()
    return [
        _sanity_check_row(
            snapshot, Bm25Parameters(language=language, depth=DEPTH), suffix, progress
        )
        for language, suffix in languages.items()
        for snapshot in snapshots
        if _has_query_texts(snapshot.folder, suffix)
    ]


def _has_query_texts(folder: Path, suffix: str) -> bool:
    """Return whether all queries of a snapshot have text in the column `text` + `suffix`."""
    texts = parquet.read(folder / "queries.parquet", [f"text{suffix}"])
    return texts.height > 0 and texts.to_series().null_count() == 0


def _sanity_check_row(
    snapshot: Snapshot, parameters: Bm25Parameters, suffix: str, progress: Progress
) -> SanityCheckRow:
    files, queries_file = snapshot.document_files(), snapshot.folder / "queries.parquet"
    run = search_snapshot(files, queries_file, parameters, suffix=suffix, progress=progress)
    qrels = read_qrels(snapshot.folder / "qrels.parquet")
    scores = [_mean_scores(judged, run) for judged in (qrels, rotate_judgements(qrels))]
    queries = qrels["query_id"].n_unique()
    return SanityCheckRow(
        parameters.language, snapshot.name, queries, scores[0][0], scores[0][1], scores[1][0]
    )


def _mean_scores(qrels: pl.DataFrame, run: Run) -> tuple[float | None, float | None]:
    if qrels.is_empty():
        return None, None
    values = RunScorer(qrels, parse_measures(MEASURES)).score(run).values.mean(axis=0)
    return float(values[0]), float(values[1])


def rotate_judgements(qrels: pl.DataFrame) -> pl.DataFrame:
    """Assign the judgements of each query to the next query, to measure a chance baseline.

    Args:
        qrels: Columns `query_id`, `doc_id`, `grade`.
    """
    queries = qrels["query_id"].unique().sort().to_list()
    other = dict(zip(queries, [*queries[1:], *queries[:1]], strict=True))
    return qrels.with_columns(pl.col("query_id").replace_strict(other)).sort("query_id", "doc_id")
