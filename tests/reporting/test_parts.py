"""Parts of reports: escaped once, sortable, with what a screen reader needs."""

import re

import pytest
from markupsafe import Markup

from builder.reporting.parts import (
    Cell,
    Segment,
    collapsible,
    heat_map,
    integer_cell,
    share_cell,
    stacked_bars,
    table,
    upset_plot,
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
        HOSTILE, ("Name", "Count", "Share"), [[HOSTILE, integer_cell(1234), share_cell(0.25)]]
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
    found = stacked_bars([("2022-06", [Segment("kept", 3, "added"), Segment("new", 1, "removed")])])
    assert "3 kept, 1 new" in found
    assert 'style="width:75.000%" title="kept: 3"' in found
    assert "nothing" in stacked_bars([("2022-06", [Segment("kept", 0, "added")])])


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
