"""Percentile bootstrap over queries (Efron 1979; Sakai 2006 for retrieval measures).

In: per-query scores of one or several snapshots. Out: the means of resampled query sets, and
percentile intervals of anything computed from them.

A query is drawn with everything it has: its scores in every snapshot, of every system, under every
measure. So resamples keep the correlation of systems and of times, as the data do. A snapshot's
resample holds the drawn queries that are judged in it, each as often as it was drawn.

The draws are the raw output of Philox4x64 keyed by (seed, stream), turned into positions by exact
arithmetic: the same on every machine and for every version of the library.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]


_BLOCK_CELLS = 2**22


class QueryScores(Protocol):
    """Scores of the queries of one snapshot: ids, and an array (queries, systems, measures)."""

    @property
    def query_ids(self) -> Sequence[str]:
        """Ids of the queries, in the order of the rows."""

    @property
    def values(self) -> Floats:
        """Scores, shape (queries, systems, measures)."""


def draw_counts(units: int, resamples: int, seed: int, stream: int = 0) -> Iterator[Floats]:
    """How often each unit is drawn in each resample, in blocks of bounded size.

    Args:
        units: Units to draw from, and draws per resample; at least 1.
        resamples: Number of resamples.
        seed: First half of the generator's key.
        stream: Second half of the key, to keep independent draws apart.

    Yields:
        Counts of shape (block, units); blocks add up to `resamples` rows, rows to `units`.
    """
    generator = np.random.Philox(key=np.array([seed, stream], dtype=np.uint64))
    block = max(1, _BLOCK_CELLS // units)
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        raw = generator.random_raw(rows * units) >> np.uint64(11)
        drawn = (raw.astype(np.float64) * 2.0**-53 * units).astype(np.int64).reshape(rows, units)
        cells = drawn + np.arange(rows)[:, None] * units
        counts = np.bincount(cells.ravel(), minlength=rows * units).reshape(rows, units)
        yield counts.astype(np.float64)


def resampled_means(
    snapshots: Sequence[QueryScores], resamples: int, seed: int, stream: int = 0
) -> list[Floats]:
    """Means over resampled queries.

    Args:
        snapshots: Scores, with the same systems and measures in each.
        resamples: Number of resamples.
        seed: Key of the generator.
        stream: Second half of the key.

    Returns:
        For each snapshot an array (resamples, systems, measures); NaN where a resample holds no
        judged query of the snapshot, and throughout where there are fewer than two queries.
    """
    units = sorted({query for scores in snapshots for query in scores.query_ids})
    means = [np.full((resamples, *scores.values.shape[1:]), np.nan) for scores in snapshots]
    if len(units) < 2:
        return means
    position = {query: index for index, query in enumerate(units)}
    columns = [np.array([position[q] for q in s.query_ids], dtype=np.int64) for s in snapshots]
    start = 0
    for counts in draw_counts(len(units), resamples, seed, stream):
        stop = start + len(counts)
        for scores, kept, out in zip(snapshots, columns, means, strict=True):
            out[start:stop] = _weighted_means(counts[:, kept], scores.values)
        start = stop
    return means


def _weighted_means(weights: Floats, values: Floats) -> Floats:
    """Weighted means over queries: (resamples, queries) x (queries, systems, measures)."""
    total = weights.sum(axis=1)[:, None, None]
    # einsum without a BLAS call adds in one fixed order, whatever the number of threads
    sums = np.einsum("bq,qsm->bsm", weights, values, optimize=False)
    means = np.full(sums.shape, np.nan)
    np.divide(sums, total, out=means, where=total > 0)
    return means


def percentile_interval(
    samples: Floats, confidence: float
) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
    """Percentile intervals along the first axis, over the resamples that have a value.

    An interval is NaN when a larger share of the resamples than 1 - confidence has no value: its
    ends would then be a guess.

    Args:
        samples: Shape (resamples, ...); NaN where a resample has no value.
        confidence: Coverage, such as 0.95.

    Returns:
        Lower ends, upper ends and numbers of resamples with a value, of the trailing shape.
    """
    if not len(samples):
        nothing = np.full(samples.shape[1:], np.nan)
        return nothing, nothing, np.zeros(samples.shape[1:], dtype=np.int64)
    ordered = np.sort(samples, axis=0)
    defined = np.asarray((~np.isnan(samples)).sum(axis=0), dtype=np.int64)
    enough = (defined > 0) & (defined >= confidence * len(samples))
    tail = (1 - confidence) / 2
    low, high = (_quantile(ordered, defined, share) for share in (tail, 1 - tail))
    return np.where(enough, low, np.nan), np.where(enough, high, np.nan), defined


def _quantile(ordered: Floats, defined: npt.NDArray[np.int64], share: float) -> Floats:
    """Linearly interpolated quantile of the first `defined` values of each column."""
    place = share * np.maximum(defined - 1, 0)
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(defined - 1, 0))
    first = np.take_along_axis(ordered, below[None], axis=0)[0]
    second = np.take_along_axis(ordered, above[None], axis=0)[0]
    return np.asarray(first + (place - below) * (second - first), dtype=np.float64)
