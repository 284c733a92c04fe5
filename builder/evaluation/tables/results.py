"""Generates the rows of the result tables of an evaluation, for one set of queries.

Each row has a value, its bootstrap interval, and the number of resamples in which it is defined. If
a value is undefined, it is null and the column `reason` says why; `ci_reason` says why an interval
is null. Values are never NaN or infinite.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from builder.evaluation.measures.family import Floats
from builder.evaluation.parameters import EvaluationParameters
from builder.evaluation.tables.persistence import (
    PERSISTENCE_STATISTICS,
    compute_persistence_statistics,
    means_by_formula_symbol,
    subtract_with_tolerance,
)
from builder.evaluation.tables.topicsets import TopicSet
from builder.statistics.bootstrap import percentile_interval
from builder.statistics.rankings import TIE_TOLERANCE, kendall_tau_b, rank_biased_overlap
from builder.statistics.significance import holm_adjust, paired_t_test, unpaired_t_test

Row = tuple[object, ...]

_VALUE = {
    "value": pl.Float64(),
    "ci_low": pl.Float64(),
    "ci_high": pl.Float64(),
    "resamples": pl.UInt32(),
    "reason": pl.String(),
    "ci_reason": pl.String(),
}
_SNAPSHOT = {"topic_set": pl.String(), "snapshot": pl.String()}
_PAIR = {"topic_set": pl.String(), "from_snapshot": pl.String(), "to_snapshot": pl.String()}
_SYSTEM = {"system": pl.String(), "measure": pl.String()}

EFFECTIVENESS = {
    **_SNAPSHOT,
    **_SYSTEM,
    "queries": pl.UInt32(),
    "missing": pl.UInt32(),
    "unjudged": pl.UInt32(),
    "irrelevant": pl.UInt32(),
    **_VALUE,
}
"""Mean scores. `queries`: number of judged queries; `missing`: judged queries missing from the run,
which score 0; `unjudged`: queries of the run without judgements, which are ignored; `irrelevant`:
judged queries without a relevant document."""

SIGNIFICANCE = {
    **_SNAPSHOT,
    **_SYSTEM,
    "pivot": pl.String(),
    **_VALUE,
    "t": pl.Float64(),
    "p": pl.Float64(),
    "p_holm": pl.Float64(),
}
"""Comparison of systems with the pivot in a snapshot. `value`: mean of the per-query differences,
positive if the system is better; `t`, `p`: paired t-test; `p_holm`: p corrected over all
systems."""

PERSISTENCE = {**_PAIR, **_SYSTEM, "quantity": pl.String(), **_VALUE}
"""Statistics of `persistence`, and p-values of unpaired t-tests, `p_unpaired` (Student) and
`p_welch`, which have no interval."""

AGREEMENT = {
    **_PAIR,
    "measure": pl.String(),
    "systems": pl.UInt32(),
    "quantity": pl.String(),
    **_VALUE,
}
"""Agreement of the system rankings in two snapshots: `kendall_tau_b` and `rbo_ext`."""


NO_INTERVAL_OF_P_VALUE = "p-values have no interval"


def _finite_or_none(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _value_and_interval(estimate: Floats, samples: Floats, confidence: float) -> list[Floats]:
    """Return the estimate, lower bounds, upper bounds, and numbers of samples that are not NaN."""
    low, high, defined = percentile_interval(samples, confidence)
    # a bound that differs from the estimate only by rounding is set to the estimate
    low, high = (
        np.where(np.abs(end - estimate) > TIE_TOLERANCE, end, estimate + 0 * end)
        for end in (low, high)
    )
    return [estimate, low, high, defined.astype(np.float64)]


def _value_and_interval_cells(arrays: Sequence[Floats], index: tuple[int, ...]) -> Row:
    value, low, high, defined = (array[index] for array in arrays)
    return _finite_or_none(value), _finite_or_none(low), _finite_or_none(high), int(defined)


def _reason_for_missing_interval(
    cells: Row, topic_set: TopicSet, parameters: EvaluationParameters
) -> str | None:
    """Return why a value has no confidence interval; None if it has one.

    Args:
        cells: Result of `_value_and_interval_cells`.
        topic_set: Queries over which the value was computed.
        parameters: Parameters of the evaluation.
    """
    value, low, _, defined = cells
    if low is not None:
        return None
    if value is None:
        return "the value is undefined"
    if not parameters.resamples:
        return "no resamples were requested"
    if topic_set.query_count < 2:
        return "the bootstrap needs at least two judged queries"
    return f"the value is defined in only {defined} of {parameters.resamples} resamples"


def effectiveness_rows(
    topic_set: TopicSet, systems: Sequence[str], parameters: EvaluationParameters
) -> Iterator[Row]:
    """Yield a row with the mean score per snapshot, measure and system, for systems with a run."""
    for scores, means, samples in zip(
        topic_set.snapshots, topic_set.means, topic_set.samples, strict=True
    ):
        arrays = _value_and_interval(means, samples, parameters.confidence)
        for i, system in enumerate(systems):
            if scores.unjudged[i] < 0:
                continue
            counts = (
                len(scores.query_ids),
                int(scores.missing[:, i].sum()),
                scores.unjudged[i],
                int(scores.irrelevant.sum()),
            )
            reason = None if scores.query_ids else "no judged queries"
            for j, measure in enumerate(parameters.measures):
                key = (topic_set.name, scores.snapshot, system, measure)
                cells = _value_and_interval_cells(arrays, (i, j))
                ci_reason = _reason_for_missing_interval(cells, topic_set, parameters)
                yield (*key, *counts, *cells, reason, ci_reason)


def significance_rows(
    topic_set: TopicSet, systems: Sequence[str], parameters: EvaluationParameters
) -> Iterator[Row]:
    """Yield one row per snapshot, system and measure, with a test of the system against the pivot.

    Yields nothing without a pivot.
    """
    if parameters.pivot is None:
        return
    pivot = systems.index(parameters.pivot)
    others = [i for i in range(len(systems)) if i != pivot]
    for scores, means, samples in zip(
        topic_set.snapshots, topic_set.means, topic_set.samples, strict=True
    ):
        t, p = paired_t_test(scores.values[:, others] - scores.values[:, [pivot]])
        p_holm = holm_adjust(p)
        arrays = _value_and_interval(
            subtract_with_tolerance(means[others], means[[pivot]]),
            samples[:, others] - samples[:, [pivot]],
            parameters.confidence,
        )
        for row, i in enumerate(others):
            if min(scores.unjudged[i], scores.unjudged[pivot]) < 0:
                continue
            for j, measure in enumerate(parameters.measures):
                tests = tuple(_finite_or_none(test[row, j]) for test in (t, p, p_holm))
                reason = _reason_for_missing_paired_p_value(len(scores.query_ids), tests[0])
                key = (topic_set.name, scores.snapshot, systems[i], measure, parameters.pivot)
                cells = _value_and_interval_cells(arrays, (row, j))
                ci_reason = _reason_for_missing_interval(cells, topic_set, parameters)
                yield (*key, *cells, reason, ci_reason, *tests)


def _reason_for_missing_paired_p_value(query_count: int, t: float | None) -> str | None:
    if t is not None:
        return None
    if query_count < 2:
        return "no judged queries" if query_count == 0 else "the test needs at least two queries"
    return "the differences have no variance"


def persistence_rows(
    topic_set: TopicSet, systems: Sequence[str], parameters: EvaluationParameters
) -> Iterator[Row]:
    """Yield one row per snapshot pair, system, measure and persistence statistic."""
    pivot = None if parameters.pivot is None else systems.index(parameters.pivot)
    for a, b in parameters.snapshot_pairs(len(topic_set.snapshots)):
        first, second = topic_set.snapshots[a], topic_set.snapshots[b]
        terms = means_by_formula_symbol(topic_set.means[a], topic_set.means[b], pivot)
        sampled = compute_persistence_statistics(
            means_by_formula_symbol(topic_set.samples[a], topic_set.samples[b], pivot)
        )
        arrays_by_name = {
            name: _value_and_interval(value, sampled[name], parameters.confidence)
            for name, value in compute_persistence_statistics(terms).items()
        }
        p_values = {
            name: unpaired_t_test(first.values, second.values, pooled=pooled)[1]
            for name, pooled in (("p_unpaired", True), ("p_welch", False))
        }
        for i, system in enumerate(systems):
            if max(first.unjudged[i], second.unjudged[i]) < 0:
                continue
            for j, measure in enumerate(parameters.measures):
                key = (topic_set.name, first.snapshot, second.snapshot, system, measure)
                for quantity in PERSISTENCE_STATISTICS:
                    if quantity.name in arrays_by_name:
                        cells = _value_and_interval_cells(arrays_by_name[quantity.name], (i, j))
                        reason = None
                        if cells[0] is None:
                            reason = quantity.undefined_reason(terms, i, j, pivot)
                        ci_reason = _reason_for_missing_interval(cells, topic_set, parameters)
                        yield (*key, quantity.name, *cells, reason, ci_reason)
                for name, p in p_values.items():
                    value = _finite_or_none(p[i, j])
                    reason = None
                    if value is None:
                        min_queries = 1 if name == "p_unpaired" else 2
                        reason = _reason_for_missing_p_value_between_snapshots(
                            topic_set, a, b, i, min_queries
                        )
                    yield (*key, name, value, None, None, None, reason, NO_INTERVAL_OF_P_VALUE)


def _reason_for_missing_p_value_between_snapshots(
    topic_set: TopicSet, earlier: int, later: int, system: int, min_queries: int
) -> str:
    """Return why an unpaired test that requires `min_queries` per snapshot has no p-value."""
    first, second = topic_set.snapshots[earlier], topic_set.snapshots[later]
    if min(first.unjudged[system], second.unjudged[system]) < 0:
        return "no run for one of the snapshots"
    sizes = len(first.query_ids), len(second.query_ids)
    if min_queries == 2 and min(sizes) < 2:
        return "Welch's test needs at least two queries in each snapshot"
    if min(sizes) < 1 or sum(sizes) < 3:
        return "the test needs at least one query in each snapshot and three in total"
    return "the scores have no variance"


def agreement_rows(
    topic_set: TopicSet, systems: Sequence[str], parameters: EvaluationParameters
) -> Iterator[Row]:
    """Yield one row per snapshot pair, measure and coefficient of ranking agreement."""
    for a, b in parameters.snapshot_pairs(len(topic_set.snapshots)):
        first, second = topic_set.snapshots[a], topic_set.snapshots[b]
        both = [i for i in range(len(systems)) if min(first.unjudged[i], second.unjudged[i]) >= 0]
        means = [topic_set.means[s][both].T for s in (a, b)]
        samples = [topic_set.samples[s][:, both].swapaxes(1, 2) for s in (a, b)]
        arrays_by_name = {
            "kendall_tau_b": _value_and_interval(
                kendall_tau_b(means[0], means[1]),
                kendall_tau_b(samples[0], samples[1]),
                parameters.confidence,
            ),
            "rbo_ext": _value_and_interval(
                rank_biased_overlap(means[0], means[1], parameters.rbo_p),
                rank_biased_overlap(samples[0], samples[1], parameters.rbo_p),
                parameters.confidence,
            ),
        }
        for j, measure in enumerate(parameters.measures):
            for name, arrays in arrays_by_name.items():
                key = (topic_set.name, first.snapshot, second.snapshot, measure, len(both), name)
                if len(both) < 2:
                    reason = "fewer than two systems have runs for both snapshots"
                    yield (*key, None, None, None, None, reason, "the value is undefined")
                    continue
                cells = _value_and_interval_cells(arrays, (j,))
                judged = min(len(first.query_ids), len(second.query_ids))
                reason = "all systems are tied in one snapshot" if judged else "no judged queries"
                ci_reason = _reason_for_missing_interval(cells, topic_set, parameters)
                yield (*key, *cells, None if cells[0] is not None else reason, ci_reason)
