"""Beta priors of click model parameters: fixed, or fitted to the snapshot by empirical Bayes.

The fit maximizes the beta-binomial likelihood (Minka 2000, "Estimating a Dirichlet distribution",
section 3) times a weak log-normal prior on alpha + beta, which matters if there are few pairs, or
if most pairs were examined only once.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MIN_PAIRS = 10
"""Minimum number of pairs for a fit; with fewer pairs, the prior is uniform."""

STRENGTH_BOUNDS = (0.02, 10_000.0)
"""Bounds of alpha + beta in a fit; the likelihood may increase as they tend to 0 or infinity."""

PRIOR_LOG_STRENGTH, PRIOR_LOG_STRENGTH_SD = float(np.log(4.0)), 1.5
"""Mean and standard deviation of log(alpha + beta) under its prior: 95 % lie between 0.2 and 76
pseudo-counts. Pairs examined once carry no information on alpha + beta; without this prior, the
likelihood of a few hundred pairs is often maximal at a bound, where clicks cannot change grades."""

MAX_ABS_LOGIT = 12.0
MAX_ITERATIONS = 200
TOLERANCE = 1e-10
RELATIVE_ROUNDING = 1e-13
"""Relative rounding error of a sum of logarithms; smaller differences in density are ignored."""
SIGNIFICANT_DIGITS = 6


@dataclass(frozen=True)
class BetaPrior:
    """A Beta prior, given by its pseudo-counts.

    Args:
        alpha: Pseudo-count of successes.
        beta: Pseudo-count of failures.
    """

    alpha: float = 1.0
    beta: float = 1.0

    @property
    def mean(self) -> float:
        """Prior mean, which is also the estimate for a pair without evidence."""
        return self.alpha / (self.alpha + self.beta)


UNIFORM = BetaPrior()


@dataclass(frozen=True)
class Priors:
    """Priors on the sDBN parameters.

    Args:
        attractiveness: Prior on the attractiveness a.
        satisfaction: Prior on the satisfaction s.
    """

    attractiveness: BetaPrior = UNIFORM
    satisfaction: BetaPrior = UNIFORM


class _RisingFactorials:
    """Weighted sum of log rising factorials, as a function of their first factor z.

    The sum is sum_i w_i log(z (z + 1) ... (z + x_i - 1)).

    Args:
        lengths: int64[n]; number of factors x_i of each rising factorial.
        weights: int64[n]; weight w_i of each rising factorial.
    """

    def __init__(self, lengths: Integers, weights: Integers) -> None:
        distinct, inverse = np.unique(lengths, return_inverse=True)
        self._lengths: Floats = distinct.astype(np.float64)
        counts = np.bincount(inverse, weights=weights, minlength=len(distinct))
        self._weights: Floats = counts.astype(np.float64)

    def weighted_log_sum(self, first_factor: float) -> float:
        """Return sum_i w_i log(z (z + 1) ... (z + x_i - 1)), where z is `first_factor`."""
        gammaln = scipy.special.gammaln
        return self._weighted_sum(gammaln(self._lengths + first_factor) - gammaln(first_factor))

    def derivatives(self, first_factor: float) -> tuple[float, float]:
        """Return the first and second derivatives of `weighted_log_sum`."""
        psi, polygamma = scipy.special.psi, scipy.special.polygamma
        first = psi(self._lengths + first_factor) - psi(first_factor)
        second = polygamma(1, self._lengths + first_factor) - polygamma(1, first_factor)
        return self._weighted_sum(first), self._weighted_sum(second)

    def _weighted_sum(self, terms: Floats) -> float:
        """Return the weighted sum of `terms`, one for each distinct number of factors."""
        return float((self._weights * terms).sum())


class _BetaPriorPosterior:
    """Log posterior density of the parameters of a Beta prior, given beta-binomial counts.

    The parameters are given as a point with two coordinates, the logit of the mean and the log of
    alpha + beta.

    Args:
        successes: int64[n]; see `fit_beta`.
        trials: int64[n]; see `fit_beta`.
        pair_counts: int64[n]; number of pairs with these counts.
    """

    def __init__(self, successes: Integers, trials: Integers, pair_counts: Integers) -> None:
        self._factorials = (
            _RisingFactorials(successes, pair_counts),
            _RisingFactorials(trials - successes, pair_counts),
            _RisingFactorials(trials, pair_counts),
        )

    def log_density(self, point: Floats) -> float:
        """Return the log density at a point, up to a constant."""
        alpha, beta = _shape_parameters(point)
        wins, losses, all_ = self._factorials
        far = (point[1] - PRIOR_LOG_STRENGTH) / PRIOR_LOG_STRENGTH_SD
        likelihood = (
            wins.weighted_log_sum(alpha)
            + losses.weighted_log_sum(beta)
            - all_.weighted_log_sum(alpha + beta)
        )
        return likelihood - float(far**2) / 2

    def derivatives(self, point: Floats) -> tuple[Floats, Floats]:
        """Return the gradient (float64[2]) and Hessian (float64[2, 2]) of the log density."""
        alpha, beta = _shape_parameters(point)
        strength = alpha + beta
        mean = alpha / strength
        (d_a, d_aa), (d_b, d_bb), (d_s, d_ss) = (
            factorial.derivatives(shift)
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
        first[1] -= (point[1] - PRIOR_LOG_STRENGTH) / PRIOR_LOG_STRENGTH_SD**2
        second[1, 1] -= 1 / PRIOR_LOG_STRENGTH_SD**2
        return first, jacobian.T @ curve @ jacobian + second


def _shape_parameters(point: Floats) -> tuple[float, float]:
    """Convert a point (logit of the mean, log of alpha + beta) to alpha and beta."""
    mean, strength = 1 / (1 + np.exp(-point[0])), np.exp(point[1])
    return float(mean * strength), float((1 - mean) * strength)


def fit_beta(successes: Integers, trials: Integers, pair_counts: Integers) -> BetaPrior:
    """Fit a Beta prior to counts by maximum a posteriori estimation.

    Args:
        successes: int64[n]; clicks (for attractiveness) or last clicks (for satisfaction).
        trials: int64[n], at least `successes`; examinations (for attractiveness) or clicks (for
            satisfaction).
        pair_counts: int64[n]; number of query-document pairs with these counts.

    Returns:
        The prior, rounded to six significant digits for reproducibility across processors. It is
        uniform if fewer than `MIN_PAIRS` pairs have trials, or if all trials succeeded or all
        failed, because the likelihood then has no maximum.
    """
    seen = trials > 0
    successes, trials, pair_counts = successes[seen], trials[seen], pair_counts[seen]
    total, won = int(trials @ pair_counts), int(successes @ pair_counts)
    if int(pair_counts.sum()) < MIN_PAIRS or won in {0, total}:
        return UNIFORM
    model = _BetaPriorPosterior(successes, trials, pair_counts)
    mean = won / total
    point = _clip_to_bounds(np.array([np.log(mean / (1 - mean)), np.log(2.0)]))
    for _ in range(MAX_ITERATIONS):
        moved = _newton_step(model, point)
        if np.abs(moved - point).max() < TOLERANCE:
            break
        point = moved
    alpha, beta = _shape_parameters(point)
    return BetaPrior(_round_to_significant_digits(alpha), _round_to_significant_digits(beta))


def _newton_step(model: _BetaPriorPosterior, point: Floats) -> Floats:
    """Return the point after a damped Newton step (Levenberg), which never decreases the density.

    Coordinates at a bound stay fixed if the gradient points outwards.
    """
    slope, curve = model.derivatives(point)
    free = _clip_to_bounds(point + np.sign(slope) * TOLERANCE) != point
    if not free.any():
        return point
    slope, curve = slope[free], curve[np.ix_(free, free)]
    least = model.log_density(point)
    least -= RELATIVE_ROUNDING * abs(least)
    damping = max(0.0, float(np.linalg.eigvalsh(curve)[-1]) + 1e-9 * float(np.abs(curve).max()))
    for _ in range(60):
        there = point.copy()
        there[free] += np.linalg.solve(curve - damping * np.eye(len(slope)), -slope)
        there = _clip_to_bounds(there)
        if model.log_density(there) >= least:
            return there
        damping = max(10 * damping, 1e-3 * float(np.abs(curve).max()))
    return point


def _clip_to_bounds(point: Floats) -> Floats:
    """Clip both coordinates of a point to their bounds."""
    low, high = np.log(STRENGTH_BOUNDS)
    return np.array(
        [np.clip(point[0], -MAX_ABS_LOGIT, MAX_ABS_LOGIT), np.clip(point[1], low, high)]
    )


def _round_to_significant_digits(number: float) -> float:
    """Round a number to `SIGNIFICANT_DIGITS` significant digits."""
    return float(f"{number:.{SIGNIFICANT_DIGITS}g}")
