"""The Beta distribution in arrays: distribution function and quantiles.

In: shapes alpha, beta > 0 as float64 arrays. Out: I_x(alpha, beta) by the continued fraction of
DLMF 8.17.22 (modified Lentz evaluation), and its inverse by safeguarded Newton steps. Written out
here so that what is published does not hang on the release of a statistics package.
"""

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

TINY = 1e-300
PRECISION = 1e-13
QUANTILE_PRECISION = 1e-10
MOST_TERMS = 20_000
MOST_STEPS = 200

_log_gamma = np.frompyfunc(math.lgamma, 1, 1)


def log_beta(alpha: Floats, beta: Floats) -> Floats:
    """Logarithm of the Beta function."""
    parts = (alpha, beta, alpha + beta)
    first, second, both = (np.asarray(_log_gamma(part), dtype=np.float64) for part in parts)
    return np.asarray(first + second - both)


def distribution(
    x: Floats, alpha: Floats, beta: Floats, log_of_beta: Floats | None = None
) -> Floats:
    """P(X <= x) for X ~ Beta(alpha, beta), by element; 0 below 0 and 1 above 1.

    Args:
        x: The values.
        alpha: First shapes.
        beta: Second shapes.
        log_of_beta: Logarithms of the Beta function of the shapes, where they are known.
    """
    if log_of_beta is None:
        log_of_beta = log_beta(*map(np.asarray, (alpha, beta)))
    x, alpha, beta, log_of_beta = np.broadcast_arrays(x, alpha, beta, log_of_beta)
    found = _distribution(x.ravel(), alpha.ravel(), beta.ravel(), log_of_beta.ravel())
    return found.reshape(x.shape)


def _distribution(x: Floats, alpha: Floats, beta: Floats, log_of_beta: Floats) -> Floats:
    result = (x >= 1).astype(np.float64)
    inside = np.flatnonzero((x > 0) & (x < 1))
    x, alpha, beta = x[inside], alpha[inside], beta[inside]
    swapped = x > (alpha + 1) / (alpha + beta + 2)
    y = np.where(swapped, 1 - x, x)
    first, second = np.where(swapped, beta, alpha), np.where(swapped, alpha, beta)
    front = np.exp(first * np.log(y) + second * np.log1p(-y) - log_of_beta[inside]) / first
    tail = front * _continued_fraction(y, first, second)
    result[inside] = np.clip(np.where(swapped, 1 - tail, tail), 0.0, 1.0)
    return result


def _continued_fraction(x: Floats, alpha: Floats, beta: Floats) -> Floats:
    """The factor after the front term of I_x, for x below (alpha + 1) / (alpha + beta + 2)."""
    result = np.empty_like(x)
    left = np.arange(len(x))
    ratio = np.ones_like(x)
    inverse = 1 / _away_from_zero(1 - (alpha + beta) * x / (alpha + 1))
    value = inverse.copy()
    for term in range(1, MOST_TERMS):
        twice = alpha + 2 * term
        for weight in (
            term * (beta - term) * x / ((twice - 1) * twice),
            -(alpha + term) * (alpha + beta + term) * x / (twice * (twice + 1)),
        ):
            inverse = 1 / _away_from_zero(1 + weight * inverse)
            ratio = _away_from_zero(1 + weight / ratio)
            value = value * inverse * ratio
        done = np.abs(inverse * ratio - 1) < PRECISION
        if done.any():
            result[left[done]] = value[done]
            keep = ~done
            left, x, alpha, beta = left[keep], x[keep], alpha[keep], beta[keep]
            inverse, ratio, value = inverse[keep], ratio[keep], value[keep]
        if not len(left):
            break
    result[left] = value
    return result


def _away_from_zero(values: Floats) -> Floats:
    return np.where(np.abs(values) < TINY, TINY, values)


def quantile(probability: Floats, alpha: Floats, beta: Floats) -> Floats:
    """The x with P(X <= x) = probability for X ~ Beta(alpha, beta), to 1e-10, by element."""
    log_of_beta = log_beta(*map(np.asarray, (alpha, beta)))
    columns = np.broadcast_arrays(probability, alpha, beta, log_of_beta)
    shape = columns[0].shape
    result = np.empty(columns[0].size)
    p, a, b, log_of_beta = (column.ravel() for column in columns)
    left = np.arange(p.size)
    low, high, x = np.zeros(p.size), np.ones(p.size), a / (a + b)
    for _ in range(MOST_STEPS):
        excess = _distribution(x, a, b, log_of_beta) - p
        low, high = np.where(excess < 0, x, low), np.where(excess < 0, high, x)
        moved = _newton(x, excess, a, b, log_of_beta)
        moved = np.where((moved > low) & (moved < high), moved, (low + high) / 2)
        done = (np.abs(moved - x) < QUANTILE_PRECISION) | (high - low < QUANTILE_PRECISION)
        result[left] = moved
        keep = ~done
        left, p, a, b, log_of_beta = left[keep], p[keep], a[keep], b[keep], log_of_beta[keep]
        low, high, x = low[keep], high[keep], moved[keep]
        if not len(left):
            break
    return result.reshape(shape)


def _newton(x: Floats, excess: Floats, a: Floats, b: Floats, log_of_beta: Floats) -> Floats:
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        density = np.exp((a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - log_of_beta)
        return np.asarray(x - excess / density)
