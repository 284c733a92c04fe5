"""Point estimates of scores, for click models without a closed-form posterior: all except sDBN."""

from dataclasses import dataclass

import numpy as np

from builder.clicks.posterior import Evidence, Floats


@dataclass(frozen=True)
class PointScores:
    """Scores of n groups of pairs with equal counts, with the interface of `Posterior`.

    Args:
        evidence: Counts of each group.
        score: float64[n].
    """

    evidence: Evidence
    score: Floats

    def mean(self) -> Floats:
        """The scores, float64[n]."""
        return self.score

    def interval(self, mass: float) -> tuple[Floats, Floats]:
        """Undefined for point estimates: two arrays of NaN, float64[n]."""
        del mass
        return self._nan(), self._nan()

    def at_least(self, cut: float) -> Floats:
        """P(score >= cut) is undefined for point estimates: NaN, float64[n]."""
        del cut
        return self._nan()

    def _nan(self) -> Floats:
        """NaN for every score, float64[n]."""
        return np.full(len(self.score), np.nan)
