"""Trends of filtering runs and over snapshots: ranking, sweep, comparisons."""

import polars as pl
import pytest

from builder.errors import FormatError, UsageError
from builder.evaluation.filtering import filtering_paths
from builder.evaluation.filtering_parameters import FilteringParameters
from builder.evaluation.trend_reports import (
    TrendParameters,
    snapshot_trend,
    snapshot_trend_path,
    trend_paths,
)
from builder.evaluation.trends import fit_trend
from tests.evaluation.assertions import DAY, START, line, write


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
    report = trend_paths(truth, runs)
    assert report.ranking["system"].to_list() == ["up", "down"]
    assert report.ranking["rank"].to_list() == [1, 2]
    up_trend = report.trends.filter(pl.col("system") == "up", pl.col("cutoff") == 50.0)
    down_trend = report.trends.filter(pl.col("system") == "down", pl.col("cutoff") == 50.0)
    assert up_trend["slope_per_second"].item() > 0 > down_trend["slope_per_second"].item()
    assert up_trend["end_point"].item() > down_trend["end_point"].item()
    assert report.trends.height == 2 * 20
    pair = report.comparisons.row(0, named=True)
    assert (pair["first"], pair["second"]) == ("up", "down")
    assert pair["z"] > 0
    assert 0 <= pair["p"] < 0.05


def test_the_sweep_keeps_the_best_cutoff_and_the_lowest_of_equals(tmp_path):
    truth_lines, up = improving(10, rising=True)
    truth, run = write(tmp_path / "t.txt", truth_lines), write(tmp_path / "up.txt", up)
    report = trend_paths(truth, [run])
    best = report.ranking.row(0, named=True)
    assert best["end_point"] == report.trends["end_point"].max()
    equals = report.trends.filter(pl.col("end_point") == best["end_point"])["cutoff"]
    assert best["cutoff"] == equals.min()


def test_trend_of_batches_is_the_trend_of_their_scores(tmp_path):
    truth_lines, up = improving(8, rising=True)
    parameters = TrendParameters("recall", filtering=FilteringParameters(cutoffs=(0,)))
    paths = write(tmp_path / "t.txt", truth_lines), [write(tmp_path / "up.txt", up)]
    report = trend_paths(*paths, parameters)
    batches = filtering_paths(*paths, parameters.filtering).batches
    expected = fit_trend(range(8), batches["recall"].to_list(), batches["documents"].to_list())
    row = report.trends.row(0, named=True)
    assert row["slope_per_batch"] == pytest.approx(expected.slope, rel=1e-12)
    assert row["slope_per_second"] * DAY == pytest.approx(expected.slope, rel=1e-12)
    assert row["end_point"] == pytest.approx(expected.end_point, rel=1e-12)
    assert row["t"] == pytest.approx(expected.t, rel=1e-9)


def test_weights_are_shares_of_all_documents(tmp_path):
    truth_lines, up = improving(5, rising=True)
    truth, run = write(tmp_path / "t.txt", truth_lines), write(tmp_path / "up.txt", up)
    parameters = TrendParameters(filtering=FilteringParameters(cutoffs=(0, 700)))
    scores = trend_paths(truth, [run], parameters).scores
    assert scores.filter(pl.col("cutoff") == 0)["weight"].to_list() == [0.2] * 5
    assert scores["weight"].sum() == pytest.approx(2)


def test_nothing_returned_and_nothing_to_find_gives_no_trend(tmp_path):
    empty = write(tmp_path / "empty.txt", [])
    parameters = TrendParameters(filtering=FilteringParameters(start=START, end=START + 5 * DAY))
    report = trend_paths(empty, [empty], parameters)
    assert report.scores["score"].to_list() == [1.0] * 5
    assert report.trends["reason"].to_list() == ["batches with weight: 0, needed: 3 or more"]
    assert report.ranking["rank"].to_list() == [None]


def test_granularities_give_the_same_slope_on_a_steady_trend(tmp_path):
    truth_lines, up = improving(28, rising=True)
    paths = write(tmp_path / "t.txt", truth_lines), [write(tmp_path / "up.txt", up)]
    slopes = [
        trend_paths(
            *paths, TrendParameters("recall", filtering=FilteringParameters(granularity=unit))
        ).trends["slope_per_second"][0]
        for unit in ("day", str(7 * DAY))
    ]
    assert slopes[0] == pytest.approx(slopes[1], rel=0.1)


def snapshots(**scores):
    months = ["2022-06", "2022-07", "2022-09", "2022-10"]
    rows = [
        (system, "nDCG", month, score)
        for system, values in scores.items()
        for month, score in zip(months, values, strict=False)
    ]
    return pl.DataFrame(rows, schema=["system", "measure", "snapshot", "score"], orient="row")


def test_trend_over_snapshots(tmp_path):
    report = snapshot_trend(snapshots(fading=[0.4, 0.38, 0.31, 0.3], flat=[0.2] * 4, new=[0.9]))
    assert report.ranking["system"].to_list() == ["fading", "flat", "new"]
    assert report.ranking["rank"].to_list() == [1, 2, None]
    fading, flat, new = report.trends.rows(named=True)
    days = [0, 30, 92, 122]
    expected = fit_trend(days, [0.4, 0.38, 0.31, 0.3], [1] * 4)
    assert fading["slope_per_second"] * DAY == pytest.approx(expected.slope, rel=1e-12)
    assert fading["end_point"] == pytest.approx(expected.end_point, rel=1e-12)
    assert fading["p"] == pytest.approx(expected.p, rel=1e-9)
    assert (flat["end_point"], flat["p"]) == (0.2, None)
    assert (new["batches"], new["end_point"]) == (1, None)
    assert report.comparisons["reason"].null_count() == 0


def test_the_order_of_rows_changes_nothing():
    frame = snapshots(a=[0.4, 0.3, 0.35, 0.1], b=[0.1, 0.2, 0.2, 0.25])
    one, other = snapshot_trend(frame), snapshot_trend(frame.reverse())
    assert one.trends.equals(other.trends)
    assert one.ranking.equals(other.ranking)
    assert one.comparisons.equals(other.comparisons)


def test_weights_of_snapshots_count():
    frame = snapshots(a=[0.4, 0.3, 0.35, 0.1])
    weighted = frame.with_columns(weight=pl.Series([1.0, 5.0, 1.0, 2.0]))
    plain, heavy = snapshot_trend(frame), snapshot_trend(weighted)
    assert plain.trends["slope_per_second"].item() != heavy.trends["slope_per_second"].item()


def test_snapshot_trend_path(tmp_path):
    frame = snapshots(a=[0.4, 0.3, 0.35, 0.1])
    path = tmp_path / "scores.tsv"
    frame.write_csv(path, separator="\t")
    assert snapshot_trend_path(path).trends.equals(snapshot_trend(frame).trends)
    path.write_text("system\tmeasure\tsnapshot\tscore\na\tm\t2022-06\thigh\n")
    with pytest.raises(FormatError, match="table of scores"):
        snapshot_trend_path(path)


def test_wrong_snapshot_tables_are_refused():
    frame = snapshots(a=[0.4, 0.3, 0.35, 0.1])
    with pytest.raises(UsageError, match="missing"):
        snapshot_trend(frame.drop("score"))
    with pytest.raises(UsageError, match="repeated"):
        snapshot_trend(pl.concat([frame, frame]))
    with pytest.raises(UsageError, match="2022-06"):
        snapshot_trend(frame.with_columns(snapshot=pl.lit("June")))
