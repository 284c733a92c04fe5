"""One plug-in of each kind, as small as they can be."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from builder.clicks.models import ResultPages, TrainedModel, TrainingOptions
from builder.clicks.models.probabilities import IndependentClickProbabilities
from builder.collection.checks import Check, ValidationContext
from builder.evaluation.measures.family import MeasureFamily
from builder.io.sources import Interval, Source
from builder.parameters import LogParameters, TranslationParameters
from builder.translation.engine import ModelOutput


def _questions(context: ValidationContext) -> Iterator[tuple[str, str, int, tuple[str, ...]]]:
    for name, queries in context.scan_snapshots("queries"):
        found = queries.filter(pl.col("text").str.ends_with("?")).select("query_id").collect()
        if found.height:
            examples = tuple(found["query_id"].head(3))
            yield f"snapshots/{name}/queries", "queries are questions", found.height, examples


QUESTIONS = Check(
    "EX101",
    "queries are no questions",
    "warning",
    "an engine that answers questions elsewhere",
    "leave them out",
    _questions,
)


def top_only(pages: ResultPages, training: TrainingOptions) -> TrainedModel:
    """The first result is clicked as often as it is, the others hardly ever."""
    tops = pages.click_counts((pages.rank != 1).astype(np.int64), 2)
    rates = training.estimate_by_group(tops.clicks, tops.impressions)
    return TrainedModel(
        lambda p: IndependentClickProbabilities(
            np.where(p.rank == 1, rates[0], 0.05), np.ones(len(p.rank))
        )
    )


def read_pages(
    source: Source, interval: Interval, params: LogParameters
) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """A log of lines `when|user|query|urls in JSON|clicked ranks in JSON`."""
    with source.path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                when, user, query, results, clicks = line.rstrip("\n").split("|")
                shown, clicked = json.loads(results), json.loads(clicks)
            except ValueError:
                yield number, "not_five_fields"
                continue
            record = {"time": when, "user": user, "query": query}
            yield number, {**record, "results": shown, "clicks": clicked}


def _first(measure: Any, hits: Any) -> np.ndarray:
    """The grade of the first document of each ranking."""
    scores = np.zeros(len(hits.retrieved))
    top = hits.rank == 1
    scores[hits.query[top]] = hits.grade[top]
    return scores


FIRST = MeasureFamily("First", "grade of the first document", "none", compute=_first)


class _Backwards:
    identity: ClassVar[dict[str, str]] = {"model": "backwards", "version": "1"}

    def count_tokens(self, text: str) -> int:
        """Words."""
        return len(text.split())

    def translate(self, sentences: Sequence[str], *, is_retry: bool = False) -> list[ModelOutput]:
        """Words in the other order."""
        return [ModelOutput(" ".join(reversed(s.split())), self.count_tokens(s)) for s in sentences]


def load_backwards(folder: Path, params: TranslationParameters, threads: int) -> _Backwards:
    """An engine that has nothing to load."""
    return _Backwards()


class _Shouting:
    name = "shouting"
    version = "1"
    kind = "query"

    def judge(self, subjects: pl.DataFrame) -> pl.DataFrame:
        """Queries in capitals."""
        loud = subjects.filter(pl.col("text") == pl.col("text").str.to_uppercase())
        return loud.select("key", label=pl.lit("shouting"), score=pl.lit(1.0))


SHOUTING = _Shouting()
