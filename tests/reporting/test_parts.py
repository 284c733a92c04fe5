"""Parts of reports: escaped once, sortable, with what a screen reader needs."""

import re

import pytest
from markupsafe import Markup

from builder.reporting.parts import (
    BarSegment,
    Cell,
    bullet_list,
    collapsible,
    decimal_cell,
    empty_note,
    figure,
    grid,
    heat_map,
    html_table,
    integer_cell,
    paragraph,
    percentage_cell,
    section,
    side_by_side_figures,
    span,
    stacked_bars,
    subheading,
    table,
    upset_plot,
    warning,
)
from builder.reporting.render import join_markup, render_page

HOSTILE = '<img src=x onerror="a">'
ESCAPED = "&lt;img src=x onerror=&#34;a&#34;&gt;"


def test_content_is_escaped_once() -> None:
    assert join_markup(["a", Markup("<br>"), ("b", ["<"]), None, 3]) == "a<br>b&lt;3"
    assert str(collapsible(HOSTILE, join_markup("<"))).strip() == (
        f"<details><summary>{ESCAPED}</summary>&lt;</details>"
    )


def test_a_table_is_text_with_values_to_sort_by() -> None:
    found = table(
        HOSTILE, ("Name", "Count", "Share"), [[HOSTILE, integer_cell(1234), percentage_cell(0.25)]]
    )
    assert HOSTILE not in found
    assert found.count(ESCAPED) == 3
    assert '<th scope="col"><button type="button">Name</button></th>' in found
    assert '<th scope="col" class="number"><button type="button">Count</button></th>' in found
    assert '<td class="number" data-value="1234">1,234</td>' in found
    assert '<td class="number bar-cell" data-value="0.25" style="--bar:25.0%">25.0 %</td>' in found
    assert '<th scope="row"' in found


def test_a_table_without_rows_has_its_headings() -> None:
    assert "<button" in table("Nothing", ("Name",), [])


def test_a_missing_number_sorts_last() -> None:
    assert integer_cell(None) == Cell("\N{EN DASH}", -1e300)


def test_bars_say_their_numbers() -> None:
    found = stacked_bars(
        [("2022-06", [BarSegment("kept", 3, "added"), BarSegment("new", 1, "removed")])]
    )
    assert "3 kept, 1 new" in found
    assert 'style="width:75.000%" title="kept: 3"' in found
    assert "nothing" in stacked_bars([("2022-06", [BarSegment("kept", 0, "added")])])


@pytest.mark.parametrize(("columns", "kind"), [(3, "heat "), (9, "heat wide"), (36, "tiny wide")])
def test_a_map_of_many_columns_gives_way(columns: int, kind: str) -> None:
    names = [f"m{n}" for n in range(columns)]
    cells = [[0.5, None, 0.9, *[0.0] * (columns - 3)]]
    found = heat_map("Overlap", ["row"], names, cells, [[f"t{n}" for n in range(columns)]])
    assert f'{kind}"' in found
    assert '<td style="--shade:50.0%" title="t0"><span>t0</span></td>' in found
    assert '<td class="empty" title="t1">' in found
    assert '<td style="--shade:90.0%"' in found


def test_counts_of_intersections_come_before_the_dots() -> None:
    names = [f"2022-{n:02d}" for n in range(1, 10)]
    found = upset_plot("Queries", names, [(["2022-01"], 1200), (None, 7)])
    (first,) = re.findall(r"<tbody>\s*<tr>(<td[^>]*>[^<]*</td>)", found)
    assert first == '<td class="number bar-cell" style="--bar:100.0%">1,200</td>'
    assert 'class="upset tall wide"' in found
    assert found.count('class="dot-on"') == 1
    assert found.count('class="dot-off"') == 8
    assert '<td colspan="9">all other combinations</td>' in found


def test_a_page_is_complete() -> None:
    document = render_page(HOSTILE, "Heading", "Line", [("one", "One")], "<", "Foot")
    assert document.startswith("<!doctype html>")
    assert HOSTILE not in document
    assert "default-src &#39;none&#39;" in document
    assert '<a href="#one">One</a>' in document
    assert "<main>\n&lt;\n</main>" in document


def test_classes_of_cells() -> None:
    assert Cell("x" * 24).css_classes == ""
    assert Cell("x" * 25).css_classes == "long"
    assert Cell(Markup("x" * 25)).css_classes == ""
    assert Cell("1", 1.0).css_classes == "number"
    assert Cell("1", 0.0, 0.0).css_classes == "number bar-cell"
    assert Cell(["<", 1]).markup == "&lt;1"


def test_bars_of_cells_stay_inside() -> None:
    widths = [Cell("", bar=bar).bar_width for bar in (None, -0.1, 0.0, 0.126, 1.0, 1.5)]
    assert widths == [None, "0.0", "0.0", "12.6", "100.0", "100.0"]
    assert percentage_cell(0.25, 0.5) == Cell("25.0 %", 0.25, 0.5)
    assert percentage_cell(0.25, 0.0) == Cell("25.0 %", 0.25, 0.0)
    assert percentage_cell(None) == Cell("\N{EN DASH}", -1e300, None)
    assert decimal_cell(0.12345, 2) == Cell("0.12", 0.12345)
    assert decimal_cell(None) == Cell("\N{EN DASH}", -1e300)


@pytest.mark.parametrize(
    ("columns", "kind"), [(6, "heat "), (7, "heat wide"), (12, "heat wide"), (13, "heat tiny wide")]
)
def test_widths_of_maps(columns: int, kind: str) -> None:
    names = [str(n) for n in range(columns)]
    found = heat_map("M", ["r", "s"], names, [[0.5] * columns] * 2, [["t"] * columns, names])
    assert f'<table class="{kind}">' in found
    last = columns - 1
    assert f'<td style="--shade:50.0%" title="{last}"><span>{last}</span></td></tr>' in found


@pytest.mark.parametrize(("count", "kind"), [(6, "upset "), (7, "upset tall wide")])
def test_widths_of_intersections(count: int, kind: str) -> None:
    names = [str(n) for n in range(count)]
    found = upset_plot("I", names, [(["0"], 4), (["0", "1"], 1)])
    assert f'<table class="{kind}">' in found
    assert re.findall(r"--bar:([\d.]+)%", found) == ["100.0", "25.0"]
    assert "--bar:0.0%" in upset_plot("I", names, [(["0"], 0)])


def test_bars_share_one_scale_and_legend() -> None:
    rows = [
        ("a", [BarSegment("kept", 3, "x"), BarSegment("new", 1000, "y")]),
        ("b", [BarSegment("kept", 0, "x"), BarSegment("gone", 17, "z")]),
    ]
    found = stacked_bars(rows)
    assert re.findall(r'swatch (\w)" aria-hidden="true"></span>(\w+)', found) == [
        ("x", "kept"),
        ("y", "new"),
        ("z", "gone"),
    ]
    assert re.findall(r'segment (\w)" style="width:([\d.]+)%" title="([^"]*)"', found) == [
        ("x", "0.299", "kept: 3"),
        ("y", "99.701", "new: 1,000"),
        ("z", "1.695", "gone: 17"),
    ]
    assert re.findall(r'class="bar-text">([^<]*)<', found) == ["3 kept, 1,000 new", "17 gone"]


def test_elements() -> None:
    assert str(section("i", "H", "L", "c", None)).split("\n") == [
        '<section id="i" aria-labelledby="i-heading">',
        '<h2 id="i-heading">H</h2>',
        '<p class="lead">L</p>',
        "c",
        "</section>",
        "",
    ]
    assert '<p class="lead">' not in section("i", "H", None)
    assert str(figure("T", "b", "n")).split("\n") == [
        "<figure><figcaption>T</figcaption>b",
        '<p class="note">n</p></figure>',
        "",
    ]
    assert "note" not in figure("T", "b")
    assert str(grid("a", "b")) == '<div class="grid">ab</div>\n'
    assert str(side_by_side_figures("a", "b")) == '<div class="twins">ab</div>\n'
    assert str(empty_note("x")) == '<p class="nothing">x</p>\n'
    assert str(paragraph("x", "note")) == '<p class="note">x</p>\n'
    assert str(subheading("x")) == "<h3>x</h3>\n"
    assert str(collapsible("s", "c", is_open=True)) == (
        "<details open><summary>s</summary>c</details>\n"
    )
    assert str(bullet_list(["a", "<"], "k")) == (
        '<ul class="k">\n<li>a</li>\n<li>&lt;</li>\n</ul>\n'
    )
    assert str(bullet_list(["a"])).startswith("<ul>\n")
    assert str(span("x", "name")) == '<span class="name">x</span>'
    assert str(warning("H", "L", ["a"])) == (
        '<div class="warning"><h3>H</h3><p>L</p>\n<ul>\n<li>a</li>\n</ul>\n</div>\n'
    )
    assert html_table("C", ("a", "b"), [("x", 1234)]) == (
        "<table><caption>C</caption><tr><th>a</th><th>b</th></tr>"
        "<tr><td>x</td><td>1,234</td></tr></table>"
    )


def test_a_table_that_stacks_names_its_columns() -> None:
    found = table("C", ("One", "It's"), [["a", "b"]], stack_when_narrow=True)
    assert '<table class="sortable stacked" style="--label-1:\'One: \';' in found
    assert '<table class="sortable">' in table("C", ("One",), [["a"]])
    assert '<th scope="col"><button type="button">Two</button>' in table(
        "C", ("One", "Two"), [[Cell("1", 1.0)]]
    )


def test_a_whole_table() -> None:
    found = table("C", ("Name", "n"), [["<a>", integer_cell(5)], [Cell("b"), percentage_cell(0.5)]])
    assert str(found).split("\n") == [
        '<div class="scroll" tabindex="0" role="region" aria-label="C"><table class="sortable">',
        "<caption><span>C</span></caption>",
        "<thead><tr>",
        '<th scope="col"><button type="button">Name</button></th>',
        '<th scope="col" class="number"><button type="button">n</button></th>',
        "</tr></thead>",
        "<tbody>",
        '<tr><th scope="row">&lt;a&gt;</th><td class="number" data-value="5">5</td></tr>',
        (
            '<tr><th scope="row">b</th><td class="number bar-cell" data-value="0.5" '
            'style="--bar:50.0%">50.0 %</td></tr>'
        ),
        "</tbody>",
        "</table></div>",
        "",
    ]


def test_a_whole_map_and_whole_plot() -> None:
    found = heat_map("M", ["r"], ["x", "y"], [[0.256, None]], [["t", ""]])
    assert str(found).split("\n") == [
        '<div class="scroll" tabindex="0" role="region" aria-label="M"><table class="heat ">',
        "<caption><span>M</span></caption>",
        (
            '<thead><tr><td></td><th scope="col"><span>x</span></th>'
            '<th scope="col"><span>y</span></th>'
            "</tr></thead>"
        ),
        "<tbody>",
        (
            '<tr><th scope="row">r</th><td style="--shade:25.6%" title="t"><span>t</span></td>'
            '<td class="empty" title=""><span></span></td></tr>'
        ),
        "</tbody>",
        "</table></div>",
        "",
    ]
    found = upset_plot("I", ["a", "b"], [(["b"], 3), (None, 2)])
    assert str(found).split("\n") == [
        '<div class="scroll" tabindex="0" role="region" aria-label="I"><table class="upset ">',
        "<caption><span>I</span></caption>",
        '<thead><tr><th scope="col" class="number">only there</th>',
        '<th scope="col" class="dot-head"><span>a</span></th>',
        '<th scope="col" class="dot-head"><span>b</span></th>',
        "</tr></thead>",
        "<tbody>",
        (
            '<tr><td class="number bar-cell" style="--bar:100.0%">3</td><td class="dot-off">'
            '<span class="unseen">not in</span></td>'
            '<td class="dot-on"><span class="unseen">in</span>'
            "</td></tr>"
        ),
        (
            '<tr><td class="number bar-cell" style="--bar:66.7%">2</td>'
            '<td colspan="2">all other combinations</td></tr>'
        ),
        "</tbody>",
        "</table></div>",
        "",
    ]


def test_whole_bars_and_their_legend() -> None:
    rows = [("June", [BarSegment("kept", 3, "x"), BarSegment("new", 0, "y")]), ("July", [])]
    assert str(stacked_bars(rows)).split("\n") == [
        '<ul class="key">',
        '<li><span class="swatch x" aria-hidden="true"></span>kept</li>',
        "</ul>",
        '<ul class="bars">',
        (
            '<li><span class="bar-label">June</span><span class="bar" aria-hidden="true"><span '
            'class="segment x" style="width:100.000%" title="kept: 3"></span></span>'
            '<span class="bar-text">3 kept</span></li>'
        ),
        (
            '<li><span class="bar-label">July</span><span class="bar" aria-hidden="true"></span>'
            '<span class="bar-text">nothing</span></li>'
        ),
        "</ul>",
        "",
    ]
    assert str(stacked_bars([])) == '<ul class="key">\n</ul>\n<ul class="bars">\n</ul>\n'
