"""Simulated users with known attractiveness: coverage of intervals, recovery of grades, bots."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import cohen_kappa_score

from builder.clicks.models import ResultPages
from builder.clicks.policies import GradeThresholds, assign_grades
from builder.clicks.posterior import ClickEvidence, ScorePosterior
from builder.clicks.priors import Priors, fit_beta
from builder.parameters import ClickParameters, QrelParameters, VerdictFilter
from schemas import Verdicts

QUERIES, DOCS = 60, 10


@dataclass(frozen=True)
class World:
    """Impressions of users who walk down the page; document = its index in the query.

    Args:
        attractiveness: float64[queries, docs], the truth.
        query: int64[impressions].
        order: int64[impressions, docs]; documents in rank order.
        clicks: bool[impressions, docs], by rank.
    """

    attractiveness: np.ndarray
    query: np.ndarray
    order: np.ndarray
    clicks: np.ndarray


def world(seed: int, *, pages: int, satisfaction: tuple[float, float]) -> World:
    """A DBN without giving up; satisfaction is drawn from a Beta distribution."""
    rng = np.random.default_rng(seed)
    a = rng.beta(0.8, 4, (QUERIES, DOCS))
    s = rng.beta(*satisfaction, (QUERIES, DOCS))
    query = np.repeat(np.arange(QUERIES), rng.integers(pages // 10, pages, QUERIES))
    order = np.argsort(rng.random((len(query), DOCS)), axis=1)
    clicks = np.zeros(order.shape, dtype=bool)
    looking = np.ones(len(query), dtype=bool)
    for rank in range(DOCS):
        doc = order[:, rank]
        clicks[:, rank] = looking & (rng.random(len(query)) < a[query, doc])
        looking &= ~(clicks[:, rank] & (rng.random(len(query)) < s[query, doc]))
    return World(a, query, order, clicks)


def posterior(of: World) -> ScorePosterior:
    """Posterior of the attractiveness of every pair, with the fitted prior."""
    number = len(of.query)
    pages = ResultPages(
        pair=(of.query[:, None] * DOCS + of.order).ravel(),
        clicked=of.clicks.ravel(),
        start=np.arange(0, number * DOCS + 1, DOCS),
        weight=np.ones(number, dtype=np.int64),
        latest=np.zeros(number, dtype=np.int64),
        pairs=QUERIES * DOCS,
    )
    counts = pages.click_counts(pages.pair, pages.pairs)
    ones = np.ones(pages.pairs, dtype=np.int64)
    priors = Priors(fit_beta(counts.clicks, counts.examinations, ones))
    evidence = ClickEvidence(counts.examinations, counts.clicks, counts.last_clicks)
    return ScorePosterior(evidence, priors, by_relevance=False)


def test_ninety_percent_intervals_cover_ninety_percent() -> None:
    covered = examined = 0
    for seed in range(20):
        truth = world(seed, pages=200, satisfaction=(9, 1))
        found = posterior(truth)
        low, high = found.credible_interval(0.9)
        a = truth.attractiveness.ravel()
        seen = found.evidence.examinations > 0
        covered += int((seen & (low <= a) & (a <= high)).sum())
        examined += int(seen.sum())
    assert 0.87 <= covered / examined <= 0.93


def test_grades_are_recovered_at_a_hundred_examinations() -> None:
    params = QrelParameters(min_examinations=100)
    cuts = GradeThresholds(*params.cuts)
    for seed in range(5):
        truth = world(seed, pages=600, satisfaction=(3, 2))
        found = posterior(truth)
        grades = assign_grades(found, cuts, params)
        a = truth.attractiveness.ravel()
        real = (a >= cuts.relevant).astype(int) + (a >= cuts.highly_relevant)
        judged = grades >= 0
        assert judged.sum() > 300
        assert cohen_kappa_score(grades[judged], real[judged], weights="quadratic") > 0.8


def as_log(of: World, users: list[int]) -> list[tuple[int, int, list[int], list[int]]]:
    """Impressions as (user, query, results, clicks)."""
    return [
        (user, int(query), (query * DOCS + order).tolist(), (np.flatnonzero(clicks) + 1).tolist())
        for user, query, order, clicks in zip(users, of.query, of.order, of.clicks, strict=True)
    ]


@pytest.mark.parametrize("rule", ["none", "one_vote_a_user", "verdict"])
def test_bots_bias_and_rules_remove_the_bias(run_estimate: Any, table: Any, rule: str) -> None:
    truth = world(3, pages=120, satisfaction=(9, 1))
    people = as_log(truth, list(range(len(truth.query))))
    everything = list(range(1, DOCS + 1))
    bots = [
        (10**6 + n % 2, q, results, everything) for n, (_, q, results, _) in enumerate(people[::5])
    ]
    params = ClickParameters(votes="user" if rule == "one_vote_a_user" else "impression")
    tables = {}
    if rule == "verdict":
        rows = [("user", 10**6 + n, "bot", "list", "1", 1.0) for n in range(2)]
        filters = (VerdictFilter(name="bots", kind="user", label="bot"),)
        tables = {"verdicts": table(rows, Verdicts), "filters": filters}
    errors = []
    for log in (people, people + bots):
        out, _ = run_estimate(log, params, **tables)
        found = pl.read_parquet(out / "click_estimates.parquet").filter(pl.col("examinations") > 20)
        real = truth.attractiveness.ravel()[found["doc"].to_numpy()]
        errors.append(float((found["attractiveness"].to_numpy() - real).mean()))
    honest, biased = errors
    assert abs(honest) < 0.02
    if rule == "none":
        assert biased > 0.12
    elif rule == "verdict":
        assert biased == honest
    else:
        assert biased < 0.05
