"""Scores of click models that provide no posterior but only point estimates (all except sDBN)."""

from dataclasses import dataclass

import numpy as np

from builder.clicks.posterior import ClickEvidence, Floats


@dataclass(frozen=True)
class PointEstimates:
    """Point estimates of n scores, with the same interface as `ScorePosterior`.

    Args:
        evidence: Click counts of n groups of query-document pairs.
        score: Point estimate of the score of each group, float64[n].
    """

    evidence: ClickEvidence
    score: Floats

    def mean(self) -> Floats:
        """Return the point estimates, float64[n], instead of posterior means."""
        return self.score

    def credible_interval(self, mass: float) -> tuple[Floats, Floats]:
        """Return NaN for both bounds, float64[n]: point estimates have no credible interval."""
        del mass
        return self._nan_per_group(), self._nan_per_group()

    def probability_at_least(self, cut: float) -> Floats:
        """Return NaN, float64[n]: P(score >= cut) is undefined for point estimates."""
        del cut
        return self._nan_per_group()

    def _nan_per_group(self) -> Floats:
        """Return NaN for every group, float64[n]."""
        return np.full(len(self.score), np.nan)
