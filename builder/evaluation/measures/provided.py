"""Measures of ir_measures: `ir_measures:infAP`, `ir_measures:nDCG(dcg='exp-log2')@10`.

In: any name that ir_measures parses, after the prefix. Out: scores of the judged queries. Rankings
are those of trec_eval: ir_measures sees each document at its rank.
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


def parse_provided(name: str) -> Any:
    """A measure of ir_measures by its name, with or without the prefix.

    Raises:
        UsageError: ir_measures does not know it, or has no provider for it.
        MissingExtraError: ir_measures is not installed.
    """
    package = import_optional("ir_measures", f"the measure {name}", "ir-measures")
    try:
        measure = package.parse_measure(name.removeprefix(PREFIX))
        has = any(provider.supports(measure) for provider in package.DefaultPipeline.providers)
    except (NameError, ValueError, SyntaxError, TypeError, KeyError, AssertionError) as error:
        raise UsageError(f"measure {name!r}: ir_measures does not know it ({error})") from error
    if not has:
        raise UsageError(f"measure {name!r}: no provider of ir_measures that is installed has it")
    return measure


def provided_scores(
    names: Sequence[str], qrels: pl.DataFrame, query_ids: Sequence[str], run: Run
) -> Floats:
    """Scores of a run by ir_measures.

    Args:
        names: Names with the prefix.
        qrels: Columns `query_id`, `doc_id`, `grade`.
        query_ids: The judged queries, in the order of the rows of the result.
        run: A ranking of the same snapshot.

    Returns:
        Shape (judged queries, measures); 0 where the run lacks a query.

    Raises:
        DataError: a provider failed, such as one that takes numbers as query ids only.
    """
    values = np.zeros((len(query_ids), len(names)))
    if not names:
        return values
    package = import_optional("ir_measures", "measures of ir_measures", "ir-measures")
    measures = [parse_provided(name) for name in names]
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
