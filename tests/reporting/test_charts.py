"""Charts: nothing lies outside, lines break, ticks are round."""

import re
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from markupsafe import Markup

from builder.reporting.charts import (
    LinearScale,
    LineSeries,
    ScatterPoint,
    bar_chart,
    histogram,
    line_chart,
    scatter_plot,
)

MONTHS = [f"2022-{month:02d}" for month in range(1, 13)]


def image(chart: Markup) -> ET.Element:
    (found,) = re.findall(r"<svg.*?</svg>", chart, re.DOTALL)
    return ET.fromstring(found)


def test_lines_break_where_a_value_is_missing() -> None:
    series = LineSeries(
        "s", "c", [0.1, None, 0.3, 0.4], [0, None, None, 0.3], [0.2, None, None, 0.5]
    )
    chart = image(line_chart("t", ["a", "b", "c", "d"], [series]))
    (path,) = (p.get("d") or "" for p in chart.iter("path"))
    assert re.fullmatch(r"M[\d. ]+M[\d. ]+L[\d. ]+", path)
    hints = [c.findtext("title") for c in chart.iter("circle")]
    assert hints == ["s, a: 0.100", "s, c: 0.300", "s, d: 0.400"]
    assert sum(line.get("class") == "whisker c" for line in chart.iter("line")) == 2


def test_labels_have_room() -> None:
    chart = image(line_chart("t", MONTHS, [LineSeries("s", "c", [0.5] * 12)]))
    labels = [text for text in chart.iter("text") if text.text in MONTHS]
    places = [float(label.get("x", "")) for label in labels]
    assert labels[0].text == "2022-01"
    assert min(b - a for a, b in pairwise(places)) >= 60


def test_shares_are_drawn_from_nothing_to_all() -> None:
    chart = image(
        line_chart("t", MONTHS[:3], [LineSeries("s", "c", [1.0, 0.5, 0.25])], as_shares=True)
    )
    texts = [text.text for text in chart.iter("text")]
    assert {"0 %", "50 %", "100 %"} <= set(texts)
    heights = [float(c.get("cy", "")) for c in chart.iter("circle")]
    assert heights == sorted(heights)
    assert heights[1] - heights[0] == pytest.approx(2 * (heights[2] - heights[1]), abs=0.05)


def test_higher_is_further_up_and_right() -> None:
    points = [ScatterPoint("a", "c0", 0.5, -0.1), ScatterPoint("b", "c1", 2.0, 0.2)]
    chart = image(scatter_plot("t", points, "x", "y", (1, 0)))
    a, b = chart.iter("circle")
    assert float(a.get("cx", "")) < float(b.get("cx", ""))
    assert float(a.get("cy", "")) > float(b.get("cy", ""))
    assert (a.get("class"), b.get("class")) == ("dot c0", "dot c1")
    assert sum(line.get("class") == "ideal" for line in chart.iter("line")) == 2
    assert chart.get("aria-label") == "t: y against x"


def test_bars_meet_at_zero() -> None:
    chart = image(bar_chart("t", [0.5, 0.1, -0.2], "c"))
    up, middle, down = (
        (float(bar.get("y", "")), float(bar.get("height", ""))) for bar in chart.iter("rect")
    )
    assert up[0] + up[1] == pytest.approx(middle[0] + middle[1]) == pytest.approx(down[0])
    assert up[1] > down[1] > middle[1]
    assert image(bar_chart("t", [], "c")) is not None


def test_a_histogram_says_its_bins() -> None:
    chart = image(histogram("t", [3, 0, 0, 1200], "c"))
    hints = [bar.findtext("title") for bar in chart.iter("rect")]
    assert hints[0] == "0.00 to 0.25: 3"
    assert hints[-1] == "0.75 to 1.00: 1,200"
    assert [text.text for text in chart.iter("text")][-5:] == [
        "0.00",
        "0.25",
        "0.50",
        "0.75",
        "1.00",
    ]


@pytest.mark.parametrize("count", [1, 9, 36])
def test_nothing_is_drawn_outside(count: int) -> None:
    names = [f"2022-{n}" for n in range(count)]
    series = [
        LineSeries(f"s{n}", "c", [n / 3] * count, [0.0] * count, [1.0] * count) for n in range(4)
    ]
    chart = image(line_chart("t", names, series))
    _, _, width, height = map(float, (chart.get("viewBox") or "").split())
    ends = [
        (float(t.get("x", "")) - 25, float(t.get("x", "")) + 25)
        for t in chart.iter("text")
        if t.get("text-anchor") == "middle"
    ]
    assert all(0 <= start < end <= width for start, end in ends)
    assert all(end < start for (_, end), (start, _) in pairwise(ends))
    for circle in chart.iter("circle"):
        assert 0 <= float(circle.get("cx", "")) <= width
        assert 0 <= float(circle.get("cy", "")) <= height


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([0.0, 1.0], [0, 0.5, 1]),
        ([0.012, 0.038], [0.01, 0.02, 0.03, 0.04]),
        ([-0.31, 17.4], [-5, 0, 5, 10, 15, 20]),
        ([0.3, 0.3], [-0.5, 0.0, 0.5, 1.0]),
        ([0.6, 1.2], [0.6, 0.8, 1.0, 1.2]),
        ([0.7, 1.1], [0.7, 0.8, 0.9, 1.0, 1.1]),
        ([2.0, 2.0 + 1e-8], [2.0, 2.000000005, 2.00000001]),
        ([], [0, 0.5, 1]),
    ],
)
def test_ticks_are_round_and_hold_all_values(values: list[float], ticks: list[float]) -> None:
    scale = LinearScale(values, 0, 100)
    assert scale.ticks() == pytest.approx(ticks)
    assert all(0 <= scale(value) <= 100 for value in values)
