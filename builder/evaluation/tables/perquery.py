"""Tables of per-query scores, and of per-query score drops between two snapshots.

Both tables have one row per snapshot (or pair of snapshots), system, measure and query, and are
sorted in this order.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from builder.evaluation.measures.effectiveness import SnapshotScores
from builder.evaluation.measures.family import Floats
from builder.evaluation.parameters import EvaluationParameters
from builder.evaluation.tables.persistence import subtract_with_tolerance
from builder.evaluation.tables.topicsets import core_query_ids

_CELL = {"system": pl.String(), "measure": pl.String(), "query_id": pl.String()}

QUERY_SCORES = {
    "snapshot": pl.String(),
    **_CELL,
    "core": pl.Boolean(),
    "score": pl.Float64(),
    "over_pivot": pl.Float64(),
}
"""`core`: the query is judged in every snapshot; `over_pivot`: score minus the pivot's score, null
without a pivot (Keller et al. 2024, equation 4)."""

QUERY_DROPS = {
    "from_snapshot": pl.String(),
    "to_snapshot": pl.String(),
    **_CELL,
    "drop": pl.Float64(),
}
"""`drop`: score in the earlier snapshot minus score in the later, for queries judged in both
snapshots."""


def query_scores(
    snapshots: Sequence[SnapshotScores], systems: Sequence[str], parameters: EvaluationParameters
) -> pl.DataFrame:
    """Return a table of per-query scores, and their differences from the pivot's scores."""
    core = core_query_ids(snapshots)
    pivot = None if parameters.pivot is None else systems.index(parameters.pivot)
    frames = [pl.DataFrame(schema=QUERY_SCORES)]
    for scores in snapshots:
        present = [i for i in range(len(systems)) if scores.unjudged[i] >= 0]
        reference = (
            np.full_like(scores.values[:, :1], np.nan)
            if pivot is None
            else scores.values[:, [pivot]]
        )
        names = [systems[i] for i in present]
        core_ids = [q for q, key in zip(scores.query_ids, scores.keys, strict=True) if key in core]
        frame = _cross_join(scores.query_ids, names, parameters.measures).with_columns(
            snapshot=pl.lit(scores.snapshot),
            core=pl.col("query_id").is_in(core_ids),
            score=_flatten_to_rows(scores.values[:, present]),
            over_pivot=_flatten_to_rows(
                subtract_with_tolerance(scores.values, reference)[:, present]
            ),
        )
        frames.append(frame.select(list(QUERY_SCORES)))
    return pl.concat(frames)


def query_score_drops(
    snapshots: Sequence[SnapshotScores], systems: Sequence[str], parameters: EvaluationParameters
) -> pl.DataFrame:
    """Return a table with the score drop of each query judged in both snapshots of a pair."""
    frames = [pl.DataFrame(schema=QUERY_DROPS)]
    for a, b in parameters.snapshot_pairs(len(snapshots)):
        common = core_query_ids([snapshots[a], snapshots[b]])
        first, second = snapshots[a].select_queries(common), snapshots[b].select_queries(common)
        both = [i for i in range(len(systems)) if min(first.unjudged[i], second.unjudged[i]) >= 0]
        names = [systems[i] for i in both]
        frame = _cross_join(first.query_ids, names, parameters.measures).with_columns(
            from_snapshot=pl.lit(first.snapshot),
            to_snapshot=pl.lit(second.snapshot),
            drop=_flatten_to_rows(subtract_with_tolerance(first.values, second.values)[:, both]),
        )
        frames.append(frame.select(list(QUERY_DROPS)))
    return pl.concat(frames)


def _cross_join(
    query_ids: Sequence[str], systems: Sequence[str], measures: Sequence[str]
) -> pl.DataFrame:
    """Return all combinations of systems, measures and queries; the query varies fastest."""
    return (
        pl.DataFrame({"system": systems}, schema={"system": pl.String})
        .join(pl.DataFrame({"measure": measures}), how="cross")
        .join(pl.DataFrame({"query_id": query_ids}, schema={"query_id": pl.String}), how="cross")
    )


def _flatten_to_rows(scores: Floats) -> pl.Series:
    """Flatten an array of shape (queries, systems, measures) in the row order of `_cross_join`.

    NaN becomes null.
    """
    return pl.Series(scores.transpose(1, 2, 0).ravel()).fill_nan(None)
