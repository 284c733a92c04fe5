"""Measures computed by ir_measures, such as `ir_measures:infAP`.

The prefix `ir_measures:` is followed by any name that ir_measures can parse. The scores passed to
ir_measures are negated ranks, so that ties are broken as in trec_eval. Query ids are replaced by
row numbers, because gdeval (ERR, nDCG with exponential gains) requires numeric ids.

Negative grades mean unjudged, and are passed on only to `POOL_MEASURES`.
"""

from collections.abc import Sequence
from subprocess import SubprocessError
from typing import Any

import numpy as np
import polars as pl

from builder.errors import DataError, UsageError
from builder.evaluation.measures.family import Floats
from builder.extras import import_optional_module
from builder.trec.runs import Run

PREFIX = "ir_measures:"
POOL_MEASURES = ("infAP",)
"""Measures that distinguish unjudged documents of the pool, which have negative grades, from
documents outside the pool (Yilmaz & Aslam 2006)."""
_NUMBERS = {"query_id": pl.String(), "number": pl.Int64()}


def parse_ir_measure(name: str) -> Any:
    """Parse the name of an ir_measures measure, with or without the prefix `ir_measures:`.

    Raises:
        UsageError: ir_measures does not know the measure or has no installed provider for it.
        MissingExtraError: ir_measures is not installed.
    """
    package = import_optional_module("ir_measures", f"the measure {name}", "ir-measures")
    try:
        measure = package.parse_measure(name.removeprefix(PREFIX))
        is_supported = any(
            provider.supports(measure) for provider in package.DefaultPipeline.providers
        )
    except (NameError, ValueError, KeyError, AssertionError) as error:
        raise UsageError(f"measure {name!r}: unknown to ir_measures ({error})") from error
    if not is_supported:
        raise UsageError(f"measure {name!r}: no installed provider of ir_measures supports it")
    return measure


def ir_measures_scores(
    names: Sequence[str], qrels: pl.DataFrame, query_ids: Sequence[str], run: Run
) -> Floats:
    """Score a run with ir_measures.

    Args:
        names: Names of measures, with the prefix `ir_measures:`.
        qrels: Columns `query_id`, `doc_id`, `grade`; each query has a grade of at least 0.
        query_ids: Ids of the judged queries, in the row order of the result.
        run: Run for the same snapshot.

    Returns:
        Scores of shape (judged queries, measures); 0 for queries missing from the run or `qrels`.

    Raises:
        DataError: A measure provider of ir_measures failed, for example gdeval for a grade above 4.
    """
    values = np.zeros((len(query_ids), len(names)))
    if not names:
        return values
    numbers = pl.DataFrame({"query_id": query_ids, "number": range(len(query_ids))}, _NUMBERS)
    ranking = run.ranking.join(numbers, on="query_id", maintain_order="left")
    if ranking.is_empty():
        return values
    package = import_optional_module("ir_measures", "measures of ir_measures", "ir-measures")
    columns = {parse_ir_measure(name): column for column, name in enumerate(names)}
    pool = qrels.join(numbers, on="query_id").select("number", "doc_id", "grade")
    ranked = [
        package.ScoredDoc(str(query), document, -float(rank))
        for query, document, rank in ranking.select("number", "doc_id", "rank").iter_rows()
    ]
    inputs = (
        ([m for m in columns if m.NAME in POOL_MEASURES], pool),
        ([m for m in columns if m.NAME not in POOL_MEASURES], pool.filter(pl.col("grade") >= 0)),
    )
    try:
        metrics = [
            metric
            for measures, rows in inputs
            if measures
            for metric in package.iter_calc(measures, _to_ir_measures_qrels(rows, package), ranked)
        ]
    except (SubprocessError, OSError, ValueError, RuntimeError) as error:
        raise DataError(f"{', '.join(names)}: ir_measures failed ({error})") from error
    for metric in metrics:
        values[int(metric.query_id), columns[metric.measure]] = metric.value
    return values


def _to_ir_measures_qrels(rows: pl.DataFrame, package: Any) -> list[Any]:
    """Convert judgements to qrels of ir_measures, with row numbers instead of query ids.

    Args:
        rows: Columns `number` (row number of the query), `doc_id`, `grade`.
        package: The imported package ir_measures.
    """
    return [package.Qrel(str(query), *row) for query, *row in rows.iter_rows()]
