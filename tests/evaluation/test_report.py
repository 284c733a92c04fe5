import re
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from builder.evaluation.charts import Point, Series, _Scale, bars, lines, scatter
from builder.evaluation.evaluator import evaluate
from builder.evaluation.parameters import EvaluationParameters
from builder.evaluation.report import html_report

SVG = "{http://www.w3.org/2000/svg}"
NASTY = '<script>alert("x")</script>&\'"'


@pytest.fixture(scope="module")
def page(make_qrels, make_run) -> str:
    qrels = {
        "2022-06": make_qrels([("q1", "a", 1), ("q2", "b", 1), ("q3", "a", 2)]),
        "2022-07": make_qrels([("q1", "a", 1), ("q2", "b", 1)]),
        "2022-08": make_qrels([]),
    }
    good = make_run({"q1": ["a", "b"], "q2": ["b", "a"], "q3": ["a"]})
    bad = make_run({"q1": ["b", "a"], "q2": ["b"]})
    runs = {
        "bm25": dict.fromkeys(qrels, bad),
        NASTY: {"2022-06": good, "2022-07": bad},
        "better": dict.fromkeys(qrels, good),
    }
    parameters = EvaluationParameters(("nDCG", "P@1"), "bm25", resamples=20)
    return html_report(evaluate(qrels, runs, parameters))


def charts(page: str) -> list[ET.Element]:
    return [ET.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def test_the_page_is_complete_and_offline(page: str) -> None:
    assert page.startswith("<!DOCTYPE html>")
    assert page.endswith("</html>\n")
    addresses = set(re.findall(r"https?://[^\"<]*", page))
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(script|link|img|iframe)|url\(|@import|src=|href=", page)


def test_names_are_escaped(page: str) -> None:
    assert "alert" in page
    assert "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;" in page
    assert NASTY not in page


def test_every_chart_of_the_paper_is_there(page: str) -> None:
    titles = [chart.find(f"{SVG}title").text for chart in charts(page)]
    assert titles[:2] == ["nDCG", "P@1"]
    assert "nDCG, 2022-06 to 2022-07" in titles
    assert "better, 2022-06 to 2022-07" in titles
    assert f"{NASTY}, 2022-06 to 2022-07" in titles
    assert page.count("<table>") == 2
    assert "nan" not in page.lower().replace("significance", "")


def test_nothing_is_drawn_outside(page: str) -> None:
    for chart in charts(page):
        _, _, width, height = map(float, chart.get("viewBox").split())
        for circle in chart.iter(f"{SVG}circle"):
            assert 0 <= float(circle.get("cx")) <= width
            assert 0 <= float(circle.get("cy")) <= height
        for line in chart.iter(f"{SVG}line"):
            assert all(
                0 <= float(line.get(k)) <= max(width, height) for k in ("x1", "x2", "y1", "y2")
            )


def test_lines_break_where_a_value_is_missing() -> None:
    series = Series("s", 0, [0.1, None, 0.3, 0.4], [0.0, None, None, 0.3], [0.2, None, None, 0.5])
    chart = ET.fromstring(lines("t", ["a", "b", "c", "d"], [series], "mean"))
    path = [p.get("d") for p in chart.iter(f"{SVG}path")]
    assert re.fullmatch(r"M[\d. ]+M[\d. ]+L[\d. ]+", path[0])
    labels = [c.find(f"{SVG}title").text for c in chart.iter(f"{SVG}circle")]
    assert labels == ["s, a: 0.1000", "s, c: 0.3000", "s, d: 0.4000", "s"]


def test_labels_have_room() -> None:
    months = [f"2022-{month:02d}" for month in range(1, 13)]
    values = [0.5] * len(months)
    systems = [Series(f"s{n}", n, values, values, values) for n in range(30)]
    chart = ET.fromstring(lines("t", months, systems, "mean"))
    texts = list(chart.iter(f"{SVG}text"))
    labels = [text for text in texts if text.text in months]
    places = [float(label.get("x")) for label in labels]
    assert labels[0].text == "2022-01"
    assert min(b - a for a, b in pairwise(places)) >= 45
    assert max(float(text.get("y")) for text in texts) < 300
    shown = [text.text for text in texts if re.fullmatch(r"s\d+", text.text)]
    assert f"and {30 - len(shown)} more" in [text.text for text in texts]


def test_higher_is_further_up_and_right() -> None:
    chart = ET.fromstring(
        scatter("t", [Point("a", 0, 0.5, -0.1), Point("b", 1, 2.0, 0.2)], "x", "y", (1, 0))
    )
    (a, b, *_) = list(chart.iter(f"{SVG}circle"))
    assert float(a.get("cx")) < float(b.get("cx"))
    assert float(a.get("cy")) > float(b.get("cy"))
    assert a.get("fill") != b.get("fill")
    assert sum(line.get("class") == "ideal" for line in chart.iter(f"{SVG}line")) == 2


def test_bars_are_sorted_and_meet_at_zero() -> None:
    chart = ET.fromstring(bars("t", [-0.2, 0.5, 0.1], "query", "drop"))
    (path,) = chart.iter(f"{SVG}path")
    bar = re.findall(r"M([\d.]+) ([\d.]+)h[\d.]+V([\d.]+)", path.get("d"))
    tops = [float(top) for _, _, top in bar]
    assert tops == sorted(tops)
    (zero,) = {float(base) for _, base, _ in bar}
    assert tops[0] < zero < tops[-1]
    assert ET.fromstring(bars("t", [], "query", "drop")) is not None


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([0.0, 1.0], [0, 0.5, 1]),
        ([0.012, 0.038], [0.01, 0.02, 0.03, 0.04]),
        ([-0.31, 17.4], [-5, 0, 5, 10, 15, 20]),
        ([0.3, 0.3], [-0.5, 0.0, 0.5, 1.0]),
        ([], [0, 0.5, 1]),
    ],
)
def test_ticks_are_round_and_hold_all_values(values: list[float], ticks: list[float]) -> None:
    scale = _Scale(values, 0, 100)
    assert scale.ticks() == pytest.approx(ticks)
    assert all(0 <= scale(value) <= 100 for value in values)
