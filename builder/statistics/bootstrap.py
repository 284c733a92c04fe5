"""Percentile bootstrap over queries (Efron 1979; Sakai 2006 for retrieval measures).

Computes means over resampled query sets, and percentile intervals of any statistic of these means.

A query is drawn jointly for all snapshots, systems and measures, so resamples preserve the
correlation between systems and between snapshots. The resample of a snapshot contains the drawn
queries that are judged in it, with repetitions.

Draws are the raw output of Philox4x64 with key (seed, stream), converted to indices by exact
arithmetic, and therefore the same on every machine and with every version of NumPy.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]


_BLOCK_CELLS = 2**22


class QueryScores(Protocol):
    """Protocol for the per-query scores of one snapshot, the input of `resampled_means`."""

    @property
    def keys(self) -> Sequence[str]:
        """Key of each query, the same in all snapshots, in the row order of `values`."""

    @property
    def values(self) -> Floats:
        """Scores, shape (queries, systems, measures)."""


def bootstrap_counts(units: int, resamples: int, seed: int, stream: int = 0) -> Iterator[Floats]:
    """Draw bootstrap resamples, and yield how often each unit is drawn in each resample.

    Resamples are drawn in blocks that fit into memory.

    Args:
        units: Number of units, which is also the number of draws per resample; at least 1.
        resamples: Number of resamples.
        seed: First half of the generator's key.
        stream: Second half of the generator's key, for independent draws with the same seed.

    Yields:
        Counts of one block of resamples, shape (resamples in the block, units). All blocks together
        have `resamples` rows; each row sums to `units`.
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
    """Compute the mean scores of each resample of the queries, for each snapshot.

    Args:
        snapshots: Scores of each snapshot, for the same systems and measures.
        resamples: Number of resamples.
        seed: First half of the generator's key.
        stream: Second half of the generator's key, for independent draws with the same seed.

    Returns:
        Array of shape (resamples, systems, measures) for each snapshot; NaN for resamples
        without a judged query of the snapshot, and for all resamples if there are fewer than two
        queries.
    """
    units = sorted({query for scores in snapshots for query in scores.keys})
    means = [np.full((resamples, *scores.values.shape[1:]), np.nan) for scores in snapshots]
    if len(units) < 2:
        return means
    position = {query: index for index, query in enumerate(units)}
    columns = [np.array([position[q] for q in s.keys], dtype=np.int64) for s in snapshots]
    start = 0
    for counts in bootstrap_counts(len(units), resamples, seed, stream):
        stop = start + len(counts)
        for scores, kept, out in zip(snapshots, columns, means, strict=True):
            out[start:stop] = _weighted_means(counts[:, kept], scores.values)
        start = stop
    return means


def _weighted_means(query_counts: Floats, scores: Floats) -> Floats:
    """Compute the weighted mean score of each resample, system and measure."""
    total = query_counts.sum(axis=1)[:, None, None]
    # einsum without BLAS adds in the same order for any number of threads
    sums = np.einsum("bq,qsm->bsm", query_counts, scores, optimize=False)
    means = np.full(sums.shape, np.nan)
    np.divide(sums, total, out=means, where=total > 0)
    return means


def percentile_interval(
    samples: Floats, confidence: float
) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
    """Compute percentile intervals of samples along the first axis, ignoring NaN.

    An interval is NaN if the proportion of NaN among its samples exceeds 1 - confidence.

    Args:
        samples: Samples of shape (resamples, ...); NaN if undefined.
        confidence: Coverage of the intervals, such as 0.95.

    Returns:
        Lower bounds, upper bounds and numbers of defined samples, each of shape (...).
    """
    if not len(samples):
        undefined = np.full(samples.shape[1:], np.nan)
        return undefined, undefined, np.zeros(samples.shape[1:], dtype=np.int64)
    ordered = np.sort(samples, axis=0)
    n_defined = np.asarray((~np.isnan(samples)).sum(axis=0), dtype=np.int64)
    enough = (n_defined > 0) & (n_defined >= confidence * len(samples))
    tail = (1 - confidence) / 2
    low, high = (_interpolated_quantile(ordered, n_defined, q) for q in (tail, 1 - tail))
    return np.where(enough, low, np.nan), np.where(enough, high, np.nan), n_defined


def _interpolated_quantile(
    sorted_samples: Floats, n_defined: npt.NDArray[np.int64], q: float
) -> Floats:
    """Return the `q` quantile of the first `n_defined` values per column, linearly interpolated."""
    position = q * np.maximum(n_defined - 1, 0)
    below = np.floor(position).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(n_defined - 1, 0))
    first = np.take_along_axis(sorted_samples, below[None], axis=0)[0]
    second = np.take_along_axis(sorted_samples, above[None], axis=0)[0]
    return np.asarray(first + (position - below) * (second - first), dtype=np.float64)
