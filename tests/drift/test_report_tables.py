"""Every table of the report, cell by cell, from a drift.json by hand."""

import html
import re

import pytest

from builder.drift import render_report
from builder.drift.report.judgements import _label_stability_table
from builder.drift.report.topics import _select_snapshot_indexes
from builder.drift.report.words import _divergence_heat_map, _vocabulary_table
from tests.drift.handwritten import evidence, handwritten

DASH = "\N{EN DASH}"
PAIRS = ("2022-06 → 2022-07", "2022-07 → 2022-08")


def tables(document: str) -> dict[str, list[list[str]]]:
    """Texts of the rows of each table by its caption; the first row are the headings."""
    found = {}
    for caption, body in re.findall(
        r"<caption><span>(.*?)</span></caption>(.*?)</table>", document, re.DOTALL
    ):
        rows = re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
        found[html.unescape(caption)] = [
            [
                html.unescape(re.sub(r"<[^>]*>", "", cell)).strip()
                for cell in re.findall(r"<t[hd]\b[^>]*>(.*?)</t[hd]>", row, re.DOTALL)
            ]
            for row in rows
        ]
    return found


@pytest.fixture(scope="module")
def document() -> str:
    """The report of three months."""
    return render_report(handwritten())


EXPECTED = {
    "Sizes of the snapshots": [
        ["2022-06", "1,000", "100,000", "20", "40", "30", "10", "50.0 %", "30.0 %", "20.0 %"],
        ["2022-07", "1,100", "110,000", "22", "40", "30", "100", "50.0 %", "30.0 %", "20.0 %"],
        ["2022-08", "1,200", "120,000", "24", "40", "30", "2", "50.0 %", "0.0 %", "50.0 %"],
    ],
    "Jaccard coefficient of URLs": [
        ["2022-06", "1,000", "0.750", "0.500"],
        ["2022-07", "0.750", "1,100", "0.625"],
        ["2022-08", "0.500", "0.625", "1,200"],
    ],
    "Degree of change of updated pages": [
        [pair, "4", "5", "1", "0.250", "0.500", "0.750", "0.125", "0.625", "0.875"]
        for pair in PAIRS
    ],
    "Length of updated pages, and pages with another URL": [
        [PAIRS[0], "6", "7", "\N{MINUS SIGN}1,234", "3", "0", "0"],
        [PAIRS[1], "6", "7", "\N{MINUS SIGN}1,234", "3", "9", "0"],
    ],
    f"Pages that changed most, {PAIRS[1]}": [
        ["(no title)", "https://a.fr/1", "0.062", "0.188", "1,500", "16"]
    ],
    f"Hosts, {PAIRS[0]}: 3 new, 1 of 12 removed": [["a.fr", "21", "22", "23", "24", "25"]],
    "Divergence of word distributions, all pages": [
        ["2022-06", "0", "0.0125", "0.5000"],
        ["2022-07", "0.0125", "0", "0.0250"],
        ["2022-08", "0.5000", "0.0250", "0"],
    ],
    "Vocabulary of all pairs of snapshots": [
        [PAIRS[0], "31", "32", "0.938", "0.0125", "0.0 %", "6.2 %"],
        ["2022-06 → 2022-08", "31", "32", "0.938", "0.5000", "25.0 %", "6.2 %"],
        [PAIRS[1], "31", "32", "0.938", "0.0250", "0.3 %", "6.2 %"],
        *(
            [f"{pair} (core)", "31", "32", "0.938", DASH, "0.0 %", "6.2 %"]
            for pair in (PAIRS[0], "2022-06 → 2022-08", PAIRS[1])
        ),
    ],
    "Words that rose": [[f"mot{n}", f"{40 + n}", f"1,04{n}"] for n in range(4)],
    "Words that fell": [[f"mot{n}", f"{40 + n}", f"1,04{n}"] for n in (3, 2, 1, 0)],
    "Frequency and length of queries": [
        [PAIRS[0], "30", "0.812", "75.0 %", "2.50", "3.50"],
        [PAIRS[1], "10", "0.812", "75.0 %", "3.50", "4.50"],
    ],
    "Risen queries": [["bonjour", "17", "1,700"]],
    "Topic mix": [
        ["pain", "25.0 %", "60.0 %", "54.5 %", "3", "4", "5"],
        ["eau", "75.0 %", "40.0 %", "45.5 %", "6", "7", "8"],
    ],
    "Divergence of the topic mix": [
        [PAIRS[0], "0.3000", "0.0100"],
        [PAIRS[1], "0.2000", "0.0200"],
    ],
    "Judged documents per query and examinations per judgement": [
        [month, "7.3", "6", "21", "3.1", "2", "15", "5", "131"]
        for month in ("2022-06", "2022-07", "2022-08")
    ],
    f"Label stability by number of examinations, {PAIRS[0]}": [
        ["1", "4", "75.0 %", "12.5 %"],
        ["3-5", "8", "75.0 %", "12.5 %"],
        ["101+", "16", "75.0 %", "12.5 %"],
    ],
    f"What happened to relevant pages, {PAIRS[0]}": [
        ["removed", "6", "5", "4", "3"],
        ["not_shown", "3", "2", "1", "0"],
        ["updated", "5", "4", "3", "2"],
    ],
    "Rows: earlier grade; columns: later grade": [
        ["not relevant", "6 (75 %)", "2 (25 %)", "0 (0 %)"],
        ["relevant", "1 (25 %)", "3 (75 %)", "0 (0 %)"],
        ["highly relevant", "0 (0 %)", "0 (0 %)", "0 (0 %)"],
    ],
    "Log-likelihood is best near 0, perplexity is best near 1": [
        ["2022-06", "sdbn", "4,600", "-2.5000", "-3.5000", "1.2500", "1.5000"]
    ],
    "Click rate by rank, 2022-06": [
        ["1", "50.0 %", "25.0 %", "4,600"],
        ["2", "12.5 %", "10.0 %", "4,100"],
    ],
    "Construction changes": [[PAIRS[0], "Is one so?", "construction", "a threshold moved", DASH]],
    "Checks without a change": [[PAIRS[0], "Is two so?", "clear", "nothing moved", "a move of 5"]],
    'Checks with the answer "cannot tell"': [
        ["2022-07", "Is three so?", "cannot tell", "too few", DASH],
        [PAIRS[1], "Is three so?", "cannot tell", "too few", "more would show"],
    ],
}


@pytest.mark.parametrize("caption", EXPECTED)
def test_a_table(caption: str, document: str) -> None:
    headings, *rows = tables(document)[caption]
    assert rows == EXPECTED[caption]
    assert {len(headings)} == {len(row) for row in rows}


def test_bars_of_statuses(document: str) -> None:
    assert re.findall(r'<span class="bar-text">([^<]*)</span>', document) == [
        "60 unchanged, 20 updated, 6 added, 2 returned, 15 removed, 5 crawled but not kept",
        "95 unchanged, 5 updated, 3 removed, 1 crawled but not kept",
        "30 kept, 1 new, 10 gone",
        "10 kept, 7 new, 10 gone",
        "5 not relevant, 3 relevant, 2 highly relevant",
        "50 not relevant, 30 relevant, 20 highly relevant",
        "1 not relevant, 1 highly relevant",
    ]


def test_a_release_that_does_not_say_what_was_crawled(document: str) -> None:
    note = "so every page that is not in the later snapshot is shown as removed"
    assert note not in document
    drift = handwritten()
    drift["pairs"][1]["documents"]["removed_crawl_unknown"] = 15
    assert note in render_report(drift)


def test_notes_below_figures(document: str) -> None:
    notes = re.findall(r'<p class="note">([^<]*)</p>', document)
    assert (
        "Similarity of the old and new text of updated pages: the median Jaccard coefficient of "
        "word sequences is 0.50 (10th percentile 0.25), and the median Dice coefficient of words "
        "is 0.62 (10th percentile 0.12)."
    ) in notes
    assert (
        "80.0 % of the pairs kept their grade, and 3.0 % flipped between grades 0 and 2; kappa is "
        "0.56 (0.50 with quadratic weights)."
    ) in notes
    assert (
        "75.0 % of the pairs kept their grade, and 3.0 % flipped between grades 0 and 2; kappa is "
        f"{DASH} (0.50 with quadratic weights)."
    ) in notes
    assert any(note.startswith("Limitation of sDBN:") for note in notes)
    assert "4 checks: 1 found a construction change, 1 did not, 2 could not decide" in document


def test_bars_in_cells_are_full_at_the_maximum(document: str) -> None:
    click_rates = document[document.index("<span>Click rate by rank") :]
    widths = re.findall(r"--bar:([\d.]+)%", click_rates[: click_rates.index("</table>")])
    assert widths == ["100.0", "50.0", "25.0", "20.0"]
    topics = document[document.index("<span>Topic mix") :]
    widths = re.findall(r"--bar:([\d.]+)%", topics[: topics.index("</table>")])
    assert widths == ["33.3", "80.0", "72.7", "100.0", "53.3", "60.6"]


@pytest.mark.parametrize(
    ("caption", "shades"),
    [
        ("Rows: earlier grade; columns: later grade", "75 25 0 25 75 0 0 0 0"),
        ("Divergence of word distributions, all pages", "0 2.5 100 2.5 0 5 100 5 0"),
        ("Jaccard coefficient of URLs", "100 75 50 75 100 62.5 50 62.5 100"),
    ],
)
def test_shades_of_heat_maps(caption: str, shades: str, document: str) -> None:
    """Grades are shaded within their row, divergences relative to the largest."""
    start = document.index(f"<span>{caption}")
    found = re.findall(r"--shade:([\d.]+)%", document[start : document.index("</table>", start)])
    assert [float(shade) for shade in found] == [float(shade) for shade in shades.split()]


def test_the_core_is_compared_where_there_is_one(document: str) -> None:
    assert "Pages in every snapshot" in document
    drift = handwritten()
    drift["vocabulary"]["core"] = []
    assert "Pages in every snapshot" not in render_report(drift)


def test_values_by_which_tables_are_sorted(document: str) -> None:
    """Examinations are sorted by their number, words that were gained by their sign."""
    start = document.index("<span>Label stability by number of examinations, 2022-06")
    rows = re.findall(r'<tr><th scope="row"[^>]*data-value="(\d+)"', document[start:])
    assert rows[:3] == ["1", "3", "101"]
    assert 'data-value="-1234">\N{MINUS SIGN}1,234</td>' in document


def test_another_click_model_has_no_limit_of_sdbn() -> None:
    drift = handwritten()
    drift["clicks"][0]["model"] = "pbm"
    assert "Limitation of sDBN" not in render_report(drift)
    drift["clicks"] = []
    assert (
        "No impressions were held out, or the grades are not derived from clicks."
    ) in render_report(drift)


def test_sections_without_data_say_so() -> None:
    drift = handwritten()
    for snapshot in drift["snapshots"]:
        snapshot |= {"documents": 0, "grades": [0, 0, 0], "grade_shares": [None] * 3}
    drift["queries"]["topics"] |= {"mix": [], "js_bits_impressions": [None, None]}
    drift["queries"]["listed"] = drift["queries"]["judged"] = drift["documents"] | {"ids": 0}
    document = render_report(drift)
    assert re.findall(r'<p class="nothing">([^<]*)</p>', document) == [
        "The collection has queries and judgements, but no pages.",
        "The collection has queries and judgements, but no pages.",
        "There are no queries in the query files or in the judgements.",
        "No query has a topic.",
        "There are no judgements.",
    ]
    drift["pairs"] = []
    assert "There is only one snapshot, so there is nothing to compare." in render_report(drift)


def test_pages_none_of_which_was_updated() -> None:
    drift = handwritten()
    drift["pairs"][1]["documents"] |= {"updated": 0, "most_rewritten": []}
    document = render_report(drift)
    assert f"<figcaption>{PAIRS[1]}: 0 updated pages</figcaption>" in document
    assert f"<figcaption>{PAIRS[0]}: 20 updated pages</figcaption>" in document
    assert document.count("No page was updated.") == 1
    assert f"<summary>Pages that changed most, {PAIRS[1]}" not in document


def test_a_pair_without_impressions_has_no_share_of_them() -> None:
    drift = handwritten()
    drift["pairs"][0]["queries"]["impressions_from"] = 0
    (_, first, _) = tables(render_report(drift))["Frequency and length of queries"]
    assert first[3] == DASH


def test_many_topics_and_many_snapshots_are_cut() -> None:
    drift = handwritten()
    mix = drift["queries"]["topics"]["mix"]
    drift["queries"]["topics"]["mix"] = [mix[0] | {"topic": f"t{n}"} for n in range(31)]
    document = render_report(drift)
    assert len(tables(document)["Topic mix"]) == 31
    assert "1 more topic in drift.json." in document
    names = [f"2022-{n:02d}" for n in range(1, 7)]
    row = {"topic": "t", "queries": [*range(6)], "impressions": [*range(1, 7)]}
    drift["queries"]["topics"] = {
        "snapshots": names,
        "js_bits": [0.0] * 5,
        "js_bits_impressions": [0.0] * 5,
        "mix": [row],
    }
    shown = tables(render_report(drift))["Topic mix"]
    assert [heading.removesuffix(" ↕") for heading in shown[0]] == [
        "Topic",
        *(names[n] for n in (0, 3, 4, 5)),
        *(f"Queries {names[n]}" for n in (0, 3, 4, 5)),
    ]
    assert shown[1][5:] == ["0", "3", "4", "5"]


def test_headings_of_tables(document: str) -> None:
    headings = {
        caption: [heading.removesuffix(" ↕") for heading in rows[0]]
        for caption, rows in tables(document).items()
    }
    assert headings["Jaccard coefficient of URLs"] == ["", "2022-06", "2022-07", "2022-08"]
    assert headings["Topic mix"] == [
        "Topic",
        "2022-06",
        "2022-07",
        "2022-08",
        "Queries 2022-06",
        "Queries 2022-07",
        "Queries 2022-08",
    ]


def test_findings_are_sorted_into_warnings_facts_and_undecided_checks(document: str) -> None:
    findings = document[document.index('id="findings"') : document.index('id="sizes"')]
    items = [
        html.unescape(re.sub(r"<[^>]*>", "", item))
        for item in re.findall(r"<li>(.*?)</li>", findings, re.DOTALL)
    ]
    assert len(items) == 10
    assert items[0] == "2022-06 to 2022-07: a threshold moved."
    assert items[1].startswith("Is three so? 2022-07: too few; 2022-07 to 2022-08: more")
    assert items[2].startswith("80.0 % of the 1,000 pages of 2022-06")
    assert 'Checks with the answer "cannot tell" (1)' in html.unescape(findings)
    assert '<span class="name">2022-06</span> to <span class="name">2022-07</span>: a ' in findings
    assert "No check found a construction change." not in findings


def test_a_report_without_warnings_facts_or_undecided_checks() -> None:
    drift = handwritten()
    drift |= {"snapshots": drift["snapshots"][:1], "pairs": [], "checks": drift["checks"][1:2]}
    drift["vocabulary"] = {"all": [], "core": []}
    drift["queries"]["topics"] |= {"snapshots": ["2022-06"], "js_bits_impressions": []}
    document = render_report(drift)
    findings = html.unescape(document[document.index('id="findings"') :])
    findings = findings[: findings.index('id="sizes"')]
    assert "No check found a construction change." in findings
    assert "There is nothing to compare." in findings
    assert "<li>" not in findings
    assert 'cannot tell" (' not in document.replace("&#34;", '"')
    assert "Construction changes" not in document
    assert "Divergence of the topic mix" not in document
    assert "What happened to listed queries" not in document
    assert "<h1>What changed</h1>" in document
    assert "2022-06 · 1 snapshot<" in document


@pytest.mark.parametrize(("extra", "is_collapsed"), [(2, False), (3, True)])
def test_more_than_four_figures_are_collapsed(extra: int, *, is_collapsed: bool) -> None:
    drift = handwritten()
    drift["pairs"] += [drift["pairs"][0]] * extra
    document = html.unescape(render_report(drift))
    count = 2 + extra
    for caption in (
        "Degree of change",
        "Pages that changed most",
        "Hosts",
        "Queries that changed most",
        "Grades of common pairs",
        "Label stability",
        "What happened to relevant pages",
    ):
        summary = f"<summary>{caption}: {count} pairs of snapshots</summary>"
        assert (summary in document) is is_collapsed, caption


@pytest.mark.parametrize(
    ("pairs", "core", "caption", "rows", "is_collapsed"),
    [
        (36, 0, "all pairs of snapshots", 36, False),
        (36, 1, "all pairs of snapshots", 37, True),
        (37, 0, "consecutive snapshots", 1, False),
        (36, 37, "all pairs of snapshots", 37, True),
    ],
)
def test_pairs_of_snapshots_in_the_table_of_vocabulary(
    pairs: int, core: int, caption: str, rows: int, *, is_collapsed: bool
) -> None:
    """Of more than 36 pairs, only those of consecutive snapshots, whose words are listed."""
    drift = handwritten()
    first, second = drift["vocabulary"]["all"][:2]
    table = _vocabulary_table([first, *[second] * (pairs - 1)], ([first, *[second] * 36])[:core])
    assert len(tables(table)[f"Vocabulary of {caption}"]) == rows + 1
    assert ("<summary>Vocabulary of" in table) is is_collapsed


@pytest.mark.parametrize(
    ("bits", "expected"),
    [
        (0.0001, ["0", "0.000100", "0.000100", "0"]),
        (0.02, ["0", "0.0200", "0.0200", "0"]),
        (0.0, ["0", "0", "0", "0"]),
        (None, ["0", DASH, DASH, "0"]),
    ],
)
def test_small_divergences_have_two_digits(bits: float | None, expected: list[str]) -> None:
    pair = {"from": "06", "to": "07", "js_bits": bits}
    (rows,) = tables(_divergence_heat_map("Words", ["06", "07"], [pair])).values()
    assert [cell for row in rows[1:] for cell in row[1:]] == expected


@pytest.mark.parametrize(
    ("count", "shown"),
    [(1, [0]), (4, [0, 1, 2, 3]), (5, [0, 2, 3, 4]), (6, [0, 3, 4, 5])],
)
def test_the_first_and_the_last_three_snapshots_have_topics(count: int, shown: list[int]) -> None:
    assert _select_snapshot_indexes(count) == shown


def test_topics_of_a_snapshot_without_impressions_have_no_share() -> None:
    drift = handwritten()
    for row in drift["queries"]["topics"]["mix"]:
        row["impressions"] = [1, 0, 1]
    rows = tables(render_report(drift))["Topic mix"]
    assert [row[1:4] for row in rows[1:]] == [["50.0 %", DASH, "50.0 %"]] * 2


def test_thirty_topics_are_not_cut() -> None:
    drift = handwritten()
    mix = drift["queries"]["topics"]["mix"]
    drift["queries"]["topics"]["mix"] = [mix[0] | {"topic": f"t{n}"} for n in range(30)]
    document = render_report(drift)
    assert len(tables(document)["Topic mix"]) == 31
    assert " in drift.json.</p>" not in document


@pytest.mark.parametrize("kind", ["listed", "judged"])
def test_queries_of_one_kind_are_shown(kind: str) -> None:
    drift = handwritten()
    drift["queries"][kind] = drift["queries"][kind] | {"ids": 0}
    assert "There are no queries" not in render_report(drift)


def test_pairs_without_common_judgements_and_pages_are_left_out() -> None:
    drift = handwritten()
    drift["pairs"][0]["qrels"] |= {"pairs_common": 0, "relevant_before": []}
    drift["pairs"][0]["documents"] |= {"most_rewritten": []}
    drift["pairs"][0]["documents"]["hosts"] |= {"most_changed": []}
    drift["pairs"][0]["queries"]["movers"]["risen"] = []
    document = html.unescape(render_report(drift))
    for caption in (
        "Label stability by number of examinations, ",
        "What happened to relevant pages, ",
        "Grades of common pairs, ",
        "Pages that changed most, ",
        "Queries that changed most, ",
    ):
        assert f"{caption}{PAIRS[0]}" not in document
        assert f"{caption}{PAIRS[1]}" in document
    assert f"Hosts, {PAIRS[0]}" not in document
    assert f"Hosts, {PAIRS[1]}: 3 new, 1 of 12 removed" in document
    drift = handwritten()
    drift["snapshots"][0] |= {"grades": [0, 0, 0], "documents": 0}
    document = render_report(drift)
    assert "There are no judgements." not in document
    assert "but no pages" not in document


def test_examination_counts_that_one_number_has() -> None:
    pair = handwritten()["pairs"][0]
    pair["qrels"]["by_evidence"] = [evidence(0, 1, 2), evidence(1, 3, 2), evidence(6, 11, 2)]
    (rows,) = tables(_label_stability_table(pair)).values()
    assert [row[0] for row in rows[1:]] == ["0", "1-2", "6-10"]


def test_pages_that_were_never_absent_are_a_dashed_line_that_hides_no_other(document: str) -> None:
    lines = re.findall(r'<path d="[^"]*" class="line ([^"]*)"', document)
    assert lines[:2] == ["updated", "added dashed"]
    assert re.findall(r"<title>(.* absent, [^<]*|present, [^<]*)</title>", document) == [
        "present, 2022-06: 100.0 %",
        "present, 2022-07: 90.0 %",
        "present, 2022-08: 80.0 %",
        "never absent, 2022-06: 100.0 %",
        "never absent, 2022-07: 90.0 %",
        "never absent, 2022-08: 70.0 %",
    ]


def test_only_tables_of_sentences_are_stacked_in_a_narrow_window(document: str) -> None:
    assert document.count('class="sortable stacked"') == 3
