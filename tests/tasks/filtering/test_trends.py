"""Trends of filtering runs: ranking, sweep, weights."""

import polars as pl
import pytest

from builder.evaluation.trends import fit_trend
from builder.tasks.filtering import (
    FilteringParameters,
    FilteringTrendParameters,
    evaluate_filtering,
    evaluate_filtering_trends,
)
from tests.tasks.filtering.assertions import DAY, START, line, write


def improving(days, rising):
    """Truth of three documents a day, and a run that finds more, or fewer, of them every day."""
    truth, run = [], []
    for day in range(days):
        for number in range(3):
            time = START + day * DAY + number
            truth.append(line(time, f"{day}-{number}", "x"))
            found = day / days if rising else 1 - day / days
            if number <= 3 * found:
                run.append(line(time, f"{day}-{number}", "x", 1000 - 400 * (number == 2)))
    return truth, run


def test_trend_paths_rank_by_the_end_of_the_line(tmp_path):
    truth_lines, up = improving(10, rising=True)
    _, down = improving(10, rising=False)
    truth = write(tmp_path / "truth.txt", truth_lines)
    runs = [write(tmp_path / "down.txt", down), write(tmp_path / "up.txt", up)]
    report = evaluate_filtering_trends(truth, runs)
    assert report.ranking["system"].to_list() == ["up", "down"]
    assert report.ranking["rank"].to_list() == [1, 2]
    up_trend = report.trends.filter(pl.col("system") == "up", pl.col("cutoff") == 50.0)
    down_trend = report.trends.filter(pl.col("system") == "down", pl.col("cutoff") == 50.0)
    assert up_trend["slope_per_day"].item() > 0 > down_trend["slope_per_day"].item()
    assert up_trend["end_point"].item() > down_trend["end_point"].item()
    assert report.trends.height == 2 * 20
    pair = report.comparisons.row(0, named=True)
    assert (pair["first"], pair["second"]) == ("up", "down")
    assert pair["z"] > 0
    assert 0 <= pair["p"] < 0.05


def test_the_sweep_keeps_the_best_cutoff_and_the_lowest_of_equals(tmp_path):
    truth_lines, up = improving(10, rising=True)
    truth, run = write(tmp_path / "t.txt", truth_lines), write(tmp_path / "up.txt", up)
    report = evaluate_filtering_trends(truth, [run])
    best = report.ranking.row(0, named=True)
    assert best["end_point"] == report.trends["end_point"].max()
    equals = report.trends.filter(pl.col("end_point") == best["end_point"])["cutoff"]
    assert best["cutoff"] == equals.min()


def test_trend_of_batches_is_the_trend_of_their_scores(tmp_path):
    truth_lines, up = improving(8, rising=True)
    parameters = FilteringTrendParameters("recall", filtering=FilteringParameters(cutoffs=(0,)))
    paths = write(tmp_path / "t.txt", truth_lines), [write(tmp_path / "up.txt", up)]
    report = evaluate_filtering_trends(*paths, parameters)
    batches = evaluate_filtering(*paths, parameters.filtering).batches
    expected = fit_trend(range(8), batches["recall"].to_list(), batches["documents"].to_list())
    row = report.trends.row(0, named=True)
    assert row["slope_per_batch"] == pytest.approx(expected.slope, rel=1e-12)
    assert row["slope_per_day"] == pytest.approx(expected.slope, rel=1e-12)
    assert row["end_point"] == pytest.approx(expected.end_point, rel=1e-12)
    assert row["t"] == pytest.approx(expected.t, rel=1e-9)


def test_the_sweep_is_that_of_the_paper():
    parameters = FilteringTrendParameters()
    assert (parameters.measure, parameters.residuals) == ("f_pra", "raw")
    cutoffs = parameters.filtering.cutoffs
    assert (len(cutoffs), cutoffs[:3], cutoffs[-2:]) == (20, (50, 100, 150), (950, 1000))


def test_weights_are_shares_of_all_documents(tmp_path):
    truth_lines, up = improving(5, rising=True)
    truth, run = write(tmp_path / "t.txt", truth_lines), write(tmp_path / "up.txt", up)
    parameters = FilteringTrendParameters(filtering=FilteringParameters(cutoffs=(0, 700)))
    scores = evaluate_filtering_trends(truth, [run], parameters).scores
    assert scores.filter(pl.col("cutoff") == 0)["weight"].to_list() == [0.2] * 5
    assert scores["weight"].sum() == pytest.approx(2)


def test_nothing_returned_and_nothing_to_find_gives_no_trend(tmp_path):
    empty = write(tmp_path / "empty.txt", [])
    parameters = FilteringTrendParameters(
        filtering=FilteringParameters(start=START, end=START + 5 * DAY)
    )
    report = evaluate_filtering_trends(empty, [empty], parameters)
    assert report.scores["score"].to_list() == [1.0] * 5
    assert report.trends["reason"].to_list() == [
        "a trend needs at least 3 batches with a score and a positive weight, found 0"
    ]
    assert report.ranking["rank"].to_list() == [None]


def test_granularities_give_the_same_slope_on_a_steady_trend(tmp_path):
    truth_lines, up = improving(28, rising=True)
    paths = write(tmp_path / "t.txt", truth_lines), [write(tmp_path / "up.txt", up)]
    slopes = [
        evaluate_filtering_trends(
            *paths,
            FilteringTrendParameters("recall", filtering=FilteringParameters(granularity=unit)),
        ).trends["slope_per_day"][0]
        for unit in ("day", str(7 * DAY))
    ]
    assert slopes[0] == pytest.approx(slopes[1], rel=0.1)
