"""Assigns relevance grades to query-document pairs, based on their click estimates.

The table `click_grades` has one row per distinct combination of click counts and score.
"""

from collections.abc import Sequence

import duckdb
import numpy as np
import polars as pl

from builder.clicks.point_scores import PointEstimates
from builder.clicks.policies import (
    GradeThresholds,
    assign_grades,
    fit_thresholds,
    grade_stability,
    score_distribution,
    target_grade_shares,
)
from builder.clicks.posterior import ClickEvidence, ScorePosterior
from builder.clicks.priors import BetaPrior, Priors
from builder.errors import DataError, UsageError
from builder.io.tables import Table
from builder.parameters import QrelParameters

PRIORS = """
SELECT DISTINCT attractiveness_alpha, attractiveness_beta, satisfaction_alpha, satisfaction_beta
FROM click_estimates LIMIT 2
"""

EVIDENCE = """
SELECT examinations, clicks, last_clicks, score, count(*) AS pairs
FROM pairs
WHERE reason IS NULL AND examinations >= getvariable('min_examinations') AND score IS NOT NULL
GROUP BY ALL ORDER BY ALL
"""

HAS_SCORES = """
SELECT count(*) FILTER (examinations > 0) = 0
    OR count(CASE WHEN getvariable('by_relevance') THEN relevance ELSE attractiveness END) > 0
FROM click_estimates
"""


def read_priors(connection: duckdb.DuckDBPyConnection) -> Priors | None:
    """Read the priors of the click model from the view `click_estimates`.

    Returns:
        The priors; uniform priors if the view is empty, and None if all priors are null, because
        the click model gives only point estimates.

    Raises:
        DataError: the rows have different priors.
    """
    found = connection.execute(PRIORS).fetchall()
    if not found:
        return Priors()
    if len(found) == 1 and set(found[0]) == {None}:
        return None
    if len(found) > 1 or None in found[0]:
        raise DataError(
            "click estimates: expected the same prior (alpha and beta of attractiveness, then of "
            f"satisfaction) in every row, found {' and '.join(map(str, found))}; to merge the "
            "estimates of several logs, add their counts instead of concatenating the tables"
        )
    return Priors(BetaPrior(*found[0][:2]), BetaPrior(*found[0][2:]))


def check_required_scores(
    connection: duckdb.DuckDBPyConnection, priors: Priors | None, params: QrelParameters
) -> None:
    """Raise a UsageError if the click model lacks the score or posterior that grading requires.

    Grading requires the score `qrels.score`, and the policy `credible` also requires a posterior.
    This cannot be checked before estimation, because it is not known in advance which scores a
    plug-in model estimates.
    """
    if not connection.execute(HAS_SCORES).fetchall()[0][0]:
        raise UsageError(
            f'qrels.score = "{params.score}": the click model does not estimate this score; set '
            "qrels.score to a score that it estimates, or use another clicks.model, such as sdbn"
        )
    if priors is None and params.policy == "credible":
        raise UsageError(
            'qrels.policy = "credible" requires a posterior, but the click model gives only point '
            'estimates; set qrels.policy = "fixed" or "target_shares", or clicks.model = "sdbn"'
        )


def create_click_grades(
    connection: duckdb.DuckDBPyConnection,
    priors: Priors | None,
    params: QrelParameters,
    fitted_thresholds: Sequence[Table],
) -> GradeThresholds:
    """Create the table `click_grades`, and return the minimum score of each grade.

    Args:
        connection: DuckDB connection with the table `pairs`.
        priors: Priors of sDBN; None for any other model.
        params: Score, policy, minimum number of examinations and level of the credible intervals.
        fitted_thresholds: Table `grade_cuts` of the first snapshot, whose minimum scores are
            reused; if empty, new minimum scores are chosen.
    """
    counts = connection.execute(EVIDENCE).fetchnumpy()
    columns = ("examinations", "clicks", "last_clicks")
    evidence = ClickEvidence(*(np.asarray(counts[name], dtype=np.int64) for name in columns))
    score = np.asarray(counts["score"], dtype=np.float64)
    posterior = score_distribution(evidence, priors, score, params)
    pairs = np.asarray(counts["pairs"], dtype=np.int64)
    used = (
        _read_grade_thresholds(fitted_thresholds)
        if fitted_thresholds
        else _choose_grade_thresholds(posterior, pairs, params)
    )
    grades = assign_grades(posterior, used, params)
    low, high = posterior.credible_interval(params.credibility)
    frame = pl.DataFrame(
        {
            **{name: getattr(evidence, name) for name in columns},
            "score": score,
            "click_grade": grades,
            "score_low": low,
            "score_high": high,
            "stability": grade_stability(posterior, grades, used),
        }
    )
    connection.register("click_grades", frame.fill_nan(None).to_arrow())
    return used


def _choose_grade_thresholds(
    posterior: ScorePosterior | PointEstimates, pair_counts: np.ndarray, params: QrelParameters
) -> GradeThresholds:
    """Choose the minimum score of each grade.

    Under the policy `target_shares`, the minimum scores are fitted to the scores of the pairs;
    otherwise, they are those in the definition.
    """
    if params.policy == "target_shares":
        return fit_thresholds(posterior.mean(), pair_counts, target_grade_shares(params))
    return GradeThresholds(*params.cuts)


def _read_grade_thresholds(grade_cuts: Sequence[Table]) -> GradeThresholds:
    """Read the minimum score of each grade from the table `grade_cuts`."""
    values = grade_cuts[0].scan().sort("grade").collect()["cut"].to_list()
    return GradeThresholds(*values)
