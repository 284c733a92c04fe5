"""Checks that scores were computed by the same click model and prior.

Under the click model sDBN, the attractiveness of a query-document pair is
(clicks + alpha) / (examinations + alpha + beta). For given counts and attractiveness, this is a
linear equation in alpha and beta, so the prior of a snapshot can be recovered from its scores. The
recovered prior is compared with the prior that the recorded parameters imply: constants, or a prior
fitted to the same counts. A fitted prior that moves because users click less is therefore not
reported; a prior that contradicts the recorded parameters is reported as a change in the click
model.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import duckdb
import numpy as np

from builder.clicks.priors import fit_beta
from builder.drift.checks.outcome import Check, Outcome, undecided_outcome
from builder.drift.checks.parameters import load_recorded_parameters

MIN_DETERMINANT = 1e-9
"""Smallest determinant for which the normal equations are solved."""

MAX_RESIDUAL = 1e-6
"""Maximum residual of the linear sDBN equations, relative to max(1, alpha + beta)."""

MAX_RELATIVE_DIFFERENCE = 1e-3
"""Maximum relative difference between the parameters of two priors that count as equal."""

MIN_PAIRS = 20
"""Minimum number of pairs with scores for concluding that a click model other than the recorded one
was used."""

ATTRACTIVENESS_BY_COUNTS = """
SELECT clicks::BIGINT, examinations::BIGINT, attractiveness, count(*)
FROM {view}
WHERE attractiveness IS NOT NULL AND examinations BETWEEN 1 AND 50 {condition}
GROUP BY ALL ORDER BY ALL
"""

PAIRS_BY_COUNTS = """
SELECT clicks::BIGINT AS successes, examinations::BIGINT AS trials, count(*) AS pairs
FROM click_estimates_{side} GROUP BY ALL ORDER BY ALL
"""

SCORE_FORMULAS = """
SELECT
    count(*),
    count(*) FILTER (abs(score - attractiveness) < 1e-9),
    count(*) FILTER (abs(score - attractiveness * satisfaction) < 1e-9)
FROM {view}
WHERE source = 'click' AND score IS NOT NULL AND attractiveness < 1 AND satisfaction < 1
"""

SIDES = ("from", "to")
DETECTABLE_CHANGE = "any change in the prior or the click model"

ScoreGroup = tuple[int, int, float, int]
"""Clicks, examinations, attractiveness, and number of query-document pairs with these values."""


@dataclass(frozen=True)
class BetaPrior:
    """Beta prior of the attractiveness parameter, given by its shape parameters."""

    alpha: float
    beta: float

    def is_close(self, other: "BetaPrior") -> bool:
        """Whether this prior equals another prior up to `MAX_RELATIVE_DIFFERENCE`."""
        return math.isclose(
            self.alpha, other.alpha, rel_tol=MAX_RELATIVE_DIFFERENCE
        ) and math.isclose(self.beta, other.beta, rel_tol=MAX_RELATIVE_DIFFERENCE)

    def __str__(self) -> str:
        return f"Beta({self.alpha:.3g}, {self.beta:.3g})"


@dataclass(frozen=True)
class SnapshotPriors:
    """Attractiveness prior recovered from scores, and the prior that recorded parameters imply.

    Args:
        pairs: Number of query-document pairs with an attractiveness score.
        prior: Prior recovered from the scores; None if the scores do not follow sDBN.
        model: Recorded click model; None if not recorded.
        implied: Prior that the recorded parameters imply; None if unknown.
        fitted: Whether the prior was fitted to the clicks, according to the recorded parameters.
    """

    pairs: int
    prior: BetaPrior | None
    model: str | None
    implied: BetaPrior | None
    fitted: bool

    @property
    def contradicts_parameters(self) -> bool:
        """Whether the scores contradict the recorded parameters."""
        if self.model == "sdbn" and self.prior is None:
            return self.pairs >= MIN_PAIRS
        return bool(self.prior and self.implied and not self.prior.is_close(self.implied))


def recover_prior_from_scores(score_groups: Sequence[ScoreGroup]) -> BetaPrior | None:
    """Recover the Beta prior of sDBN from click counts and scores, by least squares.

    Args:
        score_groups: Tuples of clicks, examinations, attractiveness, and number of query-document
            pairs with these values.

    Returns:
        The prior; None if the scores do not follow sDBN or do not determine the prior.
    """
    rows = [(a - 1, a, c - a * e, n) for c, e, a, n in score_groups]
    xx, xy, yy, xz, yz = (
        math.fsum(row[i] * row[j] * row[3] for row in rows)
        for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2))
    )
    determinant = xx * yy - xy * xy
    if abs(determinant) < MIN_DETERMINANT:
        return None
    alpha = (xz * yy - yz * xy) / determinant
    beta = (yz * xx - xz * xy) / determinant
    worst = max(abs(alpha * x + beta * y - z) for x, y, z, _ in rows)
    if worst > MAX_RESIDUAL * max(1.0, alpha + beta) or min(alpha, beta) <= 0:
        return None
    return BetaPrior(round(alpha, 6), round(beta, 6))


def check_priors(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Check that the click priors inferred from scores agree with the recorded parameters.

    The priors of both snapshots must also agree with each other, unless each was fitted to the
    clicks of its own snapshot.
    """
    before, after = (_load_snapshot_priors(connection, side) for side in SIDES)
    if not (before.pairs and after.pairs):
        return undecided_outcome(
            "the judgements have no scores, so the priors of the click model cannot be inferred"
        )
    numbers = {"from": asdict(before), "to": asdict(after)}
    for priors, when in ((before, "earlier"), (after, "later")):
        if priors.contradicts_parameters:
            return Outcome(True, _describe_contradiction(priors, when), numbers)
    if before.prior is None and after.prior is None:
        return Outcome(None, "the scores of neither snapshot follow sDBN", numbers)
    if before.prior is None or after.prior is None:
        which = "earlier" if before.prior is None else "later"
        says = f"only the {which} scores differ from sDBN estimates"
        return Outcome(True, f"{says}: the click model changed", numbers)
    says = f"the prior on attractiveness is {before.prior} before and {after.prior} after"
    if before.prior.is_close(after.prior):
        return Outcome(False, says, numbers, DETECTABLE_CHANGE)
    if None in (before.implied, after.implied):
        return Outcome(None, says, numbers, "needs parameters that record how priors are chosen")
    if before.fitted and after.fitted:
        says = f"{says}, each fitted to the clicks of its own snapshot"
        return Outcome(False, says, numbers, DETECTABLE_CHANGE)
    return Outcome(True, f"{says}: the recorded prior changed", numbers)


def _describe_contradiction(priors: SnapshotPriors, snapshot_label: str) -> str:
    if priors.prior is None:
        return (
            f"the {snapshot_label} scores do not match the recorded click model {priors.model}, so "
            "another model must have been used"
        )
    expected = "the prior fitted to the same clicks" if priors.fitted else "the recorded prior"
    return (
        f"the {snapshot_label} scores imply the prior {priors.prior}, but {expected} is "
        f"{priors.implied}, so another click model must have been used"
    )


def _load_snapshot_priors(connection: duckdb.DuckDBPyConnection, side: str) -> SnapshotPriors:
    """Return the recovered and the implied prior of a snapshot.

    Scores come from the click estimates or, if there are none, from the qrels.
    """
    score_groups: list[ScoreGroup] = connection.execute(
        ATTRACTIVENESS_BY_COUNTS.format(view=f"click_estimates_{side}", condition="")
    ).fetchall()
    has_click_estimates = bool(score_groups)
    if not has_click_estimates:
        sql = ATTRACTIVENESS_BY_COUNTS.format(
            view=f"qrels_{side}", condition="AND source = 'click'"
        )
        score_groups = connection.execute(sql).fetchall()
    parameters = load_recorded_parameters(connection, side)
    fitted = parameters.get("clicks.prior") == "empirical_bayes"
    return SnapshotPriors(
        sum(n for *_, n in score_groups),
        recover_prior_from_scores(score_groups),
        parameters.get("clicks.model"),
        _prior_from_parameters(
            connection, side, parameters, has_click_estimates=has_click_estimates
        ),
        fitted,
    )


def _prior_from_parameters(
    connection: duckdb.DuckDBPyConnection,
    side: str,
    parameters: dict[str, Any],
    *,
    has_click_estimates: bool,
) -> BetaPrior | None:
    """Return the prior that the recorded parameters imply; None if it cannot be determined."""
    if parameters.get("clicks.model") != "sdbn":
        return None
    if parameters["clicks.prior"] == "beta":
        return BetaPrior(parameters["clicks.prior_alpha"], parameters["clicks.prior_beta"])
    if not has_click_estimates:
        return None
    columns = connection.execute(PAIRS_BY_COUNTS.format(side=side)).fetchnumpy()
    successes, trials, pairs = (
        np.asarray(columns[name], dtype=np.int64) for name in ("successes", "trials", "pairs")
    )
    fit = fit_beta(successes, trials, pairs)
    return BetaPrior(fit.alpha, fit.beta)


def check_graded_score(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Check that the grades of both snapshots were derived from the same score.

    The score is attractiveness, attractiveness times satisfaction, or another score.
    """
    kinds = []
    for side in SIDES:
        counts = connection.execute(SCORE_FORMULAS.format(view=f"qrels_{side}")).fetchall()[0]
        if not counts[0]:
            return undecided_outcome("the judgements have no scores")
        names = ("attractiveness", "attractiveness x satisfaction")
        kinds.append(
            next((n for n, c in zip(names, counts[1:], strict=True) if c == counts[0]), "another")
        )
    says = f"the graded score is {kinds[0]} before and {kinds[1]} after"
    numbers = {"from": kinds[0], "to": kinds[1]}
    return Outcome(kinds[0] != kinds[1], says, numbers, "any change in the graded score")


CHECKS = (
    Check("priors_stand", "Are click model and priors the same?", check_priors),
    Check("score_is_the_same", "Are grades derived from the same score?", check_graded_score),
)
