"""Grading policies, which convert scores and their posteriors to grades 0, 1 and 2.

- `fixed`: the grade is the number of fixed cuts that the score reaches.
- `target_shares`: the cuts are fitted to target proportions of the grades on the first snapshot
  and reused on all later ones, because refitting would hide drift.
- `credible`: like `fixed`, but grade 2 requires sufficient posterior probability above its cut;
  otherwise the grade is 1.

LongEval did not publish its cuts; `RELEASE_SHARES` has the proportions of grades in its releases.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from builder.clicks.point_scores import PointEstimates
from builder.clicks.posterior import DECIMALS, ClickEvidence, ScorePosterior
from builder.clicks.priors import Priors
from builder.parameters import QrelParameters

Floats = npt.NDArray[np.float64]
Grades = npt.NDArray[np.int8]
Integers = npt.NDArray[np.int64]

RELEASE_SHARES = {
    "longeval-2023-train": (0.73, 0.21, 0.06),
    "longeval-2024-train": (0.55, 0.30, 0.15),
    "longeval-2025-2022-06": (0.56, 0.21, 0.23),
}
"""Proportions of grades 0, 1 and 2 in the qrels of published releases."""

UNJUDGED = -1
ABOVE_ALL = 2.0


@dataclass(frozen=True)
class GradeThresholds:
    """Minimum score of each grade.

    Args:
        relevant: Minimum score of grade 1.
        highly_relevant: Minimum score of grade 2.
    """

    relevant: float
    highly_relevant: float

    def scale(self, factor: float) -> "GradeThresholds":
        """Return a copy with all minimum scores multiplied by a factor."""
        return GradeThresholds(self.relevant * factor, self.highly_relevant * factor)


def target_grade_shares(params: QrelParameters) -> tuple[float, float, float]:
    """Return the configured target proportions of grades 0, 1 and 2."""
    return RELEASE_SHARES[params.shares] if isinstance(params.shares, str) else params.shares


def fit_thresholds(
    scores: Floats, pair_counts: Integers, shares: tuple[float, float, float]
) -> GradeThresholds:
    """Return the cuts for which the proportions of grades are closest to the targets.

    Each cut lies halfway between two adjacent scores, or just above the highest one. Ties are
    broken in favor of the lower cut.

    Args:
        scores: Scores of n groups of query-document pairs, float64[n].
        pair_counts: Number of pairs with each score, int64[n].
        shares: Target proportions of grades 0, 1 and 2.
    """
    values, inverse = np.unique(scores, return_inverse=True)
    if not len(values):
        return GradeThresholds(ABOVE_ALL, ABOVE_ALL)
    counts = np.bincount(inverse, weights=pair_counts)
    above = np.append(np.cumsum(counts[::-1])[::-1], 0) / counts.sum()
    candidates = np.concatenate(
        [values[:1], (values[:-1] + values[1:]) / 2, [np.nextafter(values[-1], np.inf)]]
    )
    relevant = int(np.argmin(np.abs(above - (shares[1] + shares[2]))))
    highly = relevant + int(np.argmin(np.abs(above[relevant:] - shares[2])))
    return GradeThresholds(float(candidates[relevant]), float(candidates[highly]))


def assign_grades(
    posterior: ScorePosterior | PointEstimates, thresholds: GradeThresholds, params: QrelParameters
) -> Grades:
    """Return the relevance grade of each group of query-document pairs with the same evidence.

    Args:
        posterior: Evidence and scores of n groups. Point estimates are sufficient unless the policy
            is `credible`, which requires a `ScorePosterior`.
        thresholds: Minimum score of each grade.
        params: Policy, minimum number of examinations and, for the policy `credible`, minimum
            posterior probability of grade 2.

    Returns:
        int8[n]; -1 for groups with too few examinations.
    """
    score = posterior.mean()
    grades = (score >= thresholds.relevant).astype(np.int8) + (
        score >= thresholds.highly_relevant
    ).astype(np.int8)
    if params.policy == "credible":
        unsure = posterior.probability_at_least(thresholds.highly_relevant) < params.credibility
        grades = np.where(unsure, np.minimum(grades, 1), grades)
    judged = posterior.evidence.examinations >= params.min_examinations
    return np.where(judged, grades, UNJUDGED).astype(np.int8)


def grade_stability(
    posterior: ScorePosterior | PointEstimates, grades: Grades, thresholds: GradeThresholds
) -> Floats:
    """Return the posterior probability that a score lies between the cuts of its grade, float64[n].

    The probability is NaN for point estimates.
    """
    relevant, highly = (
        posterior.probability_at_least(thresholds.relevant),
        posterior.probability_at_least(thresholds.highly_relevant),
    )
    return np.round(np.choose(grades, [1 - relevant, relevant - highly, highly]), DECIMALS)


def score_distribution(
    evidence: ClickEvidence, priors: Priors | None, score: Floats, params: QrelParameters
) -> ScorePosterior | PointEstimates:
    """Return the posterior of sDBN scores, or the point estimates of any other model.

    Args:
        evidence: Click counts of n groups of query-document pairs.
        priors: Priors of sDBN; None for any other model.
        score: Point estimates of the model, float64[n].
        params: `params.score` selects attractiveness or relevance.
    """
    if priors is None:
        return PointEstimates(evidence, score)
    return ScorePosterior(evidence, priors, params.score == "relevance")
