"""Posterior distribution of sDBN scores: means, credible intervals and tail probabilities.

Attractiveness `a` ~ Beta(alpha_a + clicks, beta_a + skips) and satisfaction `s` ~ Beta(alpha_s +
last clicks, beta_s + other clicks) are independent. The score is `a` or the product `a * s`.
Quantiles and tail probabilities of `a` are exact; those of `a * s` are approximated by using 32
equally likely values of `a` and, for quantiles, of `s`.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt
import scipy

from builder.clicks.priors import BetaPrior, Priors

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

NODES = 32
CHUNK_ROWS = 2**14
PRODUCT_CHUNK = 256
"""Number of rows per batch when computing quantiles of the product `a * s`."""
DECIMALS = 6
MIN_NODE = 1e-300


@dataclass(frozen=True)
class ClickEvidence:
    """Click counts of query-document pairs, stored once per group of pairs with equal counts.

    Args:
        examinations: Number of examinations of each pair in the group, int64[n].
        clicks: Number of clicks on each pair in the group, int64[n]; at most `examinations`.
        last_clicks: Number of last clicks on each pair in the group, int64[n]; at most `clicks`.
    """

    examinations: Integers
    clicks: Integers
    last_clicks: Integers

    def __len__(self) -> int:
        return len(self.clicks)

    def slice_groups(self, groups: slice) -> Self:
        """Return the click counts of a slice of the groups."""
        return type(self)(self.examinations[groups], self.clicks[groups], self.last_clicks[groups])


@dataclass(frozen=True)
class ScorePosterior:
    """Posterior distributions of the scores of n groups of query-document pairs.

    Args:
        evidence: Click counts of each group.
        priors: Beta priors of `a` and `s`.
        by_relevance: Whether the score is relevance (`a * s`) rather than attractiveness (`a`).
    """

    evidence: ClickEvidence
    priors: Priors
    by_relevance: bool

    def mean(self) -> Floats:
        """Return the posterior mean of each score, float64[n]; NaN for groups never examined."""
        alpha, beta = self._attractiveness_posterior()
        score = alpha / (alpha + beta)
        if self.by_relevance:
            alpha, beta = self._satisfaction_posterior()
            score = score * (alpha / (alpha + beta))
        return np.where(self.evidence.examinations > 0, score, np.nan)

    def credible_interval(self, mass: float) -> tuple[Floats, Floats]:
        """Return the bounds of credible intervals with probability `mass`, float64[n] each."""
        tail = (1 - mass) / 2
        if not self.by_relevance:
            alpha, beta = self._attractiveness_posterior()
            low, high = scipy.special.betaincinv(alpha, beta, np.array([[tail], [1 - tail]]))
            return np.round(low, DECIMALS), np.round(high, DECIMALS)
        ends = [chunk._product_quantiles([tail, 1 - tail]) for chunk in self._split_into_chunks()]
        low, high = np.concatenate([np.empty((2, 0)), *ends], axis=1)
        return np.round(low, DECIMALS), np.round(high, DECIMALS)

    def probability_at_least(self, threshold: float) -> Floats:
        """Return P(score >= threshold) of each group, float64[n]."""
        if not self.by_relevance:
            alpha, beta = self._attractiveness_posterior()
            return np.round(1 - scipy.special.betainc(alpha, beta, min(threshold, 1.0)), DECIMALS)
        tails = [
            chunk._product_probability_at_least(threshold) for chunk in self._split_into_chunks()
        ]
        return np.round(np.concatenate([np.empty(0), *tails]), DECIMALS)

    def _attractiveness_posterior(self) -> tuple[Floats, Floats]:
        """Return alpha and beta of the posterior of attractiveness, float64[n] each."""
        counts = self.evidence
        return _posterior_parameters(self.priors.attractiveness, counts.clicks, counts.examinations)

    def _satisfaction_posterior(self) -> tuple[Floats, Floats]:
        """Return alpha and beta of the posterior of satisfaction, float64[n] each."""
        counts = self.evidence
        return _posterior_parameters(self.priors.satisfaction, counts.last_clicks, counts.clicks)

    def _split_into_chunks(self) -> list[Self]:
        """Split the posterior into consecutive chunks of at most `CHUNK_ROWS` groups."""
        starts = range(0, len(self.evidence), CHUNK_ROWS)
        return [
            replace(self, evidence=self.evidence.slice_groups(slice(start, start + CHUNK_ROWS)))
            for start in starts
        ]

    def _product_quantiles(self, probabilities: list[float]) -> Floats:
        """Return quantiles of attractiveness x satisfaction, float64[len(probabilities), n]."""
        a, s = (
            _beta_quantile_grid(*self._attractiveness_posterior()),
            _beta_quantile_grid(*self._satisfaction_posterior()),
        )
        found = np.empty((len(probabilities), len(a)))
        for start in range(0, len(a), PRODUCT_CHUNK):
            rows = slice(start, start + PRODUCT_CHUNK)
            products = (a[rows, :, None] * s[rows, None, :]).reshape(-1, NODES * NODES)
            found[:, rows] = np.quantile(products, probabilities, axis=1, method="hazen")
        return found

    def _product_probability_at_least(self, cut: float) -> Floats:
        """Return P(attractiveness x satisfaction >= cut), float64[n]."""
        nodes = np.maximum(_beta_quantile_grid(*self._attractiveness_posterior()), MIN_NODE)
        alpha, beta = self._satisfaction_posterior()
        below = scipy.special.betainc(alpha[:, None], beta[:, None], np.minimum(cut / nodes, 1.0))
        return np.asarray(1 - below.mean(axis=1))


def _posterior_parameters(
    prior: BetaPrior, successes: Integers, trials: Integers
) -> tuple[Floats, Floats]:
    """Return alpha and beta of each Beta posterior, given the prior and counts, float64[n] each."""
    return (
        successes.astype(np.float64) + prior.alpha,
        (trials - successes).astype(np.float64) + prior.beta,
    )


def _beta_quantile_grid(alpha: Floats, beta: Floats) -> Floats:
    """Return `NODES` equally likely values of each Beta(alpha, beta).

    Each distribution is split into slices of equal probability, represented by their medians.

    Returns:
        float64[n, NODES]; one row per distribution and one column per slice.
    """
    middles = (np.arange(NODES) + 0.5) / NODES
    return np.asarray(scipy.special.betaincinv(alpha[:, None], beta[:, None], middles))
