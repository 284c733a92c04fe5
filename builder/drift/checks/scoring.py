"""Were scores computed by another rule?

Under sDBN the attractiveness of a pair is (clicks + alpha) / (examinations + alpha + beta). It is
linear in alpha and beta, so that the prior of a snapshot can be read back from its scores. What the
recorded parameters imply is compared with it: the recorded constants, or, where the prior is
fitted, the fit to the same counts. So a prior that moves because users click less is no change
of the click model; a prior that the recorded parameters do not imply is one.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import duckdb
import numpy as np

from builder.clicks.priors import fit_beta
from builder.drift.checks.outcome import Check, Outcome, unknown
from builder.drift.checks.parameters import recorded

SOLVABLE = 1e-9
RESIDUAL = 1e-6
"""Largest deviation from the formula above under which priors were recovered."""

FIXED = 1e-3
"""Relative difference of priors that are the same."""

FEWEST = 20
"""Pairs from which scores that follow no prior are of another click model."""

CELLS = """
SELECT clicks::BIGINT, examinations::BIGINT, attractiveness, count(*)
FROM {view}
WHERE attractiveness IS NOT NULL AND examinations BETWEEN 1 AND 50 {condition}
GROUP BY ALL ORDER BY ALL
"""

HISTOGRAM = """
SELECT clicks::BIGINT AS successes, examinations::BIGINT AS trials, count(*) AS pairs
FROM click_estimates_{side} WHERE examinations > 0 GROUP BY ALL ORDER BY ALL
"""

SCORE_KIND = """
SELECT
    count(*),
    count(*) FILTER (abs(score - attractiveness) < 1e-9),
    count(*) FILTER (abs(score - attractiveness * satisfaction) < 1e-9)
FROM {view}
WHERE source = 'click' AND score IS NOT NULL AND attractiveness < 1 AND satisfaction < 1
"""

SIDES = ("from", "to")
SEES = "any other prior or click model"

Cell = tuple[int, int, float, int]


@dataclass(frozen=True)
class Prior:
    """A Beta prior."""

    alpha: float
    beta: float

    def is_close(self, other: "Prior") -> bool:
        """Whether both are the same but for rounding."""
        return math.isclose(self.alpha, other.alpha, rel_tol=FIXED) and math.isclose(
            self.beta, other.beta, rel_tol=FIXED
        )

    def __str__(self) -> str:
        return f"Beta({self.alpha:.3g}, {self.beta:.3g})"


@dataclass(frozen=True)
class Scores:
    """How the scores of one snapshot were made.

    Args:
        pairs: Pairs with a score.
        prior: The prior read back; None where the scores follow none.
        model: The recorded click model; None where nothing is recorded.
        implied: The prior that the recorded parameters imply; None where that is not known.
        fitted: Whether the recorded parameters fit the prior to the snapshot.
    """

    pairs: int
    prior: Prior | None
    model: str | None
    implied: Prior | None
    fitted: bool

    @property
    def contradict(self) -> bool:
        """Whether the scores are not what the recorded parameters imply."""
        if self.model == "sdbn" and self.prior is None:
            return self.pairs >= FEWEST
        return bool(self.prior and self.implied and not self.prior.is_close(self.implied))


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
    return Prior(round(alpha, 6), round(beta, 6))


def priors_stand(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Read the priors of both snapshots back, and compare them with what parameters imply."""
    before, after = (_scores(connection, side) for side in SIDES)
    if not (before.pairs and after.pairs):
        return unknown("the judgements carry no scores from which priors can be read back")
    numbers = {"from": asdict(before), "to": asdict(after)}
    for scores, when in ((before, "earlier"), (after, "later")):
        if scores.contradict:
            return Outcome(True, _contradiction(scores, when), numbers)
    if before.prior is None and after.prior is None:
        return Outcome(None, "no score follows a prior of sDBN", numbers)
    if before.prior is None or after.prior is None:
        which = "earlier" if before.prior is None else "later"
        says = f"the {which} scores are not those of sDBN, the others are"
        return Outcome(True, f"{says}: the click model was changed", numbers)
    says = f"the prior of attractiveness is {before.prior} before and {after.prior} after"
    if before.prior.is_close(after.prior):
        return Outcome(False, says, numbers, SEES)
    if None in (before.implied, after.implied):
        return Outcome(None, says, numbers, "no parameters say whether priors are fitted")
    if before.fitted and after.fitted:
        says = f"{says}, each as it is fitted to its own clicks"
        return Outcome(False, says, numbers, SEES)
    return Outcome(True, f"{says}: the recorded prior was changed", numbers)


def _contradiction(scores: Scores, when: str) -> str:
    if scores.prior is None:
        return (
            f"the {when} scores are not those of {scores.model}, which is recorded: the click "
            "model was changed"
        )
    kind = "fitted to the same clicks" if scores.fitted else "recorded"
    return (
        f"the prior of the {when} scores is {scores.prior}, the {kind} one {scores.implied}: "
        "the click model was changed"
    )


def _scores(connection: duckdb.DuckDBPyConnection, side: str) -> Scores:
    """Read a snapshot's scores: those of all estimates, or of its judgements where none are."""
    cells: list[Cell] = connection.execute(
        CELLS.format(view=f"click_estimates_{side}", condition="")
    ).fetchall()
    has_estimates = bool(cells)
    if not has_estimates:
        sql = CELLS.format(view=f"qrels_{side}", condition="AND source = 'click'")
        cells = connection.execute(sql).fetchall()
    parameters = recorded(connection, side)
    fitted = parameters.get("clicks.prior") == "empirical_bayes"
    return Scores(
        sum(n for *_, n in cells),
        recover_prior(cells),
        parameters.get("clicks.model"),
        _implied(connection, side, parameters, has_estimates=has_estimates),
        fitted,
    )


def _implied(
    connection: duckdb.DuckDBPyConnection,
    side: str,
    parameters: dict[str, Any],
    *,
    has_estimates: bool,
) -> Prior | None:
    """The prior that recorded parameters imply; None where they or the counts are missing."""
    if parameters.get("clicks.model") != "sdbn":
        return None
    if parameters["clicks.prior"] == "beta":
        return Prior(parameters["clicks.prior_alpha"], parameters["clicks.prior_beta"])
    if not has_estimates:
        return None
    columns = connection.execute(HISTOGRAM.format(side=side)).fetchnumpy()
    successes, trials, pairs = (
        np.asarray(columns[name], dtype=np.int64) for name in ("successes", "trials", "pairs")
    )
    fit = fit_beta(successes, trials, pairs)
    return Prior(fit.alpha, fit.beta)


def score_is_the_same(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare which quantity is graded: attractiveness, or attractiveness x satisfaction."""
    kinds = []
    for side in SIDES:
        counts = connection.execute(SCORE_KIND.format(view=f"qrels_{side}")).fetchall()[0]
        if not counts[0]:
            return unknown("the judgements carry no scores")
        names = ("attractiveness", "attractiveness x satisfaction")
        kinds.append(
            next((n for n, c in zip(names, counts[1:], strict=True) if c == counts[0]), "another")
        )
    says = f"the graded score is {kinds[0]} before and {kinds[1]} after"
    numbers = {"from": kinds[0], "to": kinds[1]}
    return Outcome(kinds[0] != kinds[1], says, numbers, "any other score")


CHECKS = (
    Check("priors_stand", "Does the click model start from the same priors?", priors_stand),
    Check("score_is_the_same", "Is the same score cut into grades?", score_is_the_same),
)
