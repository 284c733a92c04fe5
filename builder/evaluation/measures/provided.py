"""Measures computed by ir_measures, such as `ir_measures:infAP`.

The prefix `ir_measures:` is followed by any name that ir_measures can parse. ir_measures gets the
ranks of trec_eval as scores, so that ties are broken in the same way.
"""

from collections.abc import Sequence
from subprocess import SubprocessError
from typing import Any

import numpy as np
import polars as pl

from builder.errors import DataError, UsageError
from builder.evaluation.measures.family import Floats
from builder.extras import import_optional
from builder.trec.runs import Run

PREFIX = "ir_measures:"


def parse_ir_measure(name: str) -> Any:
    """Parse the name of a measure, with or without the prefix, with ir_measures.

    Raises:
        UsageError: ir_measures does not know the measure or has no installed provider for it.
        MissingExtraError: ir_measures is not installed.
    """
    package = import_optional("ir_measures", f"the measure {name}", "ir-measures")
    try:
        measure = package.parse_measure(name.removeprefix(PREFIX))
        is_supported = any(
            provider.supports(measure) for provider in package.DefaultPipeline.providers
        )
    except (NameError, ValueError, SyntaxError, TypeError, KeyError, AssertionError) as error:
        raise UsageError(f"measure {name!r}: unknown to ir_measures ({error})") from error
    if not is_supported:
        raise UsageError(f"measure {name!r}: no installed provider of ir_measures supports it")
    return measure


def ir_measures_scores(
    names: Sequence[str], qrels: pl.DataFrame, query_ids: Sequence[str], run: Run
) -> Floats:
    """Score a run with ir_measures.

    Args:
        names: Names of measures with the prefix.
        qrels: Columns `query_id`, `doc_id`, `grade`.
        query_ids: Judged queries, in the row order of the result.
        run: Run for the same snapshot.

    Returns:
        Scores of shape (judged queries, measures); 0 for queries missing from the run.

    Raises:
        DataError: A provider failed, for example because it only supports numeric query ids.
    """
    values = np.zeros((len(query_ids), len(names)))
    if not names:
        return values
    package = import_optional("ir_measures", "measures of ir_measures", "ir-measures")
    measures = [parse_ir_measure(name) for name in names]
    judged = [package.Qrel(*row) for row in qrels.select("query_id", "doc_id", "grade").iter_rows()]
    ranked = [
        package.ScoredDoc(query, document, -float(rank))
        for query, document, rank in run.ranking.select("query_id", "doc_id", "rank").iter_rows()
    ]
    rows = {query: row for row, query in enumerate(query_ids)}
    columns = {measure: column for column, measure in enumerate(measures)}
    try:
        metrics = list(package.iter_calc(measures, judged, ranked))
    except (SubprocessError, OSError, ValueError, RuntimeError) as error:
        raise DataError(f"{', '.join(names)}: ir_measures failed ({error})") from error
    for metric in metrics:
        if metric.query_id in rows:
            values[rows[metric.query_id], columns[metric.measure]] = metric.value
    return values
