"""Were scores computed by another rule?

The attractiveness of a pair is (clicks + alpha) / (examinations + alpha + beta). It is linear in
alpha and beta, so that the priors of a snapshot can be read back from its qrels. Priors that are
fitted to each snapshot follow the click rate; fixed ones stay. Priors that do neither were changed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from builder.drift.checks.outcome import Check, Outcome, unknown

SOLVABLE = 1e-9
RESIDUAL = 1e-6
"""Largest deviation from the formula above under which priors were recovered."""

FIXED = 1e-3
"""Relative difference of priors that are the same."""

STRENGTH_RATIO = 1.8
"""Change of alpha + beta that a refit does not make."""

UNSURE = 24.0
"""Over the root of the examinations after the first of each pair: two standard errors of the
difference of two fitted logarithms of alpha + beta, which few pairs cannot tell."""

MEAN_SHIFT = 0.3
"""Difference of the logarithms of prior mean and click rate, later over earlier."""

CELLS = """
SELECT clicks::BIGINT, examinations::BIGINT, attractiveness, count(*)
FROM {view}
WHERE source = 'click' AND attractiveness IS NOT NULL AND examinations BETWEEN 1 AND 50
GROUP BY ALL ORDER BY ALL
"""

SCORE_KIND = """
SELECT
    count(*),
    count(*) FILTER (abs(score - attractiveness) < 1e-9),
    count(*) FILTER (abs(score - attractiveness * satisfaction) < 1e-9)
FROM {view}
WHERE source = 'click' AND score IS NOT NULL AND attractiveness < 1 AND satisfaction < 1
"""

Cell = tuple[int, int, float, int]


@dataclass(frozen=True)
class Prior:
    """A Beta prior read back from scores, with the mean click rate of the same pairs.

    `repeats`: examinations of pairs after the first of each.
    """

    alpha: float
    beta: float
    rate: float
    repeats: int

    @property
    def mean(self) -> float:
        """The prior mean, alpha / (alpha + beta)."""
        return self.alpha / (self.alpha + self.beta)

    @property
    def strength(self) -> float:
        """How many pseudo-counts it is worth, alpha + beta."""
        return self.alpha + self.beta


def recover_prior(cells: Sequence[Cell]) -> Prior | None:
    """Least-squares solution of alpha (a - 1) + beta a = clicks - a examinations.

    Args:
        cells: Clicks, examinations, attractiveness a, and how many pairs have these.

    Returns:
        The prior; None where the scores are not of this form.
    """
    rows = [(a - 1, a, c - a * e, n) for c, e, a, n in cells]
    xx, xy, yy, xz, yz = (
        math.fsum(row[i] * row[j] * row[3] for row in rows)
        for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2))
    )
    determinant = xx * yy - xy * xy
    if abs(determinant) < SOLVABLE:
        return None
    alpha = (xz * yy - yz * xy) / determinant
    beta = (yz * xx - xz * xy) / determinant
    worst = max(abs(alpha * x + beta * y - z) for x, y, z, _ in rows)
    if worst > RESIDUAL * max(1.0, alpha + beta) or min(alpha, beta) <= 0:
        return None
    pairs = sum(n for *_, n in cells)
    rate = math.fsum(c / e * n for c, e, _, n in cells) / pairs
    repeats = sum((e - 1) * n for _, e, _, n in cells)
    return Prior(round(alpha, 6), round(beta, 6), round(rate, 6), repeats)


def priors_stand(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Read the priors of both snapshots back, and compare them with the click rates."""
    before, after = (
        recover_prior(connection.execute(CELLS.format(view=f"qrels_{side}")).fetchall())
        for side in ("from", "to")
    )
    if before is None or after is None:
        return unknown("the judgements carry no scores from which priors can be read back")
    numbers = {"from": vars(before), "to": vars(after)}
    says = (
        f"the prior of attractiveness is Beta({before.alpha:.3g}, {before.beta:.3g}) before and "
        f"Beta({after.alpha:.3g}, {after.beta:.3g}) after, the mean click rate {before.rate:.3f} "
        f"and {after.rate:.3f}"
    )
    found = not _same(before, after) and not _refitted(before, after)
    verdict = ": the click model was changed" if found else ""
    return Outcome(found, says + verdict, numbers)


def _same(before: Prior, after: Prior) -> bool:
    return math.isclose(before.alpha, after.alpha, rel_tol=FIXED) and math.isclose(
        before.beta, after.beta, rel_tol=FIXED
    )


def _refitted(before: Prior, after: Prior) -> bool:
    if not (before.rate and after.rate):
        return False
    change = abs(math.log(after.strength / before.strength))
    unsure = UNSURE / math.sqrt(max(1, min(before.repeats, after.repeats)))
    follows = math.log(after.mean / before.mean) - math.log(after.rate / before.rate)
    return change < math.log(STRENGTH_RATIO) + unsure and abs(follows) < MEAN_SHIFT


def score_is_the_same(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare which quantity is graded: attractiveness, or attractiveness x satisfaction."""
    kinds = []
    for side in ("from", "to"):
        counts = connection.execute(SCORE_KIND.format(view=f"qrels_{side}")).fetchall()[0]
        if not counts[0]:
            return unknown("the judgements carry no scores")
        names = ("attractiveness", "attractiveness x satisfaction")
        kinds.append(
            next((n for n, c in zip(names, counts[1:], strict=True) if c == counts[0]), "another")
        )
    says = f"the graded score is {kinds[0]} before and {kinds[1]} after"
    return Outcome(kinds[0] != kinds[1], says, {"from": kinds[0], "to": kinds[1]})


CHECKS = (
    Check("priors_stand", "Does the click model start from the same priors?", priors_stand),
    Check("score_is_the_same", "Is the same score cut into grades?", score_is_the_same),
)
