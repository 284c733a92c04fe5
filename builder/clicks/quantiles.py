"""Quantiles of many Beta distributions at the same probabilities.

In: shapes alpha, beta > 0, probabilities in order. Out: the values below which X ~ Beta(alpha,
beta) falls with each probability. With t = log(x / (1 - x)) the density is smooth and log-concave
unless a shape is tiny, so what lies between two quantiles is a Gauss-Legendre sum, and only the
lowest one asks for the distribution function. Steps are Halley's on the logarithm of the lesser
tail, which is concave. Tiny shapes, and what does not come to an end, go one by one.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from builder.clicks.beta import distribution, log_beta, quantile
from builder.clicks.stirling import digamma, trigamma

Floats = npt.NDArray[np.float64]

PRECISION = 1e-10
MOST_STEPS = 12
LONGEST_STEP = 8.0
LEAST = 1e-300
SHIFT = 8.0


class _Rule(NamedTuple):
    """How many probabilities are treated.

    Args:
        nodes: Nodes of a sum between two quantiles.
        least: Least shape for which that is exact enough.
        chunk: Distributions whose arrays fit into the processor's cache together.
    """

    nodes: int
    least: float
    chunk: int


FEW = 8
AMONG_FEW, AMONG_MANY = _Rule(30, 1.0, 4096), _Rule(7, 0.1, 512)
"""For fewer probabilities than that, which may lie far from each other, and for as many."""


def quantiles(probabilities: Floats, alpha: Floats, beta: Floats) -> Floats:
    """The x with P(X <= x) = probability for X ~ Beta(alpha, beta), to 1e-9.

    Args:
        probabilities: float64[m], ascending, between 0 and 1.
        alpha: float64[n].
        beta: float64[n].

    Returns:
        float64[n, m].
    """
    if not len(alpha):
        return np.empty((0, len(probabilities)))
    distinct, of = np.unique(alpha + 1j * beta, return_inverse=True)
    shapes = np.stack([distinct.real, distinct.imag])
    rule = AMONG_FEW if len(probabilities) < FEW else AMONG_MANY
    found = np.empty((shapes.shape[1], len(probabilities)))
    apart = shapes.min(axis=0) < rule.least
    rows = np.flatnonzero(~apart)
    for start in range(0, len(rows), rule.chunk):
        some = rows[start : start + rule.chunk]
        found[some], apart[some] = _quantiles(probabilities, shapes[:, some], rule.nodes)
    found[apart] = quantile(probabilities, *shapes[:, apart, np.newaxis])
    return np.maximum.accumulate(found, axis=1).take(of.ravel(), axis=0)


def _quantiles(
    probabilities: Floats, shapes: Floats, nodes: int
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Quantiles of a few distributions, and which of them were not found."""
    alpha, beta = shapes
    density, t = _Density(alpha, beta, nodes), _guess(probabilities, alpha, beta)
    found, left = np.empty(t.shape), np.arange(len(t))
    for _ in range(MOST_STEPS):
        moved = t + density.steps(t, probabilities)
        x, there = _logistic(t), _logistic(moved)
        found[left] = there
        keep = np.abs(there - x).max(axis=1) >= PRECISION
        left, t, density = left[keep], moved[keep], density.of(keep)
        if not len(left):
            break
    is_left = np.zeros(len(found), dtype=np.bool_)
    is_left[left] = True
    return found, is_left


class _Density:
    """The densities of the log odds of some Beta distributions."""

    def __init__(
        self, alpha: Floats, beta: Floats, nodes: int, log_of_beta: Floats | None = None
    ) -> None:
        self._alpha, self._beta, self._nodes = alpha, beta, nodes
        self._log_beta = log_beta(alpha, beta) if log_of_beta is None else log_of_beta

    def of(self, keep: npt.NDArray[np.bool_]) -> "_Density":
        """Those of some of them."""
        return _Density(self._alpha[keep], self._beta[keep], self._nodes, self._log_beta[keep])

    def at(self, t: Floats) -> Floats:
        """The densities at float64[n, ...]."""
        each = (slice(None), *[np.newaxis] * (t.ndim - 1))
        log = -np.log1p(np.exp(-np.abs(t)))
        x, rest = np.minimum(t, 0) + log, np.minimum(-t, 0) + log
        exponent = self._alpha[each] * x + self._beta[each] * rest - self._log_beta[each]
        return np.asarray(np.exp(exponent))

    def steps(self, t: Floats, probabilities: Floats) -> Floats:
        """A Halley step on the logarithm of the lesser tail towards each quantile."""
        below = self._below(t)
        is_low = probabilities <= 0.5
        tail = np.maximum(np.where(is_low, below, 1 - below), LEAST)
        wanted = np.where(is_low, probabilities, 1 - probabilities)
        x = _logistic(t)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            hazard = np.where(is_low, 1.0, -1.0) * self.at(t) / tail
            newton = np.log(wanted / tail) / hazard
            bend = self._alpha[:, None] * (1 - x) - self._beta[:, None] * x - hazard
            steps = newton / np.clip(1 + newton * bend / 2, 0.5, 2.0)
        return np.clip(np.nan_to_num(steps), -LONGEST_STEP, LONGEST_STEP)

    def _below(self, t: Floats) -> Floats:
        """P(T <= t): that of the lowest, and what lies between it and the others."""
        nodes, weights = _legendre(self._nodes)
        half, middle = np.diff(t, axis=1) / 2, (t[:, 1:] + t[:, :-1]) / 2
        between = self.at(middle[:, :, None] + half[:, :, None] * nodes) @ weights * half
        lowest = distribution(_logistic(t[:, 0]), self._alpha, self._beta, self._log_beta)
        return np.cumsum(np.concatenate([lowest[:, None], between], axis=1), axis=1)


@cache
def _legendre(nodes: int) -> tuple[Floats, Floats]:
    """Nodes and weights of a Gauss-Legendre sum."""
    places, weights = np.polynomial.legendre.leggauss(nodes)
    return np.asarray(places), np.asarray(weights)


def _logistic(t: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-t)))


def _guess(probabilities: Floats, alpha: Floats, beta: Floats) -> Floats:
    """Log odds by the first terms of their Cornish-Fisher expansion."""
    (mean_a, variance_a, third_a), (mean_b, variance_b, third_b) = map(_cumulants, (alpha, beta))
    deviation = np.sqrt(variance_a + variance_b)
    skewness = (third_a - third_b) / deviation**3
    z = _normal_quantiles(probabilities)
    standard = np.maximum.accumulate(z + skewness[:, None] * (z**2 - 1) / 6, axis=1)
    return np.asarray((mean_a - mean_b)[:, None] + deviation[:, None] * standard)


def _cumulants(shape: Floats) -> tuple[Floats, Floats, Floats]:
    """The first three cumulants of the logarithm of a Gamma variable (DLMF 5.11, 5.15)."""
    below = shape[:, None] + np.arange(SHIFT)
    x = shape + SHIFT
    first = digamma(x) - (1 / below).sum(axis=1)
    second = trigamma(x) + (1 / below**2).sum(axis=1)
    third = -1 / x**2 - 1 / x**3 - 1 / (2 * x**4) - (2 / below**3).sum(axis=1)
    return first, second, third


def _normal_quantiles(probabilities: Floats) -> Floats:
    """About the standard normal quantiles: 4.5e-4 (Abramowitz & Stegun 26.2.23)."""
    t = np.sqrt(-2 * np.log(np.minimum(probabilities, 1 - probabilities)))
    over = 2.515517 + 0.802853 * t + 0.010328 * t**2
    under = 1 + 1.432788 * t + 0.189269 * t**2 + 0.001308 * t**3
    return np.asarray(np.where(probabilities < 0.5, -1, 1) * (t - over / under))
