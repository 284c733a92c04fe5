"""Result tables of one topic set: what `Evaluation` holds.

In: a `TopicSet`. Out: frames with a row per value: the value, its bootstrap interval, the number of
resamples behind it, and where there is no value, null and the reason. Never NaN or infinity.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from builder.evaluation.measures.family import Floats
from builder.evaluation.parameters import EvaluationParameters
from builder.evaluation.tables.persistence import QUANTITIES, compare, difference, terms_of
from builder.evaluation.tables.topicsets import TopicSet
from builder.statistics.bootstrap import percentile_interval
from builder.statistics.rankings import ZERO, kendall_tau_b, rank_biased_overlap
from builder.statistics.significance import holm, paired, unpaired

Row = tuple[object, ...]

_VALUE = {
    "value": pl.Float64(),
    "ci_low": pl.Float64(),
    "ci_high": pl.Float64(),
    "resamples": pl.UInt32(),
    "reason": pl.String(),
}
_PLACE = {"topic_set": pl.String(), "snapshot": pl.String()}
_PAIR = {"topic_set": pl.String(), "from_snapshot": pl.String(), "to_snapshot": pl.String()}
_SYSTEM = {"system": pl.String(), "measure": pl.String()}

EFFECTIVENESS = {
    **_PLACE,
    **_SYSTEM,
    "queries": pl.UInt32(),
    "missing": pl.UInt32(),
    "unjudged": pl.UInt32(),
    "irrelevant": pl.UInt32(),
    **_VALUE,
}
"""Mean scores. `queries`: judged queries, the divisor; `missing`: those that the run lacks, which
count 0; `unjudged`: queries of the run that nobody judged; `irrelevant`: judged queries without a
relevant document."""

SIGNIFICANCE = {
    **_PLACE,
    **_SYSTEM,
    "pivot": pl.String(),
    **_VALUE,
    "t": pl.Float64(),
    "p": pl.Float64(),
    "p_holm": pl.Float64(),
}
"""System against pivot in one snapshot. `value`: mean of the per-query differences, positive where
the system is better; `t`, `p`: paired t-test; `p_holm`: corrected over the systems."""

PERSISTENCE = {**_PAIR, **_SYSTEM, "quantity": pl.String(), **_VALUE}
"""Quantities of `persistence`, and the p-values `p_unpaired` (Student) and `p_welch` of unpaired
t-tests, which have no interval."""

AGREEMENT = {
    **_PAIR,
    "measure": pl.String(),
    "systems": pl.UInt32(),
    "quantity": pl.String(),
    **_VALUE,
}
"""Agreement of the rankings of systems: `kendall_tau_b` and `rbo_ext`."""


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _with_interval(value: Floats, samples: Floats, confidence: float) -> list[Floats]:
    """Value, lower end, upper end, resamples: arrays of one shape; no interval without a value."""
    low, high, defined = percentile_interval(samples, confidence)
    # an end that differs from the value by rounding only is the value
    low, high = (np.where(np.abs(end - value) > ZERO, end, value + 0 * end) for end in (low, high))
    return [value, low, high, defined.astype(np.float64)]


def _cells(stack: Sequence[Floats], at: tuple[int, ...]) -> Row:
    value, low, high, defined = (array[at] for array in stack)
    return _number(value), _number(low), _number(high), int(defined)


def effectiveness_rows(
    topics: TopicSet, systems: Sequence[str], parameters: EvaluationParameters
) -> Iterator[Row]:
    """Rows of `EFFECTIVENESS`; a system without a run in a snapshot has none there."""
    for scores, means, samples in zip(topics.snapshots, topics.means, topics.samples, strict=True):
        stack = _with_interval(means, samples, parameters.confidence)
        for i, system in enumerate(systems):
            if scores.unjudged[i] < 0:
                continue
            counts = (
                len(scores.query_ids),
                int(scores.missing[:, i].sum()),
                scores.unjudged[i],
                int(scores.irrelevant.sum()),
            )
            reason = None if scores.query_ids else "no judged query"
            for j, measure in enumerate(parameters.measures):
                place = (topics.name, scores.snapshot, system, measure)
                yield (*place, *counts, *_cells(stack, (i, j)), reason)


def significance_rows(
    topics: TopicSet, systems: Sequence[str], parameters: EvaluationParameters
) -> Iterator[Row]:
    """Rows of `SIGNIFICANCE`: every system but the pivot, where both have a run."""
    if parameters.pivot is None:
        return
    pivot = systems.index(parameters.pivot)
    others = [i for i in range(len(systems)) if i != pivot]
    for scores, means, samples in zip(topics.snapshots, topics.means, topics.samples, strict=True):
        t, p = paired(scores.values[:, others] - scores.values[:, [pivot]])
        p_holm = holm(p)
        stack = _with_interval(
            difference(means[others], means[[pivot]]),
            samples[:, others] - samples[:, [pivot]],
            parameters.confidence,
        )
        for row, i in enumerate(others):
            if min(scores.unjudged[i], scores.unjudged[pivot]) < 0:
                continue
            for j, measure in enumerate(parameters.measures):
                tests = tuple(_number(test[row, j]) for test in (t, p, p_holm))
                reason = _why_no_test(len(scores.query_ids), tests[0])
                place = (topics.name, scores.snapshot, systems[i], measure, parameters.pivot)
                yield (*place, *_cells(stack, (row, j)), reason, *tests)


def _why_no_test(queries: int, t: float | None) -> str | None:
    if t is not None:
        return None
    if queries < 2:
        return "no judged query" if queries == 0 else "a test needs two queries"
    return "the differences do not vary"


def persistence_rows(
    topics: TopicSet, systems: Sequence[str], parameters: EvaluationParameters
) -> Iterator[Row]:
    """Rows of `PERSISTENCE`, for every system with a run in either snapshot of a pair."""
    pivot = None if parameters.pivot is None else systems.index(parameters.pivot)
    for a, b in parameters.snapshot_pairs(len(topics.snapshots)):
        first, second = topics.snapshots[a], topics.snapshots[b]
        terms = terms_of(topics.means[a], topics.means[b], pivot)
        sampled = compare(terms_of(topics.samples[a], topics.samples[b], pivot))
        stacks = {
            name: _with_interval(value, sampled[name], parameters.confidence)
            for name, value in compare(terms).items()
        }
        p_values = {
            name: unpaired(first.values, second.values, pooled=pooled)[1]
            for name, pooled in (("p_unpaired", True), ("p_welch", False))
        }
        for i, system in enumerate(systems):
            if max(first.unjudged[i], second.unjudged[i]) < 0:
                continue
            for j, measure in enumerate(parameters.measures):
                place = (topics.name, first.snapshot, second.snapshot, system, measure)
                for quantity in QUANTITIES:
                    if quantity.name in stacks:
                        cells = _cells(stacks[quantity.name], (i, j))
                        known = cells[0] is not None
                        reason = None if known else quantity.why_undefined(terms, i, j, pivot)
                        yield (*place, quantity.name, *cells, reason)
                for name, p in p_values.items():
                    value = _number(p[i, j])
                    least = 1 if name == "p_unpaired" else 2
                    why = None if value is not None else _undefined_test(topics, a, b, i, least)
                    yield (*place, name, value, None, None, None, why)


def _undefined_test(topics: TopicSet, a: int, b: int, system: int, least: int) -> str:
    """Why a test that needs `least` queries in each snapshot is undefined."""
    first, second = topics.snapshots[a], topics.snapshots[b]
    if min(first.unjudged[system], second.unjudged[system]) < 0:
        return "no run in one of the snapshots"
    sizes = len(first.query_ids), len(second.query_ids)
    if least == 2 and min(sizes) < 2:
        return "Welch's test needs two queries in each snapshot"
    if min(sizes) < 1 or sum(sizes) < 3:
        return "a test needs a query in each snapshot and three together"
    return "the scores do not vary"


def agreement_rows(
    topics: TopicSet, systems: Sequence[str], parameters: EvaluationParameters
) -> Iterator[Row]:
    """Rows of `AGREEMENT`, over the systems that have a run in both snapshots of a pair."""
    for a, b in parameters.snapshot_pairs(len(topics.snapshots)):
        first, second = topics.snapshots[a], topics.snapshots[b]
        both = [i for i in range(len(systems)) if min(first.unjudged[i], second.unjudged[i]) >= 0]
        means = [topics.means[s][both].T for s in (a, b)]
        samples = [topics.samples[s][:, both].swapaxes(1, 2) for s in (a, b)]
        stacks = {
            "kendall_tau_b": _with_interval(
                kendall_tau_b(means[0], means[1]),
                kendall_tau_b(samples[0], samples[1]),
                parameters.confidence,
            ),
            "rbo_ext": _with_interval(
                rank_biased_overlap(means[0], means[1], parameters.rbo_p),
                rank_biased_overlap(samples[0], samples[1], parameters.rbo_p),
                parameters.confidence,
            ),
        }
        for j, measure in enumerate(parameters.measures):
            for name, stack in stacks.items():
                place = (topics.name, first.snapshot, second.snapshot, measure, len(both), name)
                if len(both) < 2:
                    yield (*place, None, None, None, None, "fewer than two systems in both")
                    continue
                cells = _cells(stack, (j,))
                judged = min(len(first.query_ids), len(second.query_ids))
                why = "all systems are tied in one snapshot" if judged else "no judged query"
                yield (*place, *cells, None if cells[0] is not None else why)
