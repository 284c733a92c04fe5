"""The sanity table of a collection: can plain BM25 find what was clicked, in each language?

In: a published collection. Out: for each language and snapshot the mean nDCG@10 and P@10 of BM25
against its judgements, and the nDCG@10 against the same judgements given to other queries, which
is what chance reaches. Judgements attached to wrong queries, empty translations or lost documents
show here at once (LongEval 2023, table of baselines).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builder.evaluation.baselines.bm25 import Bm25, bm25_snapshot
from builder.evaluation.measures.effectiveness import Judge
from builder.evaluation.measures.registry import parse_measures
from builder.evaluation.runs.qrels import read_qrels
from builder.io import parquet
from builder.runtime.progress import NoProgress, Progress
from builder.trec.runs import Run

MEASURES = ("nDCG@10", "P@10")
DEPTH = 100


@dataclass(frozen=True)
class SanityRow:
    """BM25 on one snapshot in one language.

    Args:
        language: That of the texts that are searched.
        snapshot: Its name.
        queries: Judged queries.
        ndcg: Mean nDCG@10.
        precision: Mean P@10.
        by_chance: Mean nDCG@10 when every query is given the judgements of another.
    """

    language: str
    snapshot: str
    queries: int
    ndcg: float
    precision: float
    by_chance: float


def sanity_table(
    snapshots: Sequence[tuple[str, Path]],
    languages: Mapping[str, str],
    *,
    progress: Progress | None = None,
) -> list[SanityRow]:
    """Run BM25 on every snapshot in every language that it has all queries in.

    Args:
        snapshots: Name and folder of each snapshot, in order of time.
        languages: Each language with the suffix of its columns, as `Collection.languages`.
        progress: Told about every document.

    Raises:
        MissingExtraError: the extras [baseline] and [evaluation] are not installed.
    """
    told = progress or NoProgress()
    return [
        _row(name, folder, Bm25(language=language, depth=DEPTH), suffix, told)
        for language, suffix in languages.items()
        for name, folder in snapshots
        if _has_texts(folder, suffix)
    ]


def _has_texts(folder: Path, suffix: str) -> bool:
    """Whether every query of a snapshot has a text; those of a release may lack English."""
    texts = parquet.read(folder / "queries.parquet", [f"text{suffix}"])
    return texts.height > 0 and texts.to_series().null_count() == 0


def _row(name: str, folder: Path, parameters: Bm25, suffix: str, progress: Progress) -> SanityRow:
    parts = sorted((folder / "documents").glob("part-*.parquet"))
    queries_file = folder / "queries.parquet"
    run = bm25_snapshot(parts, queries_file, parameters, suffix=suffix, progress=progress)
    qrels = read_qrels(folder / "qrels.parquet")
    scores = [_means(judged, run) for judged in (qrels, exchanged(qrels))]
    queries = qrels["query_id"].n_unique()
    return SanityRow(parameters.language, name, queries, scores[0][0], scores[0][1], scores[1][0])


def _means(qrels: pl.DataFrame, run: Run) -> tuple[float, float]:
    values = Judge(qrels, parse_measures(MEASURES)).score(run).values.mean(axis=0)
    return float(values[0]), float(values[1])


def exchanged(qrels: pl.DataFrame) -> pl.DataFrame:
    """The same judgements, each query with those of the next one in order of ids, which are hashes.

    Args:
        qrels: Columns `query_id`, `doc_id`, `grade`.
    """
    queries = qrels["query_id"].unique().sort().to_list()
    other = dict(zip(queries, [*queries[1:], *queries[:1]], strict=True))
    return qrels.with_columns(pl.col("query_id").replace_strict(other)).sort("query_id", "doc_id")
