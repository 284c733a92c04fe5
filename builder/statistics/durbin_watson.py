"""Durbin-Watson test of the independence of residuals, with an exact p-value.

Computes the statistic d = sum (e_i - e_{i-1})^2 / sum e_i^2 (Durbin and Watson 1951) of the
residuals of a weighted least squares line, and P(d <= observed) under independent normal errors
whose variances are proportional to 1 / weight.

P(d <= x) = P(e'(A - xI)e <= 0), a quadratic form in normal variables, whose characteristic
function is inverted numerically (Gil-Pelaez 1951; Imhof 1961). Residuals e are normal with
precision P restricted to C'e = 0, so that, with G = A - xI and K(u) = P - 2iuG,

    phi(u) = (det K(u) det(C'K(u)^-1 C) / (det P det(C'P^-1 C)))^(-1/2).

K is tridiagonal, so a single pass over the n residuals computes both determinants for all u,
without solving an n x n eigenvalue problem. Every pivot has a positive real part, so the sum of
principal logarithms is on the correct branch. The integral over u uses a logarithmic grid, on which
the trapezoidal rule converges geometrically.
"""

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Vector: TypeAlias = npt.NDArray[np.float64]
ComplexVector: TypeAlias = npt.NDArray[np.complex128]

STEP = 1 / 24
"""Distance in log u between nodes of the integration grid.

The integration error decreases exponentially with 1 / STEP.
"""
NODES_PER_BLOCK = 384
NEGLIGIBLE = 1e-17
MAX_GRID_LENGTH = 200.0
MIN_PRECISION = 1e-15
"""Minimum precision (inverse variance of an error), as a fraction of the largest precision."""
MIN_RESIDUALS = 4


@dataclass(frozen=True, slots=True)
class DurbinWatsonTest:
    """Result of a Durbin-Watson test.

    Args:
        statistic: d in [0, 4]; 2 means no first-order autocorrelation.
        p: Two-sided p-value; None for fewer than 4 residuals, for which d is constant.
        p_positive: One-sided p-value for the alternative of positive autocorrelation (small d);
            None if `p` is None.
    """

    statistic: float
    p: float | None
    p_positive: float | None


def durbin_watson(residuals: Vector, precision: Vector, constraint: Vector) -> DurbinWatsonTest:
    """Test the residuals of a line for first-order autocorrelation.

    Args:
        residuals: n residuals in chronological order, not all zero.
        precision: n inverse variances of the errors, up to a common factor.
        constraint: n x 2 matrix C whose columns are orthogonal to the residuals, which is the
            design matrix with its rows multiplied by the weights.
    """
    steps = np.diff(residuals)
    statistic = float(steps @ steps / (residuals @ residuals))
    if len(residuals) < MIN_RESIDUALS:
        return DurbinWatsonTest(statistic, None, None)
    below = durbin_watson_cdf(statistic, precision, constraint)
    return DurbinWatsonTest(statistic, min(1.0, 2.0 * min(below, 1.0 - below)), below)


def durbin_watson_cdf(statistic: float, precision: Vector, constraint: Vector) -> float:
    """Compute P(d <= statistic) for the Durbin-Watson d under independent normal errors.

    Args:
        statistic: Value of d, in [0, 4].
        precision: n >= 4 inverse variances, up to a common factor.
        constraint: n x 2 matrix of full rank, as for `durbin_watson`.
    """
    scaled = np.maximum(precision / precision.max(), MIN_PRECISION)
    basis, _ = np.linalg.qr(constraint)
    start = math.log(NEGLIGIBLE) - math.log(4.0 * float(np.sum(1.0 / scaled)))
    total, first = 0.0, 0
    while first * STEP < MAX_GRID_LENGTH:
        nodes = np.exp(start + STEP * np.arange(first, first + NODES_PER_BLOCK))
        phi = np.exp(_log_characteristic_function(nodes, statistic, scaled, basis))
        total += float(phi.imag.sum())
        first += NODES_PER_BLOCK
        if abs(phi[-1]) < NEGLIGIBLE:
            break
    return min(1.0, max(0.0, 0.5 - STEP * total / math.pi))


def _log_characteristic_function(
    nodes: Vector, statistic: float, precision: Vector, basis: Vector
) -> ComplexVector:
    """Compute the log characteristic function log phi(u) for each node u (see module docstring)."""
    log_k, log_s = _log_determinants(nodes, statistic, precision, basis)
    zero = np.zeros(1)
    log_k0, log_s0 = _log_determinants(zero, statistic, precision, basis)
    result: ComplexVector = -0.5 * (log_k + log_s - log_k0 - log_s0)
    return result


def _log_determinants(
    nodes: Vector, statistic: float, precision: Vector, basis: Vector
) -> tuple[ComplexVector, ComplexVector]:
    """Compute log det K(u) and log det C'K(u)^-1 C for each node u (see the module docstring)."""
    last = len(precision) - 1
    off = 2j * nodes
    log_k = np.zeros(len(nodes), dtype=np.complex128)
    s00, s01, s11 = np.zeros_like(log_k), np.zeros_like(log_k), np.zeros_like(log_k)
    pivot, y0, y1 = np.ones_like(log_k), np.zeros_like(log_k), np.zeros_like(log_k)
    for i in range(last + 1):
        ratio = off / pivot if i else 0.0 * off
        neighbors = 1.0 if i in {0, last} else 2.0
        pivot = precision[i] - off * (neighbors - statistic) - ratio * off
        y0, y1 = basis[i, 0] - ratio * y0, basis[i, 1] - ratio * y1
        log_k += np.log(pivot)
        weighted = y0 / pivot
        s00 += weighted * y0
        s01 += weighted * y1
        s11 += y1 * y1 / pivot
    return log_k, np.log(s00) + np.log(s11 - s01 * s01 / s00)
