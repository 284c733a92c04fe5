"""The chart of trends, by hand."""

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import polars as pl
import pytest
from typer.testing import CliRunner

from builder.cli import app
from builder.errors import UsageError
from builder.evaluation.reports.trends import trend_chart
from builder.evaluation.trend_reports import snapshot_trend_report, trend_report

SVG = "{http://www.w3.org/2000/svg}"
MONTHS = ("2022-06", "2022-07", "2022-08", "2022-09")


def scores_of(**systems: Sequence[float | None]) -> pl.DataFrame:
    rows = [
        (system, "AP", month, score)
        for system, scores in systems.items()
        for month, score in zip(MONTHS, scores, strict=True)
    ]
    return pl.DataFrame(rows, schema=["system", "measure", "snapshot", "score"], orient="row")


def test_a_line_from_the_first_to_the_last_batch_and_a_dot_per_score() -> None:
    """Scores 0.2 to 0.5 by day after 1 June: the axis from 0.2 to 0.5 spans y = 206 to 26."""
    days = (0, 30, 61, 92)
    line = [0.2 + 0.3 * day / 92 for day in days]
    report = snapshot_trend_report(scores_of(rising=line, few=[0.4, None, None, 0.3]))
    image = ET.fromstring(trend_chart(report))
    assert image.get("aria-label") == "Trend of AP"
    assert [path.get("d") for path in image.iter(f"{SVG}path")] == ["M62.0 206.0L450.0 26.0"]
    dots = {dot.findtext(f"{SVG}title"): dot for dot in image.iter(f"{SVG}circle")}
    assert list(dots) == [
        "rising, 2022-06-01: 0.200",
        "rising, 2022-07-01: 0.298",
        "rising, 2022-08-01: 0.399",
        "rising, 2022-09-01: 0.500",
        "few, 2022-06-01: 0.400",
        "few, 2022-09-01: 0.300",
    ]
    second = dots["rising, 2022-07-01: 0.298"]
    assert second.get("cx") == "188.52"  # 62 + 388 * 30 / 92
    assert float(second.get("cy", "")) == pytest.approx(206 - 180 * 30 / 92, abs=0.01)
    assert second.get("class") == "dot series-0"
    labels = {text.text: text.get("class") for text in image.iter(f"{SVG}text")}
    assert (
        labels.items() >= {"Trend of AP": "label", "rising": "series-0", "few": "series-1"}.items()
    )
    assert {"0.2", "0.5", "2022-06-01", "2022-09-01"} <= labels.keys()


def test_a_filtering_system_is_drawn_at_its_best_cutoff() -> None:
    rows: list[tuple[object, ...]] = [
        ("s", "f_pr", cutoff, hour * 3600, score, 1.0)
        for cutoff, values in ((50.0, [0.1, 0.2, 0.3]), (100.0, [0.5, 0.4, 0.6]))
        for hour, score in enumerate(values)
    ]
    columns = ["system", "measure", "cutoff", "time", "score", "weight"]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    report = trend_report(frame, ["system", "measure", "cutoff"], "raw", 3600)
    image = ET.fromstring(trend_chart(report))
    hints = [dot.findtext(f"{SVG}title") for dot in image.iter(f"{SVG}circle")]
    assert hints == [f"s, 1970-01-01 0{n}:00: {v:.3f}" for n, v in enumerate((0.5, 0.4, 0.6))]
    # the line through them has the intercept 0.45 and the end point 0.55
    (path,) = (path.get("d") for path in image.iter(f"{SVG}path"))
    assert path == "M62.0 161.0L450.0 71.0"
    without = frame.filter(cutoff=100.0).with_columns(cutoff=pl.lit(None, pl.Float64))
    report = trend_report(without, ["system", "measure", "cutoff"], "raw", 3600)
    assert trend_chart(report) == trend_chart(
        trend_report(frame.filter(cutoff=100.0), ["system", "measure", "cutoff"], "raw", 3600)
    )


def texts_of(svg: str) -> list[tuple[str | None, ...]]:
    """Position and text of each label without a title."""
    labels = [
        text for text in ET.fromstring(svg).iter(f"{SVG}text") if text.get("class") != "label"
    ]
    return [(text.get("x"), text.get("y"), text.text) for text in labels]


def test_names_are_beside_the_chart_and_dates_below_it() -> None:
    """Labels of four dates fit in the width of 408, of five only every second."""
    report = snapshot_trend_report(scores_of(one=[0.2, 0.4, 0.3, 0.2], two=[0.3, 0.2, 0.4, 0.4]))
    names = [("472", "36", "two"), ("472", "54", "one")]
    months = ("2022-06-01", "2022-07-01", "2022-08-01", "2022-09-01")
    xs = ("62.0", "188.52", "319.26", "450.0")
    found = texts_of(trend_chart(report))
    assert found[-6:] == [*((x, "222", month) for x, month in zip(xs, months, strict=True)), *names]
    october = pl.DataFrame(
        {"system": "one", "measure": "AP", "snapshot": ["2022-10"], "score": [0.5]}
    )
    five = snapshot_trend_report(pl.concat([scores_of(one=[0.2, 0.4, 0.3, 0.2]), october]))
    assert [text for _, y, text in texts_of(trend_chart(five)) if y == "222"] == [
        "2022-06-01", "2022-08-01", "2022-10-01"
    ]  # fmt: skip


def test_a_single_batch_is_a_dot_without_a_line() -> None:
    report = snapshot_trend_report(scores_of(a=[0.2, 0.4, 0.3, 0.2]).head(1))
    image = ET.fromstring(trend_chart(report))
    assert [dot.get("cx") for dot in image.iter(f"{SVG}circle")] == ["62.0"]
    assert list(image.iter(f"{SVG}path")) == []


def test_a_chart_has_one_measure() -> None:
    frame = scores_of(a=[0.1, 0.2, 0.4, 0.3])
    both = pl.concat([frame, frame.with_columns(measure=pl.lit("P@10"))])
    with pytest.raises(UsageError) as caught:
        trend_chart(snapshot_trend_report(both))
    assert str(caught.value) == "trend chart: expected one measure, found AP, P@10"


def test_the_command_draws_what_the_library_draws(tmp_path: Path) -> None:
    frame = scores_of(a=[0.1, 0.2, 0.4, 0.3])
    table, chart = tmp_path / "scores.csv", tmp_path / "chart.svg"
    frame.write_csv(table)
    done = CliRunner().invoke(app, ["trend", "scores", str(table), "--chart", str(chart)])
    assert done.exit_code == 0, done.output
    assert chart.read_text("utf-8") == trend_chart(snapshot_trend_report(frame))
    command = ["trend", "scores", str(table), "--chart", str(table)]
    assert isinstance(CliRunner().invoke(app, command).exception, UsageError)


def test_a_chart_is_svg(tmp_path: Path) -> None:
    command = ["trend", "scores", "scores.csv", "--chart", str(tmp_path / "chart.png")]
    error = CliRunner().invoke(app, command).exception
    assert str(error) == "--chart: expected a file name that ends in .svg, found 'chart.png'"
