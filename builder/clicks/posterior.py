"""What the counts leave open: the posterior of a score, its interval and tail probabilities.

In: counts of distinct kinds of evidence and the priors. Given sDBN's reading of the log,
a ~ Beta(alpha_a + clicks, beta_a + skips) and s ~ Beta(alpha_s + last clicks, beta_s + other
clicks) independently. The score a is treated exactly; the score a s on a grid of equally likely
values of both, 32 by 32, which is a fixed stratified sample and so draws no random number.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaincinv

from builder.clicks.priors import Beta, Priors

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

NODES = 32
CHUNK = 2**14
PRODUCTS = 256
"""Kinds of evidence whose quantiles are kept in memory at a time, and whose products."""
DECIMALS = 6
SMALLEST = 1e-300


@dataclass(frozen=True)
class Evidence:
    """Counts of n distinct kinds of pair.

    Args:
        examinations: int64[n].
        clicks: int64[n], at most `examinations`.
        last_clicks: int64[n], at most `clicks`.
    """

    examinations: Integers
    clicks: Integers
    last_clicks: Integers

    def __len__(self) -> int:
        return len(self.clicks)

    def part(self, rows: slice) -> Self:
        """The evidence of some rows."""
        return type(self)(self.examinations[rows], self.clicks[rows], self.last_clicks[rows])


@dataclass(frozen=True)
class Posterior:
    """Posterior of the score of n distinct kinds of pair.

    Args:
        evidence: Their counts.
        priors: Priors of a and s.
        by_relevance: Whether the score is a s, or a alone.
    """

    evidence: Evidence
    priors: Priors
    by_relevance: bool

    def mean(self) -> Floats:
        """Posterior mean of the score, float64[n]; nan where never examined."""
        shapes = self._attractiveness()
        score = shapes[0] / (shapes[0] + shapes[1])
        if self.by_relevance:
            shapes = self._satisfaction()
            score = score * (shapes[0] / (shapes[0] + shapes[1]))
        return np.where(self.evidence.examinations > 0, score, np.nan)

    def interval(self, mass: float) -> tuple[Floats, Floats]:
        """Ends of the central interval that holds the score with probability `mass`."""
        tail = (1 - mass) / 2
        if not self.by_relevance:
            alpha, beta = self._attractiveness()
            low, high = betaincinv(alpha, beta, np.array([[tail], [1 - tail]]))
            return np.round(low, DECIMALS), np.round(high, DECIMALS)
        ends = [part._product_quantiles([tail, 1 - tail]) for part in self._chunks()]
        low, high = np.concatenate([np.empty((2, 0)), *ends], axis=1)
        return np.round(low, DECIMALS), np.round(high, DECIMALS)

    def at_least(self, cut: float) -> Floats:
        """P(score >= cut), float64[n]."""
        if not self.by_relevance:
            alpha, beta = self._attractiveness()
            return np.round(1 - betainc(alpha, beta, min(cut, 1.0)), DECIMALS)
        tails = [part._product_at_least(cut) for part in self._chunks()]
        return np.round(np.concatenate([np.empty(0), *tails]), DECIMALS)

    def _attractiveness(self) -> tuple[Floats, Floats]:
        counts = self.evidence
        return _updated(self.priors.attractiveness, counts.clicks, counts.examinations)

    def _satisfaction(self) -> tuple[Floats, Floats]:
        counts = self.evidence
        return _updated(self.priors.satisfaction, counts.last_clicks, counts.clicks)

    def _chunks(self) -> list[Self]:
        starts = range(0, len(self.evidence), CHUNK)
        return [
            replace(self, evidence=self.evidence.part(slice(start, start + CHUNK)))
            for start in starts
        ]

    def _product_quantiles(self, probabilities: list[float]) -> Floats:
        a, s = _nodes(*self._attractiveness()), _nodes(*self._satisfaction())
        found = np.empty((len(probabilities), len(a)))
        for start in range(0, len(a), PRODUCTS):
            some = slice(start, start + PRODUCTS)
            products = (a[some, :, None] * s[some, None, :]).reshape(-1, NODES * NODES)
            found[:, some] = np.quantile(products, probabilities, axis=1, method="hazen")
        return found

    def _product_at_least(self, cut: float) -> Floats:
        nodes = np.maximum(_nodes(*self._attractiveness()), SMALLEST)
        alpha, beta = self._satisfaction()
        below = betainc(alpha[:, None], beta[:, None], np.minimum(cut / nodes, 1.0))
        return np.asarray(1 - below.mean(axis=1))


def _updated(prior: Beta, successes: Integers, trials: Integers) -> tuple[Floats, Floats]:
    return (
        successes.astype(np.float64) + prior.alpha,
        (trials - successes).astype(np.float64) + prior.beta,
    )


def _nodes(alpha: Floats, beta: Floats) -> Floats:
    """Medians of NODES equally likely slices of Beta(alpha, beta), float64[n, NODES]."""
    middles = (np.arange(NODES) + 0.5) / NODES
    return np.asarray(betaincinv(alpha[:, None], beta[:, None], middles))
