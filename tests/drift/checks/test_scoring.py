"""Checks of priors and click models."""

from typing import Any

import numpy as np
import pytest

from builder.clicks.priors import fit_beta
from builder.drift.checks import (
    scoring,
)
from builder.drift.checks.outcome import Outcome
from builder.drift.checks.scoring import BetaPrior, SnapshotPriors, recover_prior_from_scores
from schemas import (
    Qrels,
    Queries,
)
from tests.drift.checks.rows import asking, cells, scored
from tests.drift.worlds import Rows, compare, frame, qrel


def test_priors_are_read_back() -> None:
    assert recover_prior_from_scores(cells(1.2, 3.4)) == BetaPrior(1.2, 3.4)
    assert recover_prior_from_scores(cells(-0.5, 3.0)) is None
    assert recover_prior_from_scores(cells(3.0, -0.5)) is None
    assert recover_prior_from_scores([(1, 2, 0.5, 1), (1, 3, 0.9, 1), (2, 3, 0.1, 1)]) is None
    assert recover_prior_from_scores([]) is None
    assert recover_prior_from_scores([(1, 2, 0.5, 9)]) is None


@pytest.mark.parametrize(("error", "is_read"), [(1e-7, True), (1e-6, False)])
def test_scores_may_differ_from_sdbn_by_rounding(error: float, *, is_read: bool) -> None:
    """At 24 examinations, an error of 1e-7 is a residual of 2.9e-6, below 4.6e-6."""
    *most, (clicks, examinations, score, pairs) = cells(1.2, 3.4)
    prior = recover_prior_from_scores([*most, (clicks, examinations, score + error, pairs)])
    assert (prior is not None) is is_read


@pytest.mark.parametrize(
    ("pairs", "prior", "model", "implied", "contradicts"),
    [
        (20, None, "sdbn", None, True),
        (19, None, "sdbn", None, False),
        (20, None, "dbn", None, False),
        (1, BetaPrior(1, 2), "sdbn", BetaPrior(1, 2.001), False),
        (1, BetaPrior(1, 2), "sdbn", BetaPrior(1, 2.003), True),
        (1, BetaPrior(1, 2), "sdbn", BetaPrior(1.002, 2), True),
        (99, BetaPrior(1, 2), "sdbn", None, False),
    ],
)
def test_scores_that_contradict_the_recorded_parameters(
    pairs: int,
    prior: BetaPrior | None,
    model: str,
    implied: BetaPrior | None,
    *,
    contradicts: bool,
) -> None:
    priors = SnapshotPriors(pairs, prior, model, implied, fitted=False)
    assert priors.contradicts_parameters is contradicts


ANY_CHANGE = "any change in the prior or the click model"
FITTED = {"clicks.model": "sdbn", "clicks.prior": "empirical_bayes"}


UNIFORM = {
    "clicks.model": "sdbn",
    "clicks.prior": "beta",
    "clicks.prior_alpha": 1.0,
    "clicks.prior_beta": 1.0,
}


def estimating(
    before: Rows, after: Rows, recorded: dict[str, Any] | None, later: dict[str, Any] | None = None
) -> Outcome:
    """Priors of two snapshots whose estimates are these rows, under recorded parameters."""
    nothing = (frame([], Queries), frame([], Qrels))
    both = {"from": recorded, "to": later or recorded} if recorded else {}
    connection = compare(nothing, nothing, {side: rows for side, rows in both.items() if rows})
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
    assert outcome.detectable == ANY_CHANGE
    other = estimating(fitted(1.0), scored(2, 2), FITTED)
    assert other.is_construction is True
    assert other.evidence.startswith(
        "the later scores imply the prior Beta(2, 2), but the prior fitted to the same clicks is "
    )


def test_a_prior_that_the_recorded_parameters_do_not_imply() -> None:
    same = estimating(scored(1, 1), scored(1, 1), UNIFORM)
    prior = {"alpha": 1.0, "beta": 1.0}
    side = {"pairs": 324, "prior": prior, "model": "sdbn", "implied": prior, "fitted": False}
    assert same == Outcome(
        False,
        "the prior on attractiveness is Beta(1, 1) before and Beta(1, 1) after",
        {"from": side, "to": side},
        ANY_CHANGE,
    )
    for pair, which in (
        ((scored(1, 1), scored(4, 4)), "later"),
        ((scored(4, 4), scored(1, 1)), "earlier"),
    ):
        outcome = estimating(*pair, UNIFORM)
        assert outcome == Outcome(
            True,
            f"the {which} scores imply the prior Beta(4, 4), but the recorded prior is Beta(1, 1), "
            "so another click model must have been used",
            outcome.numbers,
        )


def test_a_recorded_prior_that_changed() -> None:
    strong = UNIFORM | {"clicks.prior_alpha": 4.0, "clicks.prior_beta": 4.0}
    outcome = estimating(scored(1, 1), scored(4, 4), UNIFORM, strong)
    assert (outcome.is_construction, outcome.evidence) == (
        True,
        (
            "the prior on attractiveness is Beta(1, 1) before and Beta(4, 4) after: the recorded "
            "prior changed"
        ),
    )
    for pair in ((fitted(1.0), scored(1, 1)), (scored(1, 1), fitted(1.0))):
        recorded = (FITTED, UNIFORM) if pair[1] == scored(1, 1) else (UNIFORM, FITTED)
        outcome = estimating(*pair, *recorded)
        assert outcome.is_construction is True
        assert outcome.evidence.endswith(" after: the recorded prior changed")


def test_scores_that_say_nothing_of_the_prior_are_left_out() -> None:
    """Those without a score or an examination, and those with more than 50 examinations."""
    fifty = qrel("eau", "p50", 0, clicks=25, examinations=50, attractiveness=0.5)
    others = [
        qrel("eau", f"x{examinations}", 0, clicks=0, examinations=examinations, attractiveness=0.9)
        for examinations in (0, 51)
    ]
    unscored = qrel("eau", "u", 0, clicks=0, examinations=5, attractiveness=None)
    estimates = [*scored(1, 1), fifty, *others, unscored]
    outcome = estimating(estimates, scored(1, 1), UNIFORM)
    assert outcome.is_construction is False
    assert (outcome.numbers["from"]["pairs"], outcome.numbers["to"]["pairs"]) == (325, 324)
    manual = [row | {"source": "manual", "doc_id": f"m{n}"} for n, row in enumerate(others)]
    manual += [row | {"examinations": 9} for row in manual]
    judged = scoring.check_priors(asking([], [], ([*scored(1, 1), *manual], scored(1, 1))))
    assert (judged.is_construction, judged.numbers["from"]["pairs"]) == (False, 324)


def test_scores_of_another_click_model() -> None:
    other = [row | {"attractiveness": 0.1 + 0.8 * n / 400} for n, row in enumerate(scored(1, 1))]
    outcome = estimating(scored(1, 1), other, UNIFORM)
    assert (outcome.is_construction, outcome.evidence) == (
        True,
        (
            "the later scores do not match the recorded click model sdbn, so another model must "
            "have been used"
        ),
    )
    for pair, which in (((scored(1, 1), other), "later"), ((other, scored(1, 1)), "earlier")):
        outcome = estimating(*pair, None)
        assert (outcome.is_construction, outcome.evidence) == (
            True,
            f"only the {which} scores differ from sDBN estimates: the click model changed",
        )
    neither = estimating(other, other, None)
    assert neither == Outcome(None, "the scores of neither snapshot follow sDBN", neither.numbers)


def test_nobody_knows_whether_priors_were_fitted() -> None:
    assert (
        scoring.check_priors(asking([], [], (scored(1, 1), scored(1, 1)))).is_construction is False
    )
    outcome = scoring.check_priors(asking([], [], (scored(1, 1), scored(4, 4))))
    assert outcome.is_construction is None
    assert outcome.detectable == "needs parameters that record how priors are chosen"
    assert outcome.evidence == (
        "the prior on attractiveness is Beta(1, 1) before and Beta(4, 4) after"
    )
    for pair in ((scored(1, 1), []), ([], scored(1, 1))):
        assert scoring.check_priors(asking([], [], pair)) == Outcome(
            None,
            "the judgements have no scores, so the priors of the click model cannot be inferred",
        )
    recorded = compare(
        *((frame([], Queries), frame(scored(n, n), Qrels)) for n in (1, 4)),
        {"from": FITTED, "to": FITTED},
    )
    assert scoring.check_priors(recorded) == outcome_of_unknown_fit(outcome)


def outcome_of_unknown_fit(outcome: Outcome) -> Outcome:
    """The same outcome, if a fitted prior is recorded and the counts of all pairs are not."""
    sides = {side: row | {"model": "sdbn", "fitted": True} for side, row in outcome.numbers.items()}
    return Outcome(None, outcome.evidence, sides, outcome.detectable)


@pytest.mark.parametrize("later", [(1, 1.002), (1.002, 1)])
def test_priors_that_differ_in_one_parameter_are_different(later: tuple[float, float]) -> None:
    close = asking([], [], (scored(1, 1), scored(1.0009, 1)))
    assert scoring.check_priors(close).is_construction is False
    other = asking([], [], (scored(1, 1), scored(*later)))
    assert scoring.check_priors(other).is_construction is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (0.8, 0.4),
        (0.4, 0.4),
        (0.3, 0.3),
    ],
)
def test_which_score_is_graded_is_told_by_judgements_that_differ(
    before: float, after: float
) -> None:
    """Certain ones, manual ones and those without a score do not tell."""
    names = {0.8: "attractiveness", 0.4: "attractiveness x satisfaction", 0.3: "another"}
    silent: list[dict[str, Any]] = [
        {"attractiveness": 1.0, "satisfaction": 0.5, "score": 0.77},
        {"attractiveness": 0.5, "satisfaction": 1.0, "score": 0.77},
        {"attractiveness": 0.5, "satisfaction": 0.5, "score": None},
        {"attractiveness": 0.5, "satisfaction": 0.5, "score": 0.77, "source": "manual"},
    ]
    sides = [
        [
            qrel("eau", "a", 1, attractiveness=0.8, satisfaction=0.5, score=score),
            *(qrel("eau", f"x{n}", 0, **values) for n, values in enumerate(silent)),
        ]
        for score in (before, after)
    ]
    assert scoring.check_graded_score(asking([], [], (sides[0], sides[1]))) == Outcome(
        before != after,
        f"the graded score is {names[before]} before and {names[after]} after",
        {"from": names[before], "to": names[after]},
        "any change in the graded score",
    )
    without = [row for row in sides[0] if row["score"] == 0.77]
    assert scoring.check_graded_score(asking([], [], (sides[0], without))) == Outcome(
        None, "the judgements have no scores"
    )
