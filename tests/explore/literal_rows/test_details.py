"""What the explorer shows of one query, page or snapshot, on a collection of literal rows."""

import re

import pytest
from starlette.types import ASGIApp

from tests.explore.client import Reader, ask
from tests.explore.client import table_rows as _rows
from tests.explore.literal_rows.rows import DASH, JULY, JUNE, SEPTEMBER


def test_what_is_known_of_a_query(pages: ASGIApp) -> None:
    assert _rows(pages, "/query/q1", "The query in each snapshot")[1:] == [
        [JUNE, "listed", "train", "eau", "10", "6", "4", "2", "1", "0", "1"],
        [JULY, "listed", "seen", "l'eau", "4", "3", "2", "1", "0", "1", "0"],
        [SEPTEMBER, "listed", "seen", "eau vive", "9", "7", "1", "2", "0", "1", "1"],
    ]
    assert _rows(pages, "/query/q3", "The query in each snapshot")[1:] == [
        [JUNE, "not listed", *[DASH] * 5, "0", "0", "0", "0"],
        [JULY, "listed", "test", "pain", "20", "9", "8", "2", "0", "1", "1"],
        [SEPTEMBER, "not listed", *[DASH] * 5, "0", "0", "0", "0"],
    ]
    caption = "Grades that differ between consecutive snapshots"
    assert _rows(pages, "/query/q1", caption)[1:] == [
        ["a.example/1", JUNE, JULY, "2", "1", "8", "3", "updated, edited", "0.500"],
        ["b.example/2", JUNE, JULY, "0", "not judged", "6", DASH, "not sampled", DASH],
        ["b.example/2", JULY, SEPTEMBER, "not judged", "2", DASH, "1", "not recorded", DASH],
    ]
    assert _rows(pages, "/query/q1", "Translation of the query")[1:] == [
        [JULY, "l'eau", "the water", "none"]
    ]
    facts = Reader(ask(pages, "/query/q1").text).facts
    assert [facts[name] for name in ("Id", "Topics", "Core", "Merged variants")] == [
        "q1",
        "Boissons",
        "in every snapshot",
        "eau pure, flotte",
    ]
    facts = Reader(ask(pages, "/query/q6").text).facts
    assert [facts[name] for name in ("Topics", "Core", "Merged variants")] == [
        "none recorded",
        "not in every snapshot",
        "none",
    ]


@pytest.mark.parametrize(
    ("address", "heading"),
    [
        ("/query/q1", "eau vive"),
        ("/query/q4", "vin"),  # judged, but not listed
        ("/page/d1", "Eau vive"),
        ("/page/d2", "http://b.example/2"),  # without a title
        ("/page/d6", "https://c.example/new"),  # the last of two URLs
        ("/page/d4", "d4"),  # judged, but not in the collection
        ("/query/q9", "Page not found"),
        ("/page/d9", "Page not found"),
    ],
)
def test_a_page_has_a_text_or_an_id_as_its_heading(
    pages: ASGIApp, address: str, heading: str
) -> None:
    assert f">{heading}</h1>" in ask(pages, address).text


def test_scores_and_ranks_of_the_systems_for_a_query(pages: ASGIApp) -> None:
    assert _rows(pages, "/query/q1", "nDCG@10 and rank of each system")[1:] == [
        ["a", JUNE, "0.5000", "2", DASH, DASH],
        ["b", JUNE, "0.7500", "1", DASH, DASH],
        ["a", JULY, "1.0000", "1", "+0.5000", "attribute"],
        ["b", JULY, "0.2500", "2", "\N{MINUS SIGN}0.5000", "attribute"],
        ["a", SEPTEMBER, DASH, DASH, DASH, DASH],
        ["b", SEPTEMBER, DASH, DASH, DASH, DASH],
    ]
    ranks = [row[3] for row in _rows(pages, "/query/q2", "nDCG@10 and rank of each system")[1:3]]
    assert ranks == ["1", "1"]
    assert "No runs were scored for this query." in ask(pages, "/query/q6").text


def test_what_is_known_of_a_page(pages: ASGIApp) -> None:
    assert _rows(pages, "/page/d1", "The page in each snapshot")[1:] == [
        [JUNE, "Eau", "1970-01-01", "3", DASH, "yes", "no", DASH, DASH, DASH],
        [JULY, "Eau", DASH, "3", DASH, "yes", "no", DASH, DASH, DASH],
        [SEPTEMBER, "Eau vive", "2022-09-01", "5", "fr (99 %)", "yes", "yes", "yes", "d3", DASH],
    ]
    assert _rows(pages, "/page/d3", "The page in each snapshot")[1:] == [
        [SEPTEMBER, "Pain", DASH, "2", DASH, "no", "yes", "no", DASH, "d1"]
    ]
    assert _rows(pages, "/page/d1", "What happened between snapshots")[1:] == [
        [JUNE, JULY, "updated, edited", "0.500", "0.250", "3", "3", "compare"],
        [JULY, SEPTEMBER, "updated, rewritten", "0.750", "0.125", "3", "5", "compare"],
    ]
    assert _rows(pages, "/page/d3", "URLs of the page")[1:] == [
        ["URL in the last snapshot", "www.a.example/1", DASH],
        ["differs only in scheme, www or trailing slash (loose match)", "a.example/1", DASH],
        ["moved from (near-identical text)", "d2", "2022-07 to 2022-09"],
    ]
    assert _rows(pages, "/page/d1", "Judgements of the page")[1:] == [
        ["eau vive", JUNE, "2", "9", "8", "5", "0.750", "79.0 %", "click"],
        ["eau vive", JULY, "1", DASH, "3", DASH, DASH, DASH, DASH],
        ["eau vive", SEPTEMBER, "1", DASH, "4", DASH, DASH, DASH, DASH],
        ["Crêpe sucrée", JUNE, "1", DASH, "1", DASH, DASH, DASH, DASH],
        ["pain", JULY, "2", DASH, "2", DASH, DASH, DASH, DASH],
    ]


@pytest.mark.parametrize(
    ("doc", "facts"),
    [
        (
            "d1",
            {
                "Id": "d1",
                "Reason for inclusion": (
                    "shown for a query of the collection (2022-06, 2022-07, 2022-09); "
                    "part of the 25.0 % sample of the crawl (2022-09)"
                ),
                "Crawled in": "2022-06, 2022-07, 2022-09",
                "In snapshots": "2022-06, 2022-07, 2022-09",
            },
        ),
        (
            "d2",
            {
                "Reason for inclusion": "part of the 25.0 % sample of the crawl (2022-06)",
                "Crawled in": "none of the snapshots",
            },
        ),
        (
            "d4",
            {
                "Reason for inclusion": ("it was judged; the collection does not contain its text"),
                "In snapshots": None,
            },
        ),
        ("d3", {"Crawled in": None, "In snapshots": "2022-09"}),
    ],
)
def test_why_the_collection_includes_a_page(
    pages: ASGIApp, doc: str, facts: dict[str, str | None]
) -> None:
    found = Reader(ask(pages, f"/page/{doc}").text).facts
    assert {name: found.get(name) for name in facts} == facts


@pytest.mark.parametrize(
    ("parameters", "difference", "count"),
    [
        (
            "",
            "Eau <ins>vive\n</ins>un trois <ins>quatre</ins>",
            "0 words removed, 2 added",
        ),
        (
            "?from=2022-06&to=2022-07",
            "Eau\nun <del>deux</del><ins>trois</ins>",
            "1 word removed, 1 added",
        ),
        (
            "?from=2022-07&to=2022-07&language=english",
            "Water\none three",
            "0 words removed, 0 added",
        ),
    ],
)
def test_two_versions_of_a_page_are_compared(
    pages: ASGIApp, parameters: str, difference: str, count: str
) -> None:
    text = ask(pages, f"/page/d1{parameters}").text
    language, shown = re.findall(
        r'<div class="difference" lang="(..)">.*?<p>(.*?)</p>', text, re.DOTALL
    )[0]
    assert shown == difference
    assert language == ("en" if "english" in parameters else "fr")
    assert f">{count}</p>" in text


def test_the_sentences_of_a_page_and_their_translations(pages: ASGIApp) -> None:
    assert _rows(pages, "/page/d1", "Sentences of 2022-09")[1:] == [
        ["title 1", "Eau vive", "Live water", "short, copied"]
    ]
    assert _rows(pages, "/page/d1?snapshot=2022-07", "Sentences of 2022-07")[1:] == [
        ["title 1", "Eau", "Water", DASH],
        ["text 1", "un.", "one.", DASH],
        ["text 2", "trois.", "three.", DASH],
    ]
    assert (
        "6 sentences, of which 3 translated, 2 copied, 1 left in the source language and 0 dropped"
    ) in ask(pages, "/page/d1?snapshot=2022-07").text
    untranslated = ask(pages, "/page/d3").text
    assert "does not contain a translation of this page" in untranslated
    assert 'lang="fr"><h3>The text in 2022-09</h3>\n<p>Pain\ncinq</p>' in untranslated
    assert "A comparison needs at least two versions of the page." in untranslated


def test_sizes_of_the_snapshots_on_the_first_page(pages: ASGIApp) -> None:
    assert _rows(pages, "/", "Sizes of the snapshots")[1:] == [
        [JUNE, "3", "2", "4"],
        [JULY, "1", "2", "3"],
        [SEPTEMBER, "3", "2", "2"],
    ]
    read = Reader(ask(pages, "/").text)
    assert {"/pages?snapshot=2022-07", "/queries?snapshot=2022-09"} <= set(read.links)
    assert read.facts["Origin"] == "built from logs and crawls"
    assert read.facts["Languages"] == "fr, en"


def test_grades_are_marked_as_uncertain_below_eighty_percent(pages: ASGIApp) -> None:
    text = ask(pages, "/query/q1").text
    assert re.findall(r'class="(grade grade-[^"]*)"', text) == [
        "grade grade-2 unsure",
        "grade grade-1",
        "grade grade-1",
        "grade grade-0",
        "grade grade-2",
    ]
