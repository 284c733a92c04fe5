"""Held-out impressions of a build: what is sampled, and figures by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from builder.clicks import held_out
from builder.clicks.models import ResultPages, TrainingOptions, get_fit_function
from builder.parameters import ClickParameters
from tests.clicks.conftest import Impression

BY_DOCUMENT = ClickParameters(model="document-ctr", prior="beta")


def predictions(out: Path) -> dict[tuple[str, int], tuple[int, int, float]]:
    """Count, total and value by measure and rank, of the figures of models."""
    rows = pl.read_parquet(out / "click_diagnostics.parquet").drop_nulls("value")
    return {(measure, rank): (*values, value) for measure, rank, *values, value, _ in rows.rows()}


def test_figures_by_hand(run_estimate: Any) -> None:
    """One page; the first result is always clicked, the second one never."""
    out, _ = run_estimate([(None, 1, [5, 6], [1])] * 400, BY_DOCUMENT)
    found = predictions(out)
    tested, sampled, likelihood = found["held_out_log_likelihood", 0]
    assert sampled == 400
    assert 75 <= tested <= 125
    train = sampled - tested
    clicked, skipped = (train + 1) / (train + 2), 1 / (train + 2)
    assert likelihood == pytest.approx(np.log(clicked) + np.log(1 - skipped), abs=1e-6)
    assert found["held_out_clicks", 1] == (tested, tested, pytest.approx(clicked, abs=1e-6))
    assert found["held_out_clicks", 2] == (0, tested, pytest.approx(skipped, abs=1e-6))
    assert found["held_out_perplexity", 1][2] == pytest.approx(1 / clicked, abs=1e-6)
    assert found["held_out_perplexity", 0][2] == pytest.approx(1 / clicked, abs=1e-6)
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
