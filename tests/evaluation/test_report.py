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


@pytest.fixture(scope="module")
def small_page(make_qrels, make_run) -> str:
    """Two snapshots share q1 and q2. Average precisions of bm25 and of mono there:

    June 1, 1/2 and 1, 1; July 1, 1/2 and 1, 1/4. In June, q3 is judged too: 1/2 and missing; in
    July q4, without a relevant document.
    """
    june = make_qrels([("q1", "a", 1), ("q2", "a", 1), ("q3", "a", 1)])
    july = make_qrels([("q1", "a", 1), ("q2", "a", 1), ("q4", "b", 0)])
    runs = {
        "bm25": {
            "2022-06": make_run({"q1": ["a", "b"], "q2": ["b", "a"], "q3": ["b", "a"]}),
            "2022-07": make_run({"q1": ["a"], "q2": ["b", "a"], "q4": ["b"]}),
        },
        "mono": {
            "2022-06": make_run({"q1": ["a"], "q2": ["a"], "q9": ["a"]}),
            "2022-07": make_run({"q1": ["a"], "q2": ["b", "c", "d", "a"]}),
        },
    }
    parameters = EvaluationParameters(("AP", "RR"), "bm25", resamples=0)
    return html_report(evaluate({"2022-06": june, "2022-07": july}, runs, parameters))


def test_tables_of_a_page_by_hand(small_page: str) -> None:
    columns = (
        "measure system snapshot queries missing unjudged mean ci_low ci_high re_delta_drop "
        "rnd_absolute_drop delta_ri effect_ratio p_unpaired p_welch p_pivot"
    ).split()
    tables = re.findall(r"<table.*?</table>", small_page, re.DOTALL)
    for table in tables:
        header = re.findall(r"<th .*?<button[^>]*>(.*?)</button>", table)
        assert [name.replace("<wbr>", "") for name in header] == columns
        assert header[6:9] == ["mean", "ci_<wbr>low", "ci_<wbr>high"]
    full, core = (
        [" ".join(re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)) for row in rows]
        for rows in (re.findall(r"<tr><th.*?</tr>", table) for table in tables)
    )
    assert full[:4] == [
        "AP bm25 2022-06 3 0 0 0.6667 – – – – – – – – –",
        "AP bm25 2022-07 3 0 0 0.5000 – – 0.2500 0.1667 – – 0.6433 0.6495 –",
        "AP mono 2022-06 3 1 1 0.6667 – – – – – – – – 1.0000",
        "AP mono 2022-07 3 1 0 0.4167 – – 0.3750 0.2500 0.1667 – 0.6072 0.6075 0.4226",
    ]
    assert core[:4] == [
        "AP bm25 2022-06 2 0 0 0.7500 – – – – – – – – –",
        "AP bm25 2022-07 2 0 0 0.7500 – – 0.0000 0.0000 – – 1.0000 1.0000 –",
        "AP mono 2022-06 2 0 1 1.0000 – – – – – – – – 0.5000",
        "AP mono 2022-07 2 0 0 0.6250 – – 0.3750 0.3750 0.5000 -0.5000 0.4226 0.5000 0.5000",
    ]
    assert [row.split()[0] for row in core] == ["AP"] * 4 + ["RR"] * 4
    numbers = re.findall(r'data-value="(.*?)">(.*?)<', tables[1])[:5]
    assert numbers == [("2.0", "2"), *[("0.0", "0")] * 2, ("0.75", "0.7500"), ("-1e+300", "–")]


def test_charts_of_a_page_by_hand(small_page: str) -> None:
    charts = dict(
        re.findall(r'aria-label="([^"]*)" class="chart">(.*?)</svg>', small_page, re.DOTALL)
    )
    full = small_page.partition('<section id="core"')[0]
    hints = re.findall(r'class="dot (series-\d)"><title>(.*?)</title>', full)
    assert hints[:4] == [
        ("series-0", "bm25, 2022-06: 0.667"),
        ("series-0", "bm25, 2022-07: 0.500"),
        ("series-1", "mono, 2022-06: 0.667"),
        ("series-1", "mono, 2022-07: 0.417"),
    ]
    pair = charts["AP, 2022-06 to 2022-07: delta RI against effect ratio"]
    assert re.findall(r'class="dot (.*?)"><title>(.*?)</title>', pair) == [
        ("series-1", "mono: -0.5000, 0.5000")
    ]
    assert re.findall(r'<line x1="(.*?)" y1="(.*?)" [^>]*class="ideal">', pair) == [
        ("426.0", "26"), ("52", "206.0")
    ]  # fmt: skip
    drops = {
        name: re.findall(r'class="(series-\d)"><title>(.*?)</title>', charts[name])
        for name in charts
        if "drop in" in name
    }
    assert drops == {
        "bm25, 2022-06 to 2022-07: drop in AP": [("series-0", "0.0000"), ("series-0", "0.0000")],
        "mono, 2022-06 to 2022-07: drop in AP": [("series-1", "0.7500"), ("series-1", "0.0000")],
    }
    assert list(charts) == [
        "Mean AP", "Mean RR",
        *(f"{m}, 2022-06 to 2022-07: delta RI against effect ratio" for m in ("AP", "RR")),
        *drops,
    ]  # fmt: skip


def test_texts_of_a_page(small_page: str) -> None:
    note = (
        "Note: no confidence interval for bm25 2022-06, mono 2022-06, bm25 2022-07, mono 2022-07: "
        "no resamples were requested."
    )
    legend = (
        "A positive drop means that the score decreased. An effect ratio of 1 and a delta RI of 0 "
        "mean that the difference between a system and the pivot did not change. Vertical lines "
        "show bootstrap intervals."
    )
    assert re.findall(r"<(?:h1|h2|p|caption)[^>]*>(.*?)</(?:h1|h2|p|caption)>", small_page) == [
        "Effectiveness over time",
        *re.findall(r'<p class="subtitle">(.*?)</p>', small_page),
        legend,
        *("Full queries", "All judged queries of each snapshot.", "<span>Full queries</span>"),
        note,
        *("Core queries", "Queries that are judged in every snapshot."),
        *("<span>Core queries</span>", note),
        *("Drop per query", "Queries judged in both snapshots, sorted by drop."),
    ]
    assert re.findall(r'<a href="(.*?)">(.*?)</a>', small_page) == [
        ("#full", "Full queries"), ("#core", "Core queries"), ("#drops", "Drop per query")
    ]  # fmt: skip
    assert "measures:AP+RR|<wbr>depth:1000|<wbr>pivot:bm25|<wbr>" in small_page
    assert (
        "A drop is the score in the earlier snapshot minus the score in the later one.\n"
        in small_page
    )


def test_charts_of_many_pairs_of_snapshots_are_folded(make_qrels, make_run) -> None:
    months = [f"2022-{month:02d}" for month in range(1, 13)]
    qrels = dict.fromkeys(months, make_qrels([("q1", "a", 1), ("q2", "b", 1)]))
    runs = {
        "bm25": dict.fromkeys(months, make_run({"q1": ["a", "b"], "q2": ["a", "b"]})),
        "s": dict.fromkeys(months, make_run({"q1": ["b", "a"], "q2": ["a", "b"]})),
    }
    page = html_report(evaluate(qrels, runs, EvaluationParameters(("P@1",), "bm25", resamples=0)))
    assert re.findall(r"<summary>(.*?)</summary>", page) == ["Drop per query: 22 charts"]


@pytest.mark.parametrize(("months", "folded"), [(9, []), (10, ["full", "core"])])
def test_sixteen_charts_of_pairs_are_not_folded(
    make_qrels, make_run, months: int, folded: list[str]
) -> None:
    """A delta RI and an effect ratio of `s` for two measures and every later month."""
    names = [f"2022-{month:02d}" for month in range(1, months + 1)]
    qrels = dict.fromkeys(names, make_qrels([("q1", "a", 1), ("q2", "b", 1)]))
    runs = {
        "bm25": dict.fromkeys(names, make_run({"q1": ["a", "b"], "q2": ["a", "b"]})),
        "s": dict.fromkeys(names, make_run({"q1": ["b", "a"], "q2": ["a", "c"]})),
    }
    parameters = EvaluationParameters(("AP", "RR"), "bm25", resamples=0)
    page = html_report(evaluate(qrels, runs, parameters))
    count = 2 * (months - 1)
    assert re.findall(r"<summary>(.*?)</summary>", page) == [
        *(f"Delta RI against effect ratio: {count} charts" for _ in folded),
        *(f"Drop per query: {count} charts" for _ in folded[:1]),
    ]
    means = page.count('class="chart">') - 3 * count
    assert means == 4


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
