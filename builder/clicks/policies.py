"""Grade policies: scores and their posterior in, grades 0, 1, 2 out.

- `fixed`: the grade is how many of the two cuts the score reaches; cuts never move.
- `target_shares`: cuts under which the first snapshot has given shares of the grades; frozen for
  the snapshots after it, since refitting would erase drift.
- `credible`: as fixed, but a grade 2 needs the posterior to put enough probability above its cut;
  what falls short is a grade 1.

LongEval published no thresholds, only releases whose grades have the shares of `RELEASES`.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from builder.clicks.point_scores import PointScores
from builder.clicks.posterior import DECIMALS, Evidence, Posterior
from builder.clicks.priors import Priors
from builder.parameters import QrelParameters

Floats = npt.NDArray[np.float64]
Grades = npt.NDArray[np.int8]
Integers = npt.NDArray[np.int64]

RELEASES = {
    "longeval-2023-train": (0.73, 0.21, 0.06),
    "longeval-2024-train": (0.55, 0.30, 0.15),
    "longeval-2025-2022-06": (0.56, 0.21, 0.23),
}
"""Shares of the grades 0, 1, 2 in published releases, as measured on their qrels."""

UNJUDGED = -1
ABOVE_ALL = 2.0


@dataclass(frozen=True)
class Cuts:
    """Least scores of grade 1 and grade 2.

    Args:
        relevant: Least score of grade 1.
        highly: Least score of grade 2.
    """

    relevant: float
    highly: float

    def times(self, factor: float) -> "Cuts":
        """Product of the two cuts."""
        return Cuts(self.relevant * factor, self.highly * factor)


def target_shares(params: QrelParameters) -> tuple[float, float, float]:
    """Target share of each grade, as set in the parameters."""
    return RELEASES[params.shares] if isinstance(params.shares, str) else params.shares


def fit_cuts(scores: Floats, pairs: Integers, shares: tuple[float, float, float]) -> Cuts:
    """Cuts whose grades come nearest to given shares.

    A cut lies half-way between two scores that occur, or just above all of them; of two cuts
    equally near the lower one is taken.

    Args:
        scores: float64[n].
        pairs: int64[n]; pairs with each score.
        shares: Wanted shares of the grades 0, 1 and 2.
    """
    values, inverse = np.unique(scores, return_inverse=True)
    if not len(values):
        return Cuts(ABOVE_ALL, ABOVE_ALL)
    counts = np.bincount(inverse, weights=pairs)
    above = np.append(np.cumsum(counts[::-1])[::-1], 0) / counts.sum()
    candidates = np.concatenate(
        [values[:1], (values[:-1] + values[1:]) / 2, [np.nextafter(values[-1], np.inf)]]
    )
    relevant = int(np.argmin(np.abs(above - (shares[1] + shares[2]))))
    highly = relevant + int(np.argmin(np.abs(above[relevant:] - shares[2])))
    return Cuts(float(candidates[relevant]), float(candidates[highly]))


def assign_grades(posterior: Posterior | PointScores, cuts: Cuts, params: QrelParameters) -> Grades:
    """Grade of each kind of pair, int8[n]; -1 where there is too little evidence.

    Args:
        posterior: Evidence and the score of n kinds of pair; under `credible`, a `Posterior`.
        cuts: Minimum scores of the grades.
        params: Policy, minimum evidence, credibility.
    """
    score = posterior.mean()
    grades = (score >= cuts.relevant).astype(np.int8) + (score >= cuts.highly).astype(np.int8)
    if params.policy == "credible":
        unsure = posterior.at_least(cuts.highly) < params.credibility
        grades = np.where(unsure, np.minimum(grades, 1), grades)
    judged = posterior.evidence.examinations >= params.min_examinations
    return np.where(judged, grades, UNJUDGED).astype(np.int8)


def stability(posterior: Posterior | PointScores, grades: Grades, cuts: Cuts) -> Floats:
    """Posterior probability that the score lies between the cuts of its grade, float64[n].

    nan where the scores are point estimates.
    """
    relevant, highly = posterior.at_least(cuts.relevant), posterior.at_least(cuts.highly)
    return np.round(np.choose(grades, [1 - relevant, relevant - highly, highly]), DECIMALS)


def scores_of(
    evidence: Evidence, priors: Priors | None, score: Floats, params: QrelParameters
) -> Posterior | PointScores:
    """The posterior of sDBN, or the point estimates of a model that has none.

    Args:
        evidence: Counts of n kinds of pair.
        priors: Priors of sDBN; None: the model is another one.
        score: What the model estimates, float64[n].
        params: Which score it is.
    """
    if priors is None:
        return PointScores(evidence, score)
    return Posterior(evidence, priors, params.score == "relevance")
