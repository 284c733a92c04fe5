"""Scores of a click model that gives point estimates: grades can be cut, nothing says how sure.

Every model but sDBN is such: its estimates follow from no closed posterior.
"""

from dataclasses import dataclass

import numpy as np

from builder.clicks.posterior import Evidence, Floats


@dataclass(frozen=True)
class PointScores:
    """Scores of n distinct kinds of pair, with the methods of `Posterior`.

    Args:
        evidence: Their counts.
        score: float64[n].
    """

    evidence: Evidence
    score: Floats

    def mean(self) -> Floats:
        """The score, float64[n]."""
        return self.score

    def interval(self, mass: float) -> tuple[Floats, Floats]:
        """No interval exists for point estimates: both bounds are NaN, float64[n]."""
        del mass
        return self._unknown(), self._unknown()

    def at_least(self, cut: float) -> Floats:
        """P(score >= cut) is not known: nan, float64[n]."""
        del cut
        return self._unknown()

    def _unknown(self) -> Floats:
        return np.full(len(self.score), np.nan)
