"""Marks of charts by hand: the plot is from 52 to 426 and from 26 to 206 (bar charts: to 156)."""

import re
from xml.etree import ElementTree as ET

from markupsafe import Markup

from builder.reporting.charts import (
    Chart,
    LineSeries,
    ScatterPoint,
    bar_chart,
    format_tick,
    histogram,
    line_chart,
    nice_step,
    scatter_plot,
    series_color,
)

Mark = dict[str, str]


def marks(chart: Markup, kind: str) -> list[Mark]:
    """Attributes of the marks of a chart, with their texts and hints."""
    (found,) = re.findall(r"<svg.*?</svg>", chart, re.DOTALL)
    return [
        {**mark.attrib, "text": mark.text or "", "hint": mark.findtext("title") or ""}
        for mark in ET.fromstring(found).iter(kind)
    ]


def labels(chart: Markup) -> list[tuple[float, float, str, str]]:
    """Place, text and anchor of each label."""
    return [
        (float(t["x"]), float(t["y"]), t["text"], t["text-anchor"]) for t in marks(chart, "text")
    ]


def test_a_line_of_shares() -> None:
    chart = line_chart("T", ["a", "b"], [LineSeries("s", "c", [0.0, 0.75])], as_shares=True)
    assert labels(chart) == [
        (52, 14, "T", "start"),
        (46, 210, "0 %", "end"),
        (46, 120, "50 %", "end"),
        (46, 30, "100 %", "end"),
        (145.5, 222, "a", "middle"),
        (332.5, 222, "b", "middle"),
    ]
    (path,) = marks(chart, "path")
    assert (path["d"], path["class"]) == ("M145.5 206.0L332.5 71.0", "line c")
    assert [(d["cx"], d["cy"], d["class"], d["hint"]) for d in marks(chart, "circle")] == [
        ("145.5", "206.0", "dot c", "s, a: 0.0 %"),
        ("332.5", "71.0", "dot c", "s, b: 75.0 %"),
    ]
    rules = [(r["x1"], r["y1"], r["x2"], r["y2"], r["class"]) for r in marks(chart, "line")]
    assert rules == [("52", y, "426", y, "rule") for y in ("206.0", "116.0", "26.0")]
    assert 'viewBox="0 0 440 240"' in chart
    assert 'aria-label="T"' in chart
    assert '<span class="swatch c" aria-hidden="true"></span>s' in chart


def test_intervals_lie_beside_each_other() -> None:
    series = [LineSeries(f"s{n}", f"c{n}", [0.5], [0.0], [1.0]) for n in range(3)]
    chart = line_chart("T", ["a"], series)
    assert [d["cx"] for d in marks(chart, "circle")] == ["236.0", "239.0", "242.0"]
    whiskers = [r for r in marks(chart, "line") if r["class"].startswith("whisker")]
    assert [(w["x1"], w["y1"], w["x2"], w["y2"], w["class"]) for w in whiskers] == [
        (x, "206.0", x, "26.0", f"whisker c{n}") for n, x in enumerate(("236.0", "239.0", "242.0"))
    ]
    assert marks(chart, "circle")[0]["hint"] == "s0, a: 0.500"
    alone = line_chart("T", ["a"], [LineSeries("s", "c", [0.5]), LineSeries("t", "d", [0.25])])
    assert [d["cx"] for d in marks(alone, "circle")] == ["239.0", "239.0"]


def test_points() -> None:
    chart = scatter_plot("T", [ScatterPoint("p", "c", 0.5, 0.25)], "x", "y", (1.0, 0.0))
    (dot,) = marks(chart, "circle")
    assert (dot["cx"], dot["cy"], dot["hint"]) == ("114.33", "56.0", "p: 0.5000, 0.2500")
    ideal = [r for r in marks(chart, "line") if r["class"] == "ideal"]
    assert [(r["x1"], r["y1"], r["x2"], r["y2"]) for r in ideal] == [
        ("426.0", "26", "426.0", "206"),
        ("52", "206.0", "426", "206.0"),
    ]
    assert [(x, y, text) for x, y, text, anchor in labels(chart) if anchor == "middle"] == [
        (52, 222, "0.4"),
        (176.67, 222, "0.6"),
        (301.33, 222, "0.8"),
        (426, 222, "1"),
    ]
    assert [(x, y, text) for x, y, text, anchor in labels(chart) if anchor == "end"] == [
        (46, 210, "0"),
        (46, 150, "0.1"),
        (46, 90, "0.2"),
        (46, 30, "0.3"),
    ]
    grid = [(r["x1"], r["y1"], r["x2"], r["y2"]) for r in marks(chart, "line")]
    assert grid[:-2] == [
        *(("52", y, "426", y) for y in ("206.0", "146.0", "86.0", "26.0")),
        *((x, "26", x, "206") for x in ("52.0", "176.67", "301.33", "426.0")),
    ]
    assert "T: y against x" in chart


def test_no_tooltip_is_a_negative_zero() -> None:
    points = [ScatterPoint("p", "c", 0.9, -0.0), ScatterPoint("r", "c", 1.0, -0.00002)]
    hints = [dot["hint"] for dot in marks(scatter_plot("T", points, "x", "y", (1, 0)), "circle")]
    assert hints == ["p: 0.9000, 0.0000", "r: 1.0000, -2.0e-05"]
    bars = marks(bar_chart("T", [0.5, -0.0, -0.00002], "c"), "rect")
    assert [bar["hint"] for bar in bars] == ["0.5000", "0.0000", "-2.0e-05"]


def test_long_tick_labels_are_inside_the_picture() -> None:
    chart = scatter_plot("T", [ScatterPoint("p", "c", 0.5, -0.00018)], "x", "y", (1.0, 0.0))
    (place,) = (x for x, _, text, _ in labels(chart) if text == "-0.00015")
    assert place - 7.7 * len("-0.00015") >= 0
    assert place == 62
    assert labels(chart)[0][0] == 68


def test_bars() -> None:
    chart = bar_chart("T", [2.0, -1.0], "c", ticks=("l", "m", "r"))
    bars = [(b["x"], b["y"], b["width"], b["height"], b["hint"]) for b in marks(chart, "rect")]
    assert bars == [
        ("61.35", "26.0", "168.3", "86.67", "2.0000"),
        ("248.35", "112.67", "168.3", "43.33", "-1.0000"),
    ]
    assert labels(chart)[-3:] == [
        (52, 172, "l", "start"),
        (239, 172, "m", "middle"),
        (426, 172, "r", "end"),
    ]
    assert [r["y1"] for r in marks(chart, "line") if r["class"] == "ideal"] == ["112.67"]
    assert 'viewBox="0 0 440 190"' in chart


def test_bins() -> None:
    chart = histogram("T", [1, 0, 0, 3], "c")
    assert [b["hint"] for b in marks(chart, "rect")][1:3] == ["0.25 to 0.50: 0", "0.50 to 0.75: 0"]
    assert [b["height"] for b in marks(chart, "rect")] == ["43.33", "0.0", "0.0", "130.0"]


def test_labels_of_many_positions_are_thinned() -> None:
    names = [f"2022-{n:02d}" for n in range(1, 13)]
    chart = line_chart("T", names, [LineSeries("s", "c", [0.5] * 12)])
    shown = [(x, text) for x, _, text, _ in labels(chart) if text in names]
    assert shown == [
        (67.58, "2022-01"),
        (129.92, "2022-03"),
        (192.25, "2022-05"),
        (254.58, "2022-07"),
        (316.92, "2022-09"),
        (379.25, "2022-11"),
    ]
    last = line_chart("T", ["2022-01"] * 7, [LineSeries("s", "c", [0.5] * 7)])
    assert max(x for x, _, text, _ in labels(last) if text == "2022-01") == 399.29


def test_the_last_label_stays_inside() -> None:
    name = "a-long-name-of-36-letters-of-a-month"
    chart = line_chart("T", [name], [LineSeries("s", "c", [0.5])])
    assert labels(chart)[-1] == (239.0, 222, name, "middle")
    chart = line_chart("T", [name] * 2, [LineSeries("s", "c", [0.5] * 2)])
    assert labels(chart)[-1] == (145.5, 222, name, "middle")


def test_steps_are_1_2_or_5() -> None:
    steps = [nice_step(least) for least in (0.11, 0.2, 0.21, 0.5, 0.51, 1.0, 3.0, 70.0)]
    assert steps == [0.2, 0.2, 0.5, 0.5, 1.0, 1.0, 5.0, 100.0]
    assert [format_tick(v) for v in (-0.0, 0.1 + 0.2, 1e6, 12345678.0)] == [
        "0",
        "0.3",
        "1e+06",
        "1.23457e+07",
    ]
    assert [format_tick(v) for v in (-0.00005, -0.00015, 0.0002)] == [
        "-0.00005",
        "-0.00015",
        "0.0002",
    ]
    assert [nice_step(least) for least in (0.2001, 0.201, 0.0999)] == [0.2, 0.5, 0.1]
    assert [format_tick(v) for v in (0.0001, 0.00009, 1e-12, -1e-12, 123.4567)] == [
        "0.0001",
        "0.00009",
        "0",
        "0",
        "123.457",
    ]
    assert [series_color(n) for n in (0, 7, 8)] == ["series-0", "series-7", "series-0"]


def test_an_interval_needs_both_of_its_ends() -> None:
    line = LineSeries("s", "c", [0.5, 0.5, 0.5], [0.0, None, 0.0], [None, 1.0, 2.0])
    chart = line_chart("T", ["a", "b", "c"], [line])
    whiskers = [r for r in marks(chart, "line") if r["class"] == "whisker c"]
    assert [(w["x1"], w["y1"], w["x2"], w["y2"]) for w in whiskers] == [
        ("363.67", "206.0", "363.67", "26.0")
    ]
    assert [text for _, _, text, anchor in labels(chart) if anchor == "end"] == [
        "0",
        "0.5",
        "1",
        "1.5",
        "2",
    ]


def test_charts_without_values_have_axes() -> None:
    chart = line_chart("T", [], [])
    assert [text for _, _, text, _ in labels(chart)] == ["T", "0", "0.5", "1"]
    assert marks(chart, "circle") == marks(chart, "path") == []
    bars = bar_chart("T", [], "c", ticks=("only",))
    assert labels(bars)[-1] == (52, 172, "only", "start")
    assert marks(bars, "rect") == []
    hints = [bar["hint"] for bar in marks(bar_chart("T", [1, 2], "c", ("one", "two")), "rect")]
    assert hints == ["one", "two"]


def test_a_chart_is_a_file_with_its_styles() -> None:
    text = Chart("A & B", height=120).render_svg_file()
    assert text.startswith(
        '<svg xmlns="http://www.w3.org/2000/svg" width="440" height="120" viewBox="0 0 440 120" '
        'role="img" aria-label="A &amp; B" class="chart">\n<style>\n'
    )
    assert text.endswith(
        '</style>\n<rect width="440" height="120" class="paper"></rect>\n'
        '<text x="52" y="14" text-anchor="start" class="label">A &amp; B</text>\n</svg>\n'
    )
    assert ".paper" in text
