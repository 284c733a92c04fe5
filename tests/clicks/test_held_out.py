"""Held-out impressions of a build: what is sampled, and figures by hand."""

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

from builder.clicks import held_out
from builder.clicks.models import ResultPages, TrainingOptions, get_fit_function
from builder.clicks.scores import ClickModelScore
from builder.io.engine import set_sql_variables
from builder.parameters import ClickParameters
from tests.clicks.conftest import Impression

BY_DOCUMENT = ClickParameters(model="document-ctr", prior="beta")


def predictions(out: Path) -> dict[tuple[str, int], tuple[int, int, float]]:
    """Count, total and value by measure and rank, of the figures of models."""
    rows = pl.read_parquet(out / "click_diagnostics.parquet").drop_nulls("value")
    return {(measure, rank): (*values, value) for measure, rank, *values, value, _ in rows.rows()}


def test_figures_by_hand(run_estimate: Any) -> None:
    """One page; the first result is always clicked, the second one never."""
    out, _ = run_estimate([(None, 1, [5, 6], [1])] * 4000, BY_DOCUMENT)
    found = predictions(out)
    tested, sampled, likelihood = found["held_out_log_likelihood", 0]
    assert sampled == 4000
    assert 900 <= tested <= 1100
    train = sampled - tested
    clicked, skipped = (train + 1) / (train + 2), 1 / (train + 2)
    assert likelihood == pytest.approx(np.log(clicked) + np.log(1 - skipped), abs=1e-6)
    assert found["held_out_clicks", 1] == (tested, tested, pytest.approx(clicked, abs=1e-6))
    assert found["held_out_clicks", 2] == (0, tested, pytest.approx(skipped, abs=1e-6))
    assert found["held_out_perplexity", 1][2] == pytest.approx(1 / clicked, abs=1e-6)
    assert found["held_out_perplexity", 0][2] == pytest.approx(1 / clicked, abs=1e-6)
    assert all(value == round(value, 6) for *_, value in found.values())
    assert any(value != round(value, 5) for *_, value in found.values())
    # documents do not change their rank: clicks by rank say the same
    assert found["baseline_log_likelihood", 0] == found["held_out_log_likelihood", 0]
    models = pl.read_parquet(out / "click_diagnostics.parquet").drop_nulls("value")
    named = dict(models.select("measure", "model").unique().rows())
    assert named["held_out_perplexity"] == "document-ctr"
    assert named["baseline_perplexity"] == "rank-ctr"


def various(pages: int) -> list[Impression]:
    """Pages of twenty queries that show 1 to 5 results."""
    return [
        (None, n % 20, list(range(n % 20, n % 20 + 1 + n % 5)), [1 + n % (1 + n % 5)] * (n % 2))
        for n in range(pages)
    ]


def test_the_order_of_a_log_does_not_matter(run_estimate: Any) -> None:
    log = various(500)
    one, _ = run_estimate(log, ClickParameters())
    other, _ = run_estimate(log[::-1], ClickParameters())
    assert predictions(one) == predictions(other)


def test_the_sample_is_bounded_and_takes_a_share_of_large_queries(
    run_estimate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_out, "MAX_RESULTS", 300)
    monkeypatch.setattr(held_out, "MAX_RESULTS_PER_QUERY", 50)
    log = various(2000) + [(None, 99, [1], [1])] * 5000
    found = predictions(run_estimate(log, ClickParameters())[0])
    sampled = found["held_out_log_likelihood", 0][1]
    assert 50 < sampled < 400
    alone = predictions(run_estimate([(None, 99, [1], [1])] * 5000, ClickParameters())[0])
    assert 20 < alone["held_out_log_likelihood", 0][1] < 100


def test_queries_are_sampled_up_to_the_limit_and_one_in_as_many_pages_as_needed() -> None:
    """Shown are 7, 5 and 4 results, of which at most 4 per query and 12 in all are taken."""
    pages = [(1, 3, 1), (1, 2, 2), (2, 5, 1), (3, 4, 1)]
    found = []
    for limit in (12, 11):
        with duckdb.connect() as connection:
            frame = pl.DataFrame(pages, schema=["query", "weight", "length"], orient="row")
            connection.register("pages", frame.cast({"query": pl.UInt64}).to_arrow())
            set_sql_variables(connection, max_results=limit, max_per_query=4)
            connection.execute(held_out.SAMPLED_QUERIES)
            rows = connection.execute("SELECT * FROM sampled_queries ORDER BY query").fetchall()
            found.append(rows)
    assert found[0] == [(1, 2), (2, 2), (3, 1)]
    assert len(found[1]) == 2


PAGES = ResultPages(
    pair=np.array([0, 1, 0, 1, 2, 0]),
    clicked=np.array([True, False, False, False, True, False]),
    start=np.array([0, 2, 5, 6]),
    weight=np.array([1, 2, 4]),
    latest=np.array([1, 3, 0]),
    pairs=3,
)
"""Seven impressions: one of two results, two of three and four of one."""


def test_click_rates_are_weighted_by_impressions() -> None:
    class Predicted:
        def marginal_click_probabilities(self, pages: ResultPages) -> np.ndarray:
            return np.array([0.5, 0.25, 0.125, 1 / 3, 0.75, 0.0625])

        conditional_outcome_probabilities = marginal_click_probabilities

    assert list(held_out._click_rate_rows(Predicted(), PAGES, "m")) == [
        ("held_out_clicks", 1, 1, 7, 0.142857, "m"),  # (.5 + 2 .125 + 4 .0625) / 7
        ("held_out_clicks", 2, 0, 3, 0.305556, "m"),  # (.25 + 2 / 3) / 3
        ("held_out_clicks", 3, 2, 2, 0.75, "m"),
    ]


def test_scores_count_the_impressions_with_a_result_at_their_rank() -> None:
    score = ClickModelScore(-1.23456789, 1.5, 9.0, (1.0000004, 2.0, 3.0), (9.0, 9.0, 9.0))
    assert list(held_out._score_rows("held_out", score, PAGES, 20, "m")) == [
        ("held_out_log_likelihood", 0, 7, 27, -1.234568, "m"),
        ("held_out_perplexity", 0, 7, 27, 1.5, "m"),
        ("held_out_perplexity", 1, 7, 27, 1.0, "m"),
        ("held_out_perplexity", 2, 3, 27, 2.0, "m"),
        ("held_out_perplexity", 3, 2, 27, 3.0, "m"),
    ]


def test_no_test_pages_without_training_pages(run_estimate: Any) -> None:
    out, _ = run_estimate([(None, query, [5], [1]) for query in range(40)])
    assert predictions(out) == {}


def walkers(queries: int, pages: int) -> tuple[ResultPages, np.ndarray]:
    """Ten results in one order, users who give up; and the attractiveness of each pair."""
    rng = np.random.default_rng(8)
    a, s = np.full((queries, 10), 0.2), 0.5
    query = np.repeat(np.arange(queries), pages)
    clicks, looking = np.zeros((len(query), 10), dtype=bool), np.ones(len(query), dtype=bool)
    for rank in range(10):
        clicks[:, rank] = looking & (rng.random(len(query)) < a[query, rank])
        satisfied = clicks[:, rank] & (rng.random(len(query)) < s)
        looking &= ~satisfied & (rng.random(len(query)) < 0.9)
    number = len(query)
    shown = (query[:, None] * 10 + np.arange(10)).ravel()
    start, ones = np.arange(0, number * 10 + 1, 10), np.ones(number, dtype=np.int64)
    latest = np.zeros(number, dtype=np.int64)
    return ResultPages(shown, clicks.ravel(), start, ones, latest, queries * 10), a


def test_sdbn_overestimates_deep_ranks() -> None:
    """It counts a rank as examined only where that rank, or one below it, is clicked."""
    pages, truth = walkers(20, 1000)
    model = get_fit_function("sdbn")(pages, TrainingOptions(ClickParameters(no_click="skip")))
    error = (model.attractiveness.reshape(truth.shape) - truth).mean(axis=0)
    assert error[8] > error[4] > error[0]
    assert error[8] > 0.1
