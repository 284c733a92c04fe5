"""One plug-in of each kind, as small as they can be."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from builder.clicks.models import Pages, Trained, Training
from builder.clicks.models.probabilities import Grid
from builder.collection.checks import Check, Reading


def _questions(reading: Reading) -> Iterator[tuple[str, str, int, tuple[str, ...]]]:
    for name, queries in reading.snapshots("queries"):
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


def top_only(pages: Pages, training: Training) -> Trained:
    """The first result is clicked as often as it is, the others hardly ever."""
    tops = pages.statistics((pages.rank != 1).astype(np.int64), 2)
    rates = training.of_few(tops.clicks, tops.impressions)
    return Trained(lambda p: Grid(np.where(p.rank == 1, rates[0], 0.05), np.ones(len(p.rank))))


class _Shouting:
    name = "shouting"
    version = "1"
    kind = "query"

    def judge(self, subjects: pl.DataFrame) -> pl.DataFrame:
        """Queries in capitals."""
        loud = subjects.filter(pl.col("text") == pl.col("text").str.to_uppercase())
        return loud.select("key", label=pl.lit("shouting"), score=pl.lit(1.0))


SHOUTING = _Shouting()
