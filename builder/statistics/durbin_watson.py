"""The Durbin-Watson test of the independence of residuals, with its exact p-value.

In: times, weights and residuals of a weighted least squares line. Out: the statistic
d = sum (e_i - e_{i-1})^2 / sum e_i^2 (Durbin and Watson 1951) and P(d <= observed) under
independent normal errors whose variances are proportional to 1 / weight.

P(d <= x) = P(e'(A - xI)e <= 0), a quadratic form in normal variables, whose characteristic
function is inverted numerically (Gil-Pelaez 1951; Imhof 1961). Residuals e are normal with
precision P restricted to C'e = 0, so that, with G = A - xI and K(u) = P - 2iuG,

    phi(u) = (det K(u) det(C'K(u)^-1 C) / (det P det(C'P^-1 C)))^(-1/2).

K is tridiagonal: one pass over the n batches gives both determinants for all u at once, without
the n x n eigenvalue problem. Every pivot has a positive real part, therefore the sum of principal
logarithms is the right branch. The integral over u runs on a logarithmic grid, on which the
trapezoidal rule converges geometrically; no table, no simulation, no random number.
"""

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Vector: TypeAlias = npt.NDArray[np.float64]
ComplexVector: TypeAlias = npt.NDArray[np.complex128]

STEP = 1 / 24
"""Distance of the nodes in log u: the error is about exp(-2 pi * strip / STEP)."""
NODES_PER_BLOCK = 384
NEGLIGIBLE = 1e-17
LONGEST_GRID = 200.0
LEAST_PRECISION = 1e-15
"""Share of the largest precision below which an error has its limiting, boundless variance."""
FEWEST_RESIDUALS = 4


@dataclass(frozen=True, slots=True)
class Independence:
    """The Durbin-Watson test.

    Args:
        statistic: d in [0, 4]; 2 says no first-order correlation.
        p: Two-sided p-value; null below 4 batches, where d cannot vary.
        p_positive: One-sided p-value against positive correlation (small d).
    """

    statistic: float
    p: float | None
    p_positive: float | None


def durbin_watson(residuals: Vector, precision: Vector, constraint: Vector) -> Independence:
    """Test the residuals of a line for first-order correlation.

    Args:
        residuals: n residuals in order of time, not all zero.
        precision: n inverse variances of the errors, up to a common factor.
        constraint: n x 2 matrix C to whose columns residuals are orthogonal: the design matrix,
            its rows times the weights.
    """
    steps = np.diff(residuals)
    statistic = float(steps @ steps / (residuals @ residuals))
    if len(residuals) < FEWEST_RESIDUALS:
        return Independence(statistic, None, None)
    below = probability_below(statistic, precision, constraint)
    return Independence(statistic, min(1.0, 2.0 * min(below, 1.0 - below)), below)


def probability_below(value: float, precision: Vector, constraint: Vector) -> float:
    """P(d <= value) under independent normal errors.

    Args:
        value: A value of the statistic, in [0, 4].
        precision: n >= 4 inverse variances, up to a common factor.
        constraint: n x 2 matrix of full rank.
    """
    scaled = np.maximum(precision / precision.max(), LEAST_PRECISION)
    basis, _ = np.linalg.qr(constraint)
    start = math.log(NEGLIGIBLE) - math.log(4.0 * float(np.sum(1.0 / scaled)))
    total, first = 0.0, 0
    while first * STEP < LONGEST_GRID:
        nodes = np.exp(start + STEP * np.arange(first, first + NODES_PER_BLOCK))
        phi = np.exp(_log_characteristic(nodes, value, scaled, basis))
        total += float(phi.imag.sum())
        first += NODES_PER_BLOCK
        if abs(phi[-1]) < NEGLIGIBLE:
            break
    return min(1.0, max(0.0, 0.5 - STEP * total / math.pi))


def _log_characteristic(
    nodes: Vector, value: float, precision: Vector, basis: Vector
) -> ComplexVector:
    """Logarithm of phi at positive arguments."""
    log_k, log_s = _log_determinants(nodes, value, precision, basis)
    zero = np.zeros(1)
    log_k0, log_s0 = _log_determinants(zero, value, precision, basis)
    result: ComplexVector = -0.5 * (log_k + log_s - log_k0 - log_s0)
    return result


def _log_determinants(
    nodes: Vector, value: float, precision: Vector, basis: Vector
) -> tuple[ComplexVector, ComplexVector]:
    """Log det K and log det(C'K^-1 C) at each node, by one LDL' pass over the batches."""
    last = len(precision) - 1
    off = 2j * nodes
    log_k = np.zeros(len(nodes), dtype=np.complex128)
    s00, s01, s11 = np.zeros_like(log_k), np.zeros_like(log_k), np.zeros_like(log_k)
    pivot, y0, y1 = np.ones_like(log_k), np.zeros_like(log_k), np.zeros_like(log_k)
    for i in range(last + 1):
        ratio = off / pivot if i else 0.0 * off
        neighbours = 1.0 if i in {0, last} else 2.0
        pivot = precision[i] - off * (neighbours - value) - ratio * off
        y0, y1 = basis[i, 0] - ratio * y0, basis[i, 1] - ratio * y1
        log_k += np.log(pivot)
        weighted = y0 / pivot
        s00 += weighted * y0
        s01 += weighted * y1
        s11 += y1 * y1 / pivot
    return log_k, np.log(s00) + np.log(s11 - s01 * s01 / s00)
