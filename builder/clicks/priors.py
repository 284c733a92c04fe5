"""Beta priors of the click parameters: fixed, or fitted to the snapshot (empirical Bayes).

In: how many pairs had `successes` out of `trials`. Out: the Beta(alpha, beta) that is most likely
after these counts, that is the maximum of the beta-binomial likelihood (Minka 2000, "Estimating a
Dirichlet distribution", section 3) times a weak log-normal prior of alpha + beta, which matters
where pairs are few or were examined once each.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, polygamma, psi

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

LEAST_PAIRS = 10
"""Fewer pairs than this say nothing about a distribution: the uniform prior is used."""

STRENGTH = (0.02, 10_000.0)
"""Bounds of alpha + beta, in pseudo-counts: the likelihood may have no maximum inside."""

LOG_STRENGTH, SPREAD = float(np.log(4.0)), 1.5
"""Mean and standard deviation of the logarithm of alpha + beta before any log was seen: between .2
and 76 pseudo-counts. Pairs that were examined once each say nothing about it, and without this the
likelihood of a few hundred pairs is often greatest at a bound, where no click can move a grade."""

MEAN_LOGIT = 12.0
STEPS = 200
TOLERANCE = 1e-10
NOISE = 1e-13
"""Relative rounding error of a sum of logs: log-likelihoods that differ by less count as equal."""
DIGITS = 6


@dataclass(frozen=True)
class Beta:
    """A Beta prior.

    Args:
        alpha: Pseudo-count of successes.
        beta: Pseudo-count of failures.
    """

    alpha: float = 1.0
    beta: float = 1.0

    @property
    def mean(self) -> float:
        """Prior mean, the estimate of a pair without evidence."""
        return self.alpha / (self.alpha + self.beta)


UNIFORM = Beta()


@dataclass(frozen=True)
class Priors:
    """The priors of sDBN.

    Args:
        attractiveness: Prior of a.
        satisfaction: Prior of s.
    """

    attractiveness: Beta = UNIFORM
    satisfaction: Beta = UNIFORM


class _RisingFactorials:
    """Logarithm of the product of the rising factorials shift (shift + 1) ... (shift + x_i - 1)."""

    def __init__(self, values: Integers, weights: Integers) -> None:
        distinct, inverse = np.unique(values, return_inverse=True)
        self._values: Floats = distinct.astype(np.float64)
        counts = np.bincount(inverse, weights=weights, minlength=len(distinct))
        self._weights: Floats = counts.astype(np.float64)

    def log(self, shift: float) -> float:
        """The logarithm at a shift."""
        return self._sum(gammaln(self._values + shift) - gammaln(shift))

    def slopes(self, shift: float) -> tuple[float, float]:
        """First and second derivative of `log` by the shift."""
        first = psi(self._values + shift) - psi(shift)
        second = polygamma(1, self._values + shift) - polygamma(1, shift)
        return self._sum(first), self._sum(second)

    def _sum(self, terms: Floats) -> float:
        return float((self._weights * terms).sum())


class _BetaBinomial:
    """Log-posterior after counts, with gradient and Hessian, in x = (logit mean, log strength)."""

    def __init__(self, successes: Integers, trials: Integers, pairs: Integers) -> None:
        self._factorials = (
            _RisingFactorials(successes, pairs),
            _RisingFactorials(trials - successes, pairs),
            _RisingFactorials(trials, pairs),
        )

    def value(self, point: Floats) -> float:
        alpha, beta = _from_log_space(point)
        wins, losses, all_ = self._factorials
        far = (point[1] - LOG_STRENGTH) / SPREAD
        return wins.log(alpha) + losses.log(beta) - all_.log(alpha + beta) - float(far**2) / 2

    def derivatives(self, point: Floats) -> tuple[Floats, Floats]:
        alpha, beta = _from_log_space(point)
        strength = alpha + beta
        mean = alpha / strength
        (d_a, d_aa), (d_b, d_bb), (d_s, d_ss) = (
            factorial.slopes(shift)
            for factorial, shift in zip(self._factorials, (alpha, beta, strength), strict=True)
        )
        slope = np.array([d_a - d_s, d_b - d_s])
        curve = np.array([[d_aa - d_ss, -d_ss], [-d_ss, d_bb - d_ss]])
        spread = strength * mean * (1 - mean)
        jacobian = np.array([[spread, alpha], [-spread, beta]])
        bend = spread * (1 - 2 * mean)
        second = slope[0] * np.array([[bend, spread], [spread, alpha]]) + slope[1] * np.array(
            [[-bend, -spread], [-spread, beta]]
        )
        first = jacobian.T @ slope
        first[1] -= (point[1] - LOG_STRENGTH) / SPREAD**2
        second[1, 1] -= 1 / SPREAD**2
        return first, jacobian.T @ curve @ jacobian + second


def _from_log_space(point: Floats) -> tuple[float, float]:
    mean, strength = 1 / (1 + np.exp(-point[0])), np.exp(point[1])
    return float(mean * strength), float((1 - mean) * strength)


def fit_beta(successes: Integers, trials: Integers, pairs: Integers) -> Beta:
    """The Beta prior that is most likely after the counts.

    Args:
        successes: int64[n]; clicks (for a) or last clicks (for s).
        trials: int64[n], at least `successes`; examinations (for a) or clicks (for s).
        pairs: int64[n]; query-document pairs with these counts.

    Returns:
        The prior, rounded to six significant digits so that it does not depend on the processor;
        the uniform one where fewer than ten pairs have evidence, or no trial at all succeeded
        or failed: the likelihood has no maximum there.
    """
    seen = trials > 0
    successes, trials, pairs = successes[seen], trials[seen], pairs[seen]
    total, won = int(trials @ pairs), int(successes @ pairs)
    if int(pairs.sum()) < LEAST_PAIRS or won in {0, total}:
        return UNIFORM
    model = _BetaBinomial(successes, trials, pairs)
    mean = won / total
    point = np.array([np.log(mean / (1 - mean)), np.log(2.0)])
    for _ in range(STEPS):
        moved = _maximise(model, point)
        if np.abs(moved - point).max() < TOLERANCE:
            break
        point = moved
    alpha, beta = _from_log_space(point)
    return Beta(_rounded(alpha), _rounded(beta))


def _maximise(model: _BetaBinomial, point: Floats) -> Floats:
    """One Newton step with Levenberg damping that never makes the point less likely.

    What would leave its bounds stays there, and the step is one of the other coordinate.
    """
    slope, curve = model.derivatives(point)
    free = _bounded(point + np.sign(slope) * TOLERANCE) != point
    if not free.any():
        return point
    slope, curve = slope[free], curve[np.ix_(free, free)]
    least = model.value(point)
    least -= NOISE * abs(least)
    damping = max(0.0, float(np.linalg.eigvalsh(curve)[-1]) + 1e-9 * float(np.abs(curve).max()))
    for _ in range(60):
        there = point.copy()
        there[free] += np.linalg.solve(curve - damping * np.eye(len(slope)), -slope)
        there = _bounded(there)
        if model.value(there) >= least:
            return there
        damping = max(10 * damping, 1e-3 * float(np.abs(curve).max()))
    return point


def _bounded(point: Floats) -> Floats:
    low, high = np.log(STRENGTH)
    return np.array([np.clip(point[0], -MEAN_LOGIT, MEAN_LOGIT), np.clip(point[1], low, high)])


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
