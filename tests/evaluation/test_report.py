import re

import pytest

from builder.evaluation.evaluator import evaluate
from builder.evaluation.parameters import EvaluationParameters
from builder.evaluation.reports.page import html_report

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


def test_the_page_is_complete_and_offline(page: str) -> None:
    assert page.startswith("<!doctype html>")
    assert page.endswith("</html>")
    assert not re.search(r"<(link|img|iframe)|url\(|@import|src=|https?://", page)
    assert set(re.findall(r'href="(.)', page)) == {"#"}


def test_a_legend_is_in_the_same_grid_cell_as_its_chart(page: str) -> None:
    cells = re.findall(r'<div class="cell"><ul class="key">.*?</ul>\s*<svg[^>]*>', page, re.DOTALL)
    assert len(cells) == page.count('<ul class="key">') == 6


def test_charts_of_many_pairs_of_snapshots_are_folded(make_qrels, make_run) -> None:
    months = [f"2022-{month:02d}" for month in range(1, 13)]
    qrels = dict.fromkeys(months, make_qrels([("q1", "a", 1), ("q2", "b", 1)]))
    runs = {
        "bm25": dict.fromkeys(months, make_run({"q1": ["a", "b"], "q2": ["a", "b"]})),
        "s": dict.fromkeys(months, make_run({"q1": ["b", "a"], "q2": ["a", "b"]})),
    }
    page = html_report(evaluate(qrels, runs, EvaluationParameters(("P@1",), "bm25", resamples=0)))
    assert re.findall(r"<summary>(.*?)</summary>", page) == ["Drop per query: 22 charts"]


def test_drops_are_drawn_from_the_largest_to_the_smallest(make_qrels, make_run) -> None:
    """q1 loses P@1, q2 gains it: the first bar rises from zero, the second falls."""
    qrels = dict.fromkeys(
        ("2022-06", "2022-07"), make_qrels([("q1", "a", 1), ("q2", "a", 1), ("q3", "a", 1)])
    )
    runs = {
        "s": {
            "2022-06": make_run({"q1": ["a"], "q2": ["b"], "q3": ["a"]}),
            "2022-07": make_run({"q1": ["b"], "q2": ["a"], "q3": ["a"]}),
        }
    }
    page = html_report(evaluate(qrels, runs, EvaluationParameters(("P@1",), resamples=0)))
    (chart,) = re.findall(
        r'aria-label="s, 2022-06 to 2022-07: drop in P@1".*?</svg>', page, re.DOTALL
    )
    assert re.findall(r"<rect.*?<title>(.*?)</title>", chart) == ["1.0000", "0.0000", "-1.0000"]


def test_names_are_escaped(page: str) -> None:
    assert "alert" in page
    assert "&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt;&amp;" in page
    assert NASTY not in page


def test_every_chart_of_the_paper_is_there(page: str) -> None:
    titles = re.findall(r'aria-label="([^"]*)" class="chart"', page)
    assert titles[:2] == ["Mean nDCG", "Mean P@1"]
    pairs = [title for title in titles if "effect ratio" in title]
    assert pairs == [
        "nDCG, 2022-06 to 2022-07: delta RI against effect ratio",
        "P@1, 2022-06 to 2022-07: delta RI against effect ratio",
    ]
    assert "better, 2022-06 to 2022-07: drop in nDCG" in titles
    assert page.count('<table class="sortable">') == 2
    assert "nan" not in page.lower().replace("significance", "")
