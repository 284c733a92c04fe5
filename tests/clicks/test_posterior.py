"""Priors and posteriors against scipy's optimizer and against simulation."""

import numpy as np
import pytest
from scipy import optimize, special, stats

from builder.clicks import posterior as posteriors
from builder.clicks.posterior import ClickEvidence, ScorePosterior
from builder.clicks.priors import (
    BetaPrior,
    Priors,
    _BetaPriorPosterior,
    _newton_step,
    _round_to_significant_digits,
    fit_beta,
)


@pytest.mark.parametrize("truth", [(1.0, 1.0), (0.3, 4.0), (5.0, 20.0), (40.0, 4.0)])
def test_fitted_prior_is_the_maximum_of_the_posterior(truth: tuple[float, float]) -> None:
    rng = np.random.default_rng(7)
    trials = rng.integers(1, 40, 3000)
    successes = rng.binomial(trials, rng.beta(*truth, 3000))
    found = fit_beta(successes, trials, np.ones(3000, dtype=np.int64))

    def loss(log_shapes: np.ndarray) -> float:
        likelihood = stats.betabinom.logpmf(successes, trials, *np.exp(log_shapes)).sum()
        strength = stats.norm.logpdf(np.log(np.exp(log_shapes).sum()), np.log(4), 1.5)
        return -float(likelihood + strength)

    best = optimize.minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-7})
    assert (found.alpha, found.beta) == pytest.approx(tuple(np.exp(best.x)), rel=1e-3)
    assert loss(np.log([found.alpha, found.beta])) <= best.fun + 1e-6


def test_pairs_examined_once_leave_strength_to_its_prior() -> None:
    found = fit_beta(np.array([0, 1]), np.array([1, 1]), np.array([30, 10]))
    assert found.alpha + found.beta == pytest.approx(4, rel=1e-4)
    assert found.mean == pytest.approx(0.25, rel=1e-4)


@pytest.mark.parametrize("successes", [[0, 1], [1, 0]])
def test_means_near_zero_and_one_have_a_bound(successes: list[int]) -> None:
    """The logit of the mean is at most 12; of the strength, nothing but its prior is known."""
    found = fit_beta(np.array(successes), np.array([1, 1]), np.array([10**9 - 1, 1]))
    assert found.alpha + found.beta == pytest.approx(4, rel=1e-3)
    assert min(found.alpha, found.beta) == pytest.approx(4 / (1 + np.exp(12)), rel=1e-3)


def test_prior_of_few_equal_pairs_stays_weak() -> None:
    """The likelihood alone is greatest at the bound of 10,000: nothing could be relevant."""
    found = fit_beta(np.array([0, 1, 0, 1]), np.array([1, 1, 2, 2]), np.array([60, 10, 14, 6]))
    assert 1 < found.alpha + found.beta < 40
    many = fit_beta(
        np.array([0, 1, 0, 1, 2]), np.array([1, 1, 2, 2, 2]), 1000 * np.array([80, 20, 64, 32, 4])
    )
    assert many.alpha + many.beta > 200


def test_fit_counts_pairs_with_multiplicity() -> None:
    successes, trials = np.array([0, 1, 2, 5, 0]), np.array([3, 3, 4, 6, 1])
    pairs = np.array([4, 3, 5, 1, 7])
    listed = fit_beta(successes.repeat(pairs), trials.repeat(pairs), np.ones(20, dtype=np.int64))
    assert fit_beta(successes, trials, pairs) == listed


@pytest.mark.parametrize(
    ("successes", "trials", "pairs"),
    [([1], [2], [9]), ([0, 0], [4, 5], [20, 20]), ([4, 5], [4, 5], [20, 20]), ([0], [0], [50])],
)
def test_without_evidence_for_a_prior_it_is_uniform(
    successes: list[int], trials: list[int], pairs: list[int]
) -> None:
    found = fit_beta(np.array(successes), np.array(trials), np.array(pairs))
    assert (found.alpha, found.beta, found.mean) == (1, 1, 0.5)


def test_ten_pairs_suffice_for_a_fit() -> None:
    """They were examined once: of the strength, nothing but its prior is known."""
    found = fit_beta(np.array([0, 1]), np.array([1, 1]), np.array([7, 3]))
    assert (found.alpha, found.beta) == (1.2, 2.8)


FEW = np.array([0, 1, 2]), np.array([2, 5, 2]), np.array([5, 4, 3])
"""Twelve pairs: successes, trials, and pairs with these counts."""


def log_density(mean: float, strength: float) -> float:
    """Log density of the posterior of a prior, given `FEW`."""
    successes, trials, pairs = FEW
    shapes = mean * strength, (1 - mean) * strength
    likelihood = pairs @ stats.betabinom.logpmf(successes, trials, *shapes)
    return float(likelihood + stats.norm.logpdf(np.log(strength), np.log(4), 1.5))


def test_density_of_a_prior_is_that_of_its_likelihood_and_of_its_strength() -> None:
    model = _BetaPriorPosterior(*FEW)
    one, other = (np.array([special.logit(m), np.log(s)]) for m, s in ((0.3, 1.5), (0.6, 7.0)))
    expected = log_density(0.3, 1.5) - log_density(0.6, 7.0)
    assert model.log_density(one) - model.log_density(other) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("point", [(-0.7, 0.4), (0.3, 2.0), (1.5, -2.0), (-2.0, 6.0)])
def test_derivatives_of_a_density_are_its_differences(point: tuple[float, float]) -> None:
    model, at = _BetaPriorPosterior(*FEW), np.array(point)
    slope, curve = model.derivatives(at)
    for axis, step in enumerate(1e-5 * np.eye(2)):
        rise = model.log_density(at + step) - model.log_density(at - step)
        bend = model.derivatives(at + step)[0] - model.derivatives(at - step)[0]
        assert slope[axis] == pytest.approx(rise / 2e-5, abs=1e-6)
        assert curve[axis] == pytest.approx(bend / 2e-5, abs=1e-6)


def test_a_step_of_the_fit_never_leads_downhill() -> None:
    model = _BetaPriorPosterior(*FEW)
    for logit in np.linspace(-11, 11, 9):
        for log_strength in np.linspace(-3.5, 9, 9):
            start = np.array([logit, log_strength])
            end = _newton_step(model, start)
            assert model.log_density(end) >= model.log_density(start) - 1e-9
            assert (np.abs(end) <= (12, np.log(10_000))).all()


def test_fitted_prior_of_few_pairs_is_the_maximum_of_the_posterior() -> None:
    found = fit_beta(*FEW)
    best = optimize.minimize(
        lambda x: -log_density(special.expit(x[0]), np.exp(x[1])), [0.0, 0.0], method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-12},
    )  # fmt: skip
    assert (found.mean, found.alpha + found.beta) == pytest.approx(
        (special.expit(best.x[0]), np.exp(best.x[1])), rel=1e-5
    )


def test_pairs_that_are_all_or_nothing_leave_a_prior_of_the_least_strength() -> None:
    found = fit_beta(np.array([0, 50]), np.array([50, 50]), np.array([500, 500]))
    assert (found.alpha, found.beta) == (0.01, 0.01)


@pytest.mark.parametrize(
    ("number", "rounded"), [(123456.7, 123457), (0.00123456789, 0.00123457), (2.0000004, 2)]
)
def test_priors_have_six_significant_digits(number: float, rounded: float) -> None:
    assert _round_to_significant_digits(number) == rounded


def test_fit_at_strength_bound_has_most_likely_mean() -> None:
    """Pairs that are more alike than draws are: how strong the prior is, is bounded."""
    trials = np.array([40_000, 90, 700, 3])
    successes = np.array([4_900, 11, 86, 1])
    pairs = np.array([30, 400, 200, 50])

    def loss(mean: float) -> float:
        shapes = 10_000 * mean, 10_000 * (1 - mean)
        return -float(pairs @ stats.betabinom.logpmf(successes, trials, *shapes))

    best = optimize.minimize_scalar(loss, (0.1, 0.15), method="golden", tol=1e-9)
    found = fit_beta(successes, trials, pairs)
    assert found.alpha + found.beta == pytest.approx(10_000, abs=0.02)
    assert found.alpha == pytest.approx(10_000 * best.x, abs=0.02)


def test_large_counts_do_not_disturb_the_fit() -> None:
    """The order of pairs does not matter; no array is as long as the largest count."""
    rng = np.random.default_rng(11)
    trials = np.concatenate([rng.integers(1, 50, 400), rng.integers(1, 100_000, 100)])
    successes = rng.binomial(trials, rng.beta(0.7, 3.0, 500))
    pairs = rng.integers(1, 4, 500)
    found = fit_beta(successes, trials, pairs)
    order = rng.permutation(500)
    assert fit_beta(successes[order], trials[order], pairs[order]) == found
    huge = fit_beta(
        np.append(successes, 10**11), np.append(trials, 4 * 10**11), np.append(pairs, 1)
    )
    assert 0.1 < huge.mean < 0.3


EVIDENCE = ClickEvidence(
    np.array([4, 30, 200, 0]), np.array([1, 12, 30, 0]), np.array([1, 5, 21, 0])
)
PRIORS = Priors(BetaPrior(0.4, 3.0), BetaPrior(2.0, 1.5))


def test_mean_is_one_division_of_counts() -> None:
    a = [(1 + 0.4) / (4 + 3.4), (12 + 0.4) / (30 + 3.4), (30 + 0.4) / (200 + 3.4)]
    s = [(1 + 2) / (1 + 3.5), (5 + 2) / (12 + 3.5), (21 + 2) / (30 + 3.5)]
    mean = ScorePosterior(EVIDENCE, PRIORS, by_relevance=False).mean()
    assert mean[:3].tolist() == a
    assert np.isnan(mean[3])
    product = ScorePosterior(EVIDENCE, PRIORS, by_relevance=True).mean()
    assert product[:3] == pytest.approx([x * y for x, y in zip(a, s, strict=True)], rel=1e-15)


@pytest.mark.parametrize("by_relevance", [False, True])
def test_intervals_and_tails_are_those_of_draws(by_relevance: bool) -> None:
    rng = np.random.default_rng(3)
    posterior = ScorePosterior(EVIDENCE, PRIORS, by_relevance)
    low, high = posterior.credible_interval(0.9)
    above = posterior.probability_at_least(0.2)
    for row in range(4):
        e, c, last = (
            int(x[row]) for x in (EVIDENCE.examinations, EVIDENCE.clicks, EVIDENCE.last_clicks)
        )
        draws = rng.beta(c + 0.4, e - c + 3.0, 200_000)
        if by_relevance:
            draws = draws * rng.beta(last + 2.0, c - last + 1.5, 200_000)
        assert (low[row], high[row]) == pytest.approx(np.quantile(draws, [0.05, 0.95]), abs=4e-3)
        assert above[row] == pytest.approx((draws >= 0.2).mean(), abs=6e-3)


def test_no_evidence_gives_no_rows() -> None:
    empty = np.zeros(0, dtype=np.int64)
    for by_relevance in (False, True):
        posterior = ScorePosterior(ClickEvidence(empty, empty, empty), Priors(), by_relevance)
        assert [
            len(x) for x in (*posterior.credible_interval(0.9), posterior.probability_at_least(0.5))
        ] == [0, 0, 0]


def test_intervals_of_huge_counts_are_exact() -> None:
    """A billion clicks out of two: the normal approximation is exact to more than six decimals."""
    counts = np.array([2 * 10**9]), np.array([10**9]), np.array([10**9])
    low, high = ScorePosterior(
        ClickEvidence(*counts), Priors(), by_relevance=False
    ).credible_interval(0.9)
    half = special.ndtri(0.95) * 0.5 / np.sqrt(2e9)
    assert (low[0], high[0]) == (round(0.5 - half, 6), round(0.5 + half, 6))


NOTHING = ClickEvidence(*(np.zeros(1, dtype=np.int64) for _ in range(3)))


def test_products_have_thirty_two_equally_likely_values_of_both_factors() -> None:
    """Without evidence, both are uniform: 1/64, 3/64, .., 63/64, with 1,024 products.

    The products of ranks 51 and 52 are 39/4096, those of ranks 973 and 974 2867/4096 and 2891/4096.
    """
    posterior = ScorePosterior(NOTHING, Priors(), by_relevance=True)
    low, high = posterior.credible_interval(0.9)
    assert (low.tolist(), high.tolist()) == ([0.009521], [0.701709])
    # 1 - (1 + 1/3 + .. + 1/63) / 32
    assert posterior.probability_at_least(1 / 64).tolist() == [0.915167]


@pytest.mark.parametrize("by_relevance", [False, True])
def test_no_score_reaches_a_cut_above_one(by_relevance: bool) -> None:
    posterior = ScorePosterior(EVIDENCE, PRIORS, by_relevance)
    assert posterior.probability_at_least(2.0).tolist() == [0, 0, 0, 0]


def test_posteriors_are_the_same_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.array([[9, 8, 7, 6, 5, 4, 3], [5, 4, 4, 3, 3, 2, 1], [3, 2, 4, 1, 2, 0, 1]])
    posterior = ScorePosterior(ClickEvidence(*counts), PRIORS, by_relevance=True)
    whole = *posterior.credible_interval(0.8), posterior.probability_at_least(0.3)
    monkeypatch.setattr(posteriors, "CHUNK_ROWS", 5)
    monkeypatch.setattr(posteriors, "PRODUCT_CHUNK", 2)
    parts = *posterior.credible_interval(0.8), posterior.probability_at_least(0.3)
    assert [part.tolist() for part in parts] == [part.tolist() for part in whole]
    assert len(set(whole[0].tolist())) == 7
