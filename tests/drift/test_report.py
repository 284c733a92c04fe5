"""The report: nothing from data is markup, nothing leaves the page, it reads without a script."""

import html
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from builder.drift import render_report
from builder.drift.measure import measure_without_clicks
from builder.drift.report.findings import list_findings
from builder.drift.report.undecided import list_undecided_checks
from builder.drift.series import SnapshotSeries
from builder.parameters import ChangeParameters
from builder.reporting import numbers
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from schemas import Documents, Qrels, Queries
from tests.drift.worlds import (
    Rules,
    World,
    first_months,
    frame,
    observe,
    page,
    qrel,
    query,
    store,
)
from tests.thorough import ALL

SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(2)>'
VOID = {"meta", "br", "hr", "col"}


@pytest.fixture(scope="module")
def drift(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Three months of a world whose second change is one of construction."""
    world = World(seed=2, topics=4, queries_per_topic=25, pages_per_query=4)
    rules = (Rules(), Rules(), Rules(cuts=(0.3, 0.6)))
    months = {f"2022-0{6 + n}": observe(world, rules[n], n) for n in range(3)}
    series, limits = store(tmp_path_factory.mktemp("world"), months)
    return measure_without_clicks(series, ChangeParameters(), limits, NoProgress())


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Pages, queries and topics that try to be markup."""
    before = (
        frame([page("https://site.fr/a", SCRIPT, "un deux trois")], Documents),
        frame([query(IMAGE, SCRIPT)], Queries),
        frame([qrel(IMAGE, "https://site.fr/a", 1)], Qrels),
    )
    after = (
        frame([page("https://site.fr/a", SCRIPT, "quatre cinq")], Documents),
        frame([query(SCRIPT + "</script>", IMAGE)], Queries),
        frame([qrel(SCRIPT, "https://site.fr/a", 1)], Qrels),
    )
    months = {"2022-06": before, "2022-07": after}
    series, limits = store(tmp_path_factory.mktemp("hostile"), months)
    return measure_without_clicks(series, ChangeParameters(), limits, NoProgress())


class Outline(HTMLParser):
    """Elements of a document with their attributes, and its text."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(document)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)


def test_data_is_text(hostile: dict[str, Any]) -> None:
    outline = Outline(render_report(hostile))
    assert outline.count("script") == 1
    assert outline.count("img") == 0
    assert SCRIPT in outline.text
    assert IMAGE in outline.text
    assert not [a for _, attributes in outline.elements for a in attributes if a.startswith("on")]


def test_every_element_is_closed(drift: dict[str, Any]) -> None:
    assert Outline(render_report(drift)).open == []


def test_nothing_leaves_the_page(drift: dict[str, Any]) -> None:
    document = render_report(drift)
    outline = Outline(document)
    links = [
        attributes[name]
        for _, attributes in outline.elements
        for name in attributes
        if name in ("href", "src", "action", "data", "srcset")
    ]
    assert links
    assert all(link is not None and link.startswith("#") for link in links)
    assert "url(" not in document
    assert "@import" not in document
    assert "default-src 'none'" in document.replace("&#39;", "'")
    assert len(document) < 400_000


def test_links_lead_somewhere(drift: dict[str, Any]) -> None:
    outline = Outline(render_report(drift))
    names = [attributes["id"] for _, attributes in outline.elements if "id" in attributes]
    assert len(names) == len(set(names))
    targets = [a["href"] for tag, a in outline.elements if tag == "a"]
    assert {str(target)[1:] for target in targets} <= set(names)


def test_what_a_screen_reader_needs(drift: dict[str, Any]) -> None:
    outline = Outline(render_report(drift))
    for tag, attributes in outline.elements:
        if tag == "svg":
            assert attributes["role"] == "img"
            assert attributes["aria-label"]
        if tag == "th":
            assert attributes["scope"] in ("row", "col")
        if attributes.get("tabindex") == "0":
            assert attributes["aria-label"]
    assert outline.count("table") == outline.count("caption")
    headings = [int(tag[1]) for tag, _ in outline.elements if re.fullmatch(r"h[1-6]", tag)]
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(headings))
    assert ("html", {"lang": "en"}) in outline.elements


def test_findings_begin_with_the_construction(drift: dict[str, Any]) -> None:
    found = list_findings(drift)
    assert found[0].is_warning
    assert "the grade thresholds changed" in "".join(f.text for f in found if f.is_warning)
    plain = [f.text for f in found if not f.is_warning]
    assert any(
        re.match(r"[\d.]+ % of the \d+ pages of 2022-06 are still in 2022-08", t) for t in plain
    )
    assert any("kept their grade" in text for text in plain)


def test_numbers_of_the_page_are_those_of_the_file(drift: dict[str, Any]) -> None:
    text = Outline(render_report(json.loads(json.dumps(drift)))).text
    for row in drift["snapshots"]:
        assert numbers.format_count(row["documents"]) in text
        assert numbers.format_count(row["tokens"]) in text
    for pair in drift["pairs"]:
        assert f"{pair['documents']['updated']} updated" in text
        assert numbers.format_percent(pair["qrels"]["flip_rate"]) in text
        for word in pair["documents"]["most_rewritten"]:
            assert word["url_key"] in text


def test_same_numbers_same_page(drift: dict[str, Any]) -> None:
    assert render_report(drift) == render_report(json.loads(json.dumps(drift)))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.0, "0.0 %"),
        (0.0004, "< 0.1 %"),
        (0.3416, "34.2 %"),
        (0.9999, "> 99.9 %"),
        (1.0, "100.0 %"),
    ],
)
def test_shares_are_not_rounded_away(value: float | None, text: str) -> None:
    assert numbers.format_percent(value) == text


def test_what_could_not_be_seen_is_listed(drift: dict[str, Any]) -> None:
    blind = list_undecided_checks(drift)
    assert any(text.startswith("Does the crawl contain the shown pages?") for text in blind)
    assert (
        f'Checks with the answer "cannot tell" ({len(blind)})' in Outline(render_report(drift)).text
    )


def calm(drift: dict[str, Any]) -> dict[str, Any]:
    """The same without a change of construction."""
    checks = [
        c | {"verdict": "clear"} if c["verdict"] == "construction" else c for c in drift["checks"]
    ]
    return drift | {"checks": checks}


def test_no_check_found_anything(drift: dict[str, Any]) -> None:
    text = Outline(render_report(calm(drift))).text
    assert (
        "No check found a construction change. A change that is smaller than the checks can "
        "detect, or of a kind that none of them covers, would still look like a change in the web "
        "or in its users. The section on checks lists the smallest change that each check would "
        'have detected; checks with the answer "cannot tell" are listed here.'
    ) in text


def test_a_topical_shift_is_a_finding(tmp_path: Path) -> None:
    """One topic is shown .08 times as often, with as many queries: by queries nothing moves."""
    queries = [[query(f"q{n} {t}", t, impressions=100) for n in range(9)] for t in "ab"]
    later = [
        row | {"impressions": 8 if row["topics"] == ["a"] else 500} for r in queries for row in r
    ]
    nothing = (frame([], Documents), frame([], Qrels))
    months = {
        name: (nothing[0], frame(rows, Queries), nothing[1])
        for name, rows in (("2022-06", [*queries[0], *queries[1]]), ("2022-07", later))
    }
    series, limits = store(tmp_path, months)
    found = measure_without_clicks(series, ChangeParameters(), limits, NoProgress())
    topics = found["queries"]["topics"]
    assert topics["js_bits"] == [0.0]
    assert topics["js_bits_impressions"][0] > 0.2
    (sentence,) = (f.text for f in list_findings(found) if "topic mix" in f.text)
    assert "went from 50.0 % to 98.4 % of impressions" in sentence
    document = render_report(found)
    table = document[document.index("<caption><span>Divergence of the topic mix") :]
    row = table[table.index("2022-06 → 2022-07</th>") : table.index("</tr>\n</tbody>")]
    assert re.findall(r">([\d.]+)</td>", row) == [
        numbers.format_decimal(topics["js_bits_impressions"][0], 4),
        "0.0000",
    ]


def test_queries_that_were_never_shown_do_not_move(tmp_path: Path) -> None:
    """A release without impressions has no queries that moved most."""
    rows = [
        frame([query(f"{text} {n}", "t", impressions=0) for n in range(9)], Queries)
        for text in "ab"
    ]
    months = {
        name: (frame([], Documents), table, frame([], Qrels))
        for name, table in zip(("2022-06", "2022-07"), rows, strict=True)
    }
    series, limits = store(tmp_path, months)
    found = measure_without_clicks(series, ChangeParameters(), limits, NoProgress())
    assert found["pairs"][0]["queries"]["new"] == 9
    assert not any(found["pairs"][0]["queries"]["movers"].values())


COUNTS = (2, 9, 36 if ALL else 13)


@pytest.fixture(scope="module")
def longest(tmp_path_factory: pytest.TempPathFactory) -> tuple[SnapshotSeries, ResourceLimits]:
    """Few queries over many months: no month or pair of months depends on later months."""
    world = World(seed=1, topics=2, queries_per_topic=5, pages_per_query=3)
    months = {
        f"{2022 + n // 12}-{n % 12 + 1:02d}": observe(world, Rules(), n) for n in range(COUNTS[-1])
    }
    return store(tmp_path_factory.mktemp("many"), months)


@pytest.fixture(scope="module", params=COUNTS)
def many(request: pytest.FixtureRequest, longest: tuple[SnapshotSeries, ResourceLimits]) -> Any:
    """The drift of the first months of many."""
    limits = longest[1].with_scratch_folder(f"first-{request.param}")
    series = first_months(longest[0], request.param, limits)
    found = measure_without_clicks(series, ChangeParameters(), limits, NoProgress())
    assert len(found["snapshots"]) == request.param
    return found


def test_many_snapshots(many: dict[str, Any]) -> None:
    document = render_report(many)
    outline = Outline(document)
    assert outline.open == []
    count = len(many["snapshots"])
    assert (document.count('class="upset tall wide"') > 0) == (count > 6)
    assert (document.count("tiny wide") > 0) == (count > 12)
    headings = re.search(
        r"<caption><span>Topic mix</span></caption>.*?</thead>", document, re.DOTALL
    )
    assert headings is not None
    assert headings[0].count("<th scope") <= 9
    assert len(document) < 150_000 + 42_000 * count


def test_what_each_pair_has_is_one_line_where_there_are_many(many: dict[str, Any]) -> None:
    """The list of summaries that a reader sees does not grow with the number of snapshots."""
    pairs = len(many["pairs"])
    summaries = shown_summaries(render_report(many))
    assert len(summaries) <= 16
    assert (f"Hosts: {pairs} pairs of snapshots" in summaries) == (pairs > 4)
    assert any(s.startswith("Hosts, 2022-01") for s in summaries) == (pairs <= 4)
    assert ("Vocabulary of all pairs of snapshots" in summaries) == (pairs == 8)


def shown_summaries(document: str) -> list[str]:
    """Summaries that are not themselves collapsed."""
    found, depth = [], 0
    for mark, text in re.findall(r"<(details|/details|summary)[^>]*>([^<]*)", document):
        depth += {"details": 1, "/details": -1}.get(mark, 0)
        if mark == "summary" and depth == 1:
            found.append(html.unescape(text))
    return found


def test_sentences_of_checks_stack_in_a_narrow_window(drift: dict[str, Any]) -> None:
    document = render_report(drift)
    labels = (
        "--label-1:'Snapshots: ';--label-2:'Question: ';--label-3:'Answer: ';"
        "--label-4:'Evidence: ';--label-5:'Detectable change: ';"
    )
    assert document.count(f'class="sortable stacked" style="{labels}"') == 3
    assert document.count("stacked") == document.count(".stacked") + 3
    width = max(int(n) for n in re.findall(r"var\(--label-(\d)\)", document))
    assert width >= 5


CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)

PROBE = """
<script>
addEventListener("error", (event) => { document.title = "error: " + event.message; });
addEventListener("load", () => {
  for (const button of document.querySelectorAll("thead button")) button.click();
  const overflows = () => document.documentElement.scrollWidth > innerWidth;
  let wide = overflows();
  document.getElementById("theme").click();
  for (const folded of document.querySelectorAll("details")) folded.open = true;
  wide = wide || overflows();
  const sorted = document.querySelectorAll('th[aria-sort]').length;
  const requests = performance.getEntriesByType("resource").length;
  const probe = document.createElement("pre");
  probe.id = "probe";
  probe.textContent = JSON.stringify({
    wide, sorted, requests, width: innerWidth, title: document.title,
    theme: document.documentElement.dataset.theme, images: document.images.length,
  });
  parent.document.body.append(probe);
});
</script>
"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("content", ["drift", "hostile"])
def test_in_a_browser(
    content: str, width: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    check_in_a_browser(render_report(request.getfixturevalue(content)), width, tmp_path)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
@pytest.mark.parametrize("width", [1280, 390])
def test_many_snapshots_in_a_browser(many: dict[str, Any], width: int, tmp_path: Path) -> None:
    check_in_a_browser(render_report(many), width, tmp_path)


def check_in_a_browser(document: str, width: int, tmp_path: Path) -> None:
    """Nothing overflows, nothing is requested, tables sort, the theme switches."""
    open_policy = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", document)
    probed = html.escape(open_policy.replace("</head>", PROBE + "</head>"))
    path = tmp_path / "frame.html"
    path.write_text(f'<iframe srcdoc="{probed}" width={width} height=900 style="border:0">')
    found = browse(path, tmp_path)
    assert found["title"].startswith("Drift report")
    assert found["width"] == width
    assert (found["wide"], found["requests"], found["images"]) == (False, 0, 0)
    assert found["sorted"] > 5
    assert found["theme"] in ("dark", "light")


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_the_policy_allows_our_script(drift: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(render_report(drift))
    dom = dump(path, tmp_path)
    assert 'class="scripted"' in dom


def browse(path: Path, folder: Path) -> dict[str, Any]:
    found = re.search(r'<pre id="probe">(.*?)</pre>', dump(path, folder))
    assert found is not None
    return dict(json.loads(found[1]))


def dump(path: Path, folder: Path) -> str:
    flags = (
        "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
        "--disable-background-networking --disable-component-update --dump-dom "
        "--enable-logging=stderr"
    )
    done = subprocess.run(
        [
            str(CHROMIUM),
            *flags.split(),
            f"--user-data-dir={folder / 'profile'}",
            "--window-size=1400,900",
            path.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "CONSOLE" not in done.stderr
    return done.stdout
