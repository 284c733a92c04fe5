"""The sanity table of a collection: can plain BM25 find what was clicked, in both languages?

In: a published collection. Out: for each language and snapshot the mean nDCG@10 and P@10 of BM25
against its judgements, and the nDCG@10 against the same judgements given to other queries, which
is what chance reaches. Judgements attached to wrong queries, empty translations or lost documents
show here at once (LongEval 2023, table of baselines).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from builder.evaluation.baseline import Bm25, bm25_snapshot
from builder.evaluation.effectiveness import Judge
from builder.evaluation.measures import parse_measures
from builder.evaluation.qrels import read_qrels
from builder.progress import Progress, Silent
from builder.trec.runs import Run

LANGUAGES: tuple[Literal["fr", "en"], ...] = ("fr", "en")
MEASURES = ("nDCG@10", "P@10")
DEPTH = 100


@dataclass(frozen=True)
class SanityRow:
    """BM25 on one snapshot in one language.

    Args:
        language: `fr` as crawled, `en` as translated.
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
    snapshots: Sequence[tuple[str, Path]], *, progress: Progress | None = None
) -> list[SanityRow]:
    """Run BM25 on every snapshot, in English too where there is English.

    Args:
        snapshots: Name and folder of each snapshot, in order of time.
        progress: Told about every document.

    Raises:
        MissingExtraError: the extras [baseline] and [evaluation] are not installed.
    """
    told = progress or Silent()
    return [
        _row(name, folder, language, told)
        for language in LANGUAGES
        for name, folder in snapshots
        if language == "fr" or _has_english(folder)
    ]


def _has_english(folder: Path) -> bool:
    queries = pl.scan_parquet(folder / "queries.parquet").select("text_en").collect()["text_en"]
    return len(queries) > 0 and queries.null_count() == 0


def _row(name: str, folder: Path, language: Literal["fr", "en"], progress: Progress) -> SanityRow:
    parts = sorted((folder / "documents").glob("part-*.parquet"))
    parameters = Bm25(language=language, depth=DEPTH)
    run = bm25_snapshot(parts, folder / "queries.parquet", parameters, progress=progress)
    qrels = read_qrels(folder / "qrels.parquet")
    scores = [_means(judged, run) for judged in (qrels, exchanged(qrels))]
    queries = qrels["query_id"].n_unique()
    return SanityRow(language, name, queries, scores[0][0], scores[0][1], scores[1][0])


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
