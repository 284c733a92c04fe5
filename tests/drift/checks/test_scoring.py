"""Checks of priors and click models."""

from typing import Any

import numpy as np
import pytest

from builder.clicks.priors import fit_beta
from builder.drift.checks import (
    scoring,
)
from builder.drift.checks.scoring import recover_prior_from_scores
from schemas import (
    Qrels,
    Queries,
)
from tests.drift.checks.rows import asking, cells, scored
from tests.drift.worlds import Rows, compare, frame, qrel


def test_priors_are_read_back() -> None:
    prior = recover_prior_from_scores(cells(1.2, 3.4))
    assert prior is not None
    assert (prior.alpha, prior.beta) == pytest.approx((1.2, 3.4), abs=1e-6)
    assert recover_prior_from_scores([(1, 2, 0.5, 1), (1, 3, 0.9, 1), (2, 3, 0.1, 1)]) is None
    assert recover_prior_from_scores([]) is None


FITTED = {"clicks.model": "sdbn", "clicks.prior": "empirical_bayes"}


UNIFORM = {
    "clicks.model": "sdbn",
    "clicks.prior": "beta",
    "clicks.prior_alpha": 1.0,
    "clicks.prior_beta": 1.0,
}


def estimating(before: Rows, after: Rows, recorded: dict[str, Any] | None) -> Any:
    """Priors of two snapshots whose estimates are these rows, under recorded parameters."""
    nothing = (frame([], Queries), frame([], Qrels))
    connection = compare(nothing, nothing, {"from": recorded, "to": recorded} if recorded else {})
    for side, rows in (("from", before), ("to", after)):
        connection.execute(f"DROP VIEW click_estimates_{side}")
        connection.register(f"click_estimates_{side}", frame(rows, Qrels).to_arrow())
    return scoring.check_priors(connection)


def fitted(rate: float) -> Rows:
    """Pairs that are clicked at a rate, scored under the prior fitted to them."""
    draw = np.random.default_rng(3)
    examinations = draw.integers(1, 20, 400)
    clicks = draw.binomial(examinations, rate * draw.beta(0.8, 2.5, 400))
    prior = fit_beta(clicks, examinations, np.ones(400, np.int64))
    return [
        qrel("eau", f"p{n}", 0, clicks=c, examinations=e, attractiveness=a)
        for n, (c, e) in enumerate(zip(clicks.tolist(), examinations.tolist(), strict=True))
        for a in [(c + prior.alpha) / (e + prior.alpha + prior.beta)]
    ]


def test_a_prior_that_is_fitted_follows_its_clicks() -> None:
    """Attractiveness x .3: the strength of the prior moves by itself, and no rule changed."""
    outcome = estimating(fitted(1.0), fitted(0.3), FITTED)
    assert outcome.is_construction is False
    assert "each fitted to the clicks of its own snapshot" in outcome.evidence
    strengths = [sum(outcome.numbers[side]["prior"].values()) for side in ("from", "to")]
    assert max(strengths) > 1.8 * min(strengths)
    assert estimating(fitted(1.0), scored(2, 2), FITTED).is_construction is True


def test_a_prior_that_the_recorded_parameters_do_not_imply() -> None:
    assert estimating(scored(1, 1), scored(1, 1), UNIFORM).is_construction is False
    outcome = estimating(scored(1, 1), scored(4, 4), UNIFORM)
    assert outcome.is_construction is True
    assert "the later scores imply the prior Beta(4, 4), but the recorded prior is Beta(1, 1)" in (
        outcome.evidence
    )


def test_scores_of_another_click_model() -> None:
    other = [row | {"attractiveness": 0.1 + 0.8 * n / 400} for n, row in enumerate(scored(1, 1))]
    outcome = estimating(scored(1, 1), other, UNIFORM)
    assert outcome.is_construction is True
    assert "the later scores do not match the recorded click model sdbn" in outcome.evidence
    assert estimating(scored(1, 1), other, None).is_construction is True
    assert estimating(other, other, None).is_construction is None


def test_nobody_knows_whether_priors_were_fitted() -> None:
    assert (
        scoring.check_priors(asking([], [], (scored(1, 1), scored(1, 1)))).is_construction is False
    )
    outcome = scoring.check_priors(asking([], [], (scored(1, 1), scored(4, 4))))
    assert outcome.is_construction is None
    assert outcome.detectable == "needs parameters that record how priors are chosen"
    assert scoring.check_priors(asking([], [], (scored(1, 1), []))).is_construction is None
