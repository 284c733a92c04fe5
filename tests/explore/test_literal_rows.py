"""Each table, filter and order of the explorer, on a collection of rows that are written here."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.types import ASGIApp

from builder.explore import CollectionSource
from builder.explore.application import create_application
from tests.explore.client import PORT, Reader, ask
from tests.explore.literal import open_with_scores, write_collection

DASH = "\N{EN DASH}"


def _query(query: str, text: str, topics: list[str], split: str, **counts: int) -> dict[str, Any]:
    return {"query_id": query, "text": text, "topics": topics, "split": split, **counts}


def _qrel(query: str, doc: str, grade: int, examinations: int = 0) -> dict[str, Any]:
    return {"query_id": query, "doc_id": doc, "grade": grade, "examinations": examinations}


def _sentence(key: str, field: str, number: int, fr: str, en: str, *flags: str) -> dict[str, Any]:
    own = {"id": key, "field": field, "sentence": number, "fr": fr, "en": en}
    return {**own, "flags": list(flags)}


def _page(doc: str, url: str, title: str, text: str, **values: Any) -> dict[str, Any]:
    own = {"doc_id": doc, "url": url, "title": title, "text": text, "shown": False}
    return {**own, "sampled": False, **values}


JUNE, JULY, SEPTEMBER = "2022-06", "2022-07", "2022-09"
PAGES = {
    JUNE: [
        _page("d1", "https://a.example/1", "Eau", "un deux", shown=True, tokens=3, fetched_at=1),
        _page("d2", "http://b.example/2", "", "trois", sampled=True, tokens=1),
        _page("d6", "https://c.example/old", "", "six", sampled=True, tokens=1),
    ],
    JULY: [
        {
            **_page("d1", "https://a.example/1", "Eau", "un trois", shown=True, tokens=3),
            "title_en": "Water",
            "text_en": "one three",
        }
    ],
    SEPTEMBER: [
        _page(
            "d1",
            "https://a.example/1",
            "Eau vive",
            "un trois quatre",
            shown=True,
            sampled=True,
            tokens=5,
            fetched_at=1_662_000_000,
            language="fr",
            language_score=0.987,
            truncated=True,
            duplicate_group="d3",
        ),
        _page(
            "d3",
            "https://www.a.example/1",
            "Pain",
            "cinq",
            sampled=True,
            tokens=2,
            truncated=False,
            near_duplicate_group="d1",
        ),
        _page("d6", "https://c.example/new", "", "six", sampled=True, tokens=1),
    ],
}
SNAPSHOT_TABLES: dict[str, Any] = {
    JUNE: {
        "documents": PAGES[JUNE],
        "queries": [
            _query("q1", "eau", ["t1"], "train", impressions=10, users=6, clicks=4),
            _query("q2", "Crêpe sucrée", ["t1", "t2"], "heldout", impressions=7, users=3, clicks=2),
        ],
        "qrels": [
            {
                **_qrel("q1", "d1", 2, 8),
                "impressions": 9,
                "clicks": 5,
                "last_clicks": 3,
                "score": 0.75,
                "score_low": 0.6,
                "score_high": 0.9,
                "stability": 0.79,
                "source": "click",
            },
            {**_qrel("q1", "d2", 0, 6), "stability": 0.8, "impressions": 0, "source": "manual"},
            _qrel("q2", "d1", 1, 1),
            _qrel("q4", "d4", 0),
        ],
        "rejects": [
            {"stage": "log", "reason": "bad_url", "file": "b.log", "line": 2, "rows": 1},
            {"stage": "log", "reason": "bad_url", "file": "a.log", "line": 9, "rows": 1},
            {"stage": "log", "reason": "bad_url", "rows": 5},
            {"stage": "crawl", "reason": "empty", "file": "c", "line": 1, "key": "k", "rows": 2},
        ],
    },
    JULY: {
        "documents": PAGES[JULY],
        "queries": [
            {
                **_query("q1", "l'eau", ["t1"], "seen", impressions=4, users=3, clicks=2),
                "text_en": "the water",
            },
            _query("q3", "pain", ["t2"], "test", impressions=20, users=9, clicks=8),
        ],
        "qrels": [_qrel("q1", "d1", 1, 3), _qrel("q3", "d1", 2, 2), _qrel("q3", "d2", 1, 2)],
        "rejects": [{"stage": "log", "reason": "bad_url", "file": "a.log", "line": 3, "rows": 4}],
        "sentences": [
            _sentence("q1", "text", 0, "l'eau", "the water"),
            _sentence("d1", "text", 1, "trois.", "three."),
            _sentence("d1", "text", 0, "un.", "one."),
            _sentence("d1", "title", 0, "Eau", "Water"),
        ],
        "translations": [
            {
                "id": "d1",
                "sentences": 6,
                "translated": 3,
                "copied": 2,
                "source_kept": 1,
                "dropped": 0,
            }
        ],
    },
    SEPTEMBER: {
        "documents": PAGES[SEPTEMBER],
        "queries": [
            _query("q1", "eau vive", ["t1"], "seen", impressions=9, users=7, clicks=1),
            _query("q6", "sel", [], "test", impressions=1, users=1, clicks=0),
        ],
        "qrels": [_qrel("q1", "d1", 1, 4), _qrel("q1", "d2", 2, 1)],
        "sentences": [
            _sentence("d1", "title", 0, "Eau vive", "Live water", "short", "copied"),
        ],
        "translations": [
            {
                "id": "d1",
                "sentences": 1,
                "translated": 1,
                "copied": 0,
                "source_kept": 0,
                "dropped": 0,
            }
        ],
    },
}
TABLES: dict[str, Any] = {
    "topics": [
        {"topic_id": "t2", "label": "Cuisine"},
        {"topic_id": "t1", "label": "Boissons"},
    ],
    "documents_map": [
        {
            "doc_id": "d1",
            "url": "https://a.example/1",
            "snapshots": [JUNE, JULY, SEPTEMBER],
            "loose_id": "d1",
            "crawled": [JUNE, JULY, SEPTEMBER],
        },
        {"doc_id": "d2", "url": "http://b.example/2", "snapshots": [JUNE], "crawled": []},
        {
            "doc_id": "d3",
            "url": "https://www.a.example/1",
            "snapshots": [SEPTEMBER],
            "loose_id": "d1",
        },
    ],
    "queries_map": [
        {"query_id": "q1", "text": "eau vive", "core": True, "aliases": ["eau pure", "flotte"]},
        {"query_id": "q2", "text": "Crêpe sucrée", "core": False, "aliases": []},
        {"query_id": "q3", "text": "pain", "core": False, "aliases": []},
        {"query_id": "q4", "text": "vin", "core": False, "aliases": []},
        {"query_id": "q6", "text": "sel", "core": False, "aliases": []},
    ],
    "query_changes": [
        {
            "query_id": query,
            "from_snapshot": start,
            "to_snapshot": end,
            "status": status,
            "impressions_from": before,
            "impressions_to": after,
        }
        for query, start, end, status, before, after in (
            ("q1", JUNE, JULY, "kept", 10, 4),
            ("q2", JUNE, JULY, "gone", 7, None),
            ("q3", JUNE, JULY, "new", None, 20),
            ("q7", JUNE, JULY, "kept", 3, 3),
            ("q1", JULY, SEPTEMBER, "kept", 4, 9),
            ("q3", JULY, SEPTEMBER, "gone", 20, None),
            ("q6", JULY, SEPTEMBER, "new", None, 1),
        )
    ],
    "qrel_changes": [
        {
            "query_id": query,
            "doc_id": doc,
            "from_snapshot": start,
            "to_snapshot": end,
            "grade_from": before,
            "grade_to": after,
            "examinations_from": seen,
            "examinations_to": seen_later,
        }
        for query, doc, start, end, before, after, seen, seen_later in (
            ("q1", "d1", JUNE, JULY, 2, 1, 8, 3),
            ("q1", "d2", JUNE, JULY, 0, None, 6, None),
            ("q2", "d1", JUNE, JULY, 1, None, 1, None),
            ("q3", "d1", JUNE, JULY, None, 2, None, 2),
            ("q3", "d2", JUNE, JULY, None, 1, None, 2),
            ("q4", "d4", JUNE, JULY, 0, 1, 0, 5),
            ("q1", "d1", JULY, SEPTEMBER, 1, 1, 3, 4),
            ("q1", "d2", JULY, SEPTEMBER, None, 2, None, 1),
            ("q8", "d1", JULY, SEPTEMBER, 0, 0, None, None),
        )
    ],
    "document_changes": [
        {
            "doc_id": "d1",
            "from_snapshot": JUNE,
            "to_snapshot": JULY,
            "status": "updated",
            "dice": 0.5,
            "shingle_jaccard": 0.25,
            "tokens_from": 3,
            "tokens_to": 3,
            "band": "edited",
        },
        {
            "doc_id": "d1",
            "from_snapshot": JULY,
            "to_snapshot": SEPTEMBER,
            "status": "updated",
            "dice": 0.75,
            "shingle_jaccard": 0.125,
            "tokens_from": 3,
            "tokens_to": 5,
            "band": "rewritten",
        },
        {
            "doc_id": "d2",
            "from_snapshot": JUNE,
            "to_snapshot": JULY,
            "status": "not_sampled",
            "tokens_from": 1,
        },
        {
            "doc_id": "d3",
            "from_snapshot": JULY,
            "to_snapshot": SEPTEMBER,
            "status": "added",
            "tokens_to": 2,
            "matched_by": "moved",
            "matched_id": "d2",
        },
        {
            "doc_id": "d5",
            "from_snapshot": JULY,
            "to_snapshot": SEPTEMBER,
            "status": "updated",
            "dice": 0.25,
            "tokens_from": 5,
            "tokens_to": 2,
            "band": "cosmetic",
        },
        {
            "doc_id": "d9",
            "from_snapshot": JULY,
            "to_snapshot": SEPTEMBER,
            "status": "removed",
            "tokens_from": 8,
            "matched_by": "loose",
            "matched_id": "d3",
        },
    ],
}
SCORES = [
    {"snapshot": snapshot, "system": system, "measure": measure, "query_key": query, "score": score}
    for snapshot, system, measure, query, score in (
        (JUNE, "a", "nDCG@10", "q1", 0.5),
        (JUNE, "b", "nDCG@10", "q1", 0.75),
        (JUNE, "a", "nDCG@10", "q2", 0.25),
        (JUNE, "b", "nDCG@10", "q2", 0.25),
        (JULY, "a", "nDCG@10", "q1", 1.0),
        (JULY, "b", "nDCG@10", "q1", 0.25),
        (JULY, "a", "nDCG@10", "q3", 0.125),
        (JULY, "b", "nDCG@10", "q3", 1.0),
        (JULY, "a", "nDCG@10", "q5", 0.5),
        (JULY, "b", "nDCG@10", "q5", None),
        (JUNE, "a", "AP", "q1", 0.0),
        (JUNE, "b", "AP", "q1", 1.0),
    )
]


@pytest.fixture(scope="module")
def literal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CollectionSource]:
    """The collection, with scores of two systems."""
    folder = tmp_path_factory.mktemp("literal")
    source = open_with_scores(write_collection(folder, TABLES, SNAPSHOT_TABLES), SCORES, [])
    yield source
    source.close()


@pytest.fixture(scope="module")
def pages(literal: CollectionSource) -> ASGIApp:
    """The application of the collection."""
    return create_application(literal, PORT)


def _rows(app: ASGIApp, address: str, caption: str) -> list[list[str]]:
    answer = ask(app, address)
    assert answer.status == 200
    tables = [table for table in Reader(answer.text).tables if table.caption == caption]
    return tables[0].rows if tables else []


def _first(app: ASGIApp, address: str, caption: str) -> str:
    """The first words of the first column of a table."""
    return " ".join(row[0].split()[0] for row in _rows(app, address, caption)[1:])


def test_queries_are_counted_over_all_snapshots_or_in_one(pages: ASGIApp) -> None:
    assert _rows(pages, "/queries", "Queries")[1:] == [
        ["eau vive", "the water", "t1", "train, seen", "3", "5", "4", "1", "23", "6"],
        ["pain", DASH, "t2", "test", "1", "2", "2", "0", "20", "20"],
        ["Crêpe sucrée", DASH, "t1, t2", "heldout", "1", "1", "1", "0", "7", "7"],
        ["sel", DASH, DASH, "test", "1", "0", "0", "0", "1", "1"],
        ["vin", DASH, DASH, DASH, "0", "1", "0", "1", "0", "0"],
    ]
    assert _rows(pages, "/queries?snapshot=2022-09", "Queries")[1:] == [
        ["eau vive", DASH, "t1", "seen", "1", "2", "2", "0", "9", "5"],
        ["sel", DASH, DASH, "test", "1", "0", "0", "0", "1", "1"],
    ]


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        ("sort=impressions", "eau pain Crêpe sel vin"),
        ("sort=text", "Crêpe eau pain sel vin"),
        ("sort=judged", "eau pain Crêpe vin sel"),
        ("sort=relevant", "eau pain Crêpe vin sel"),
        ("sort=flips", "eau vin Crêpe pain sel"),
        ("sort=moved", "pain Crêpe eau sel vin"),
        ("sort=listed", "eau Crêpe pain sel vin"),
        ("sort=longest", "Crêpe eau pain vin sel"),
        ("sort=least", "vin sel Crêpe pain eau"),
        ("group=core", "eau"),
        ("group=listed", "eau pain Crêpe sel"),
        ("group=judged", "eau pain Crêpe vin"),
        ("group=judged only", "vin"),
        ("group=not judged", "sel"),
        ("group=train", "eau"),
        ("group=heldout", "Crêpe"),
        ("group=test", "pain sel"),
        ("group=seen", "eau"),
        ("group=seen&snapshot=2022-06", ""),
        ("group=listed&snapshot=2022-07", "pain l'eau"),
        ("topic=t2", "pain Crêpe"),
        ("topic=t2&group=test", "pain"),
        ("text=CREPE", "Crêpe"),
        ("text=WATER", "eau"),
        ("text=Flotte!", "eau"),
        ("text=in", "pain vin"),
        ("text=q4", "vin"),
        ("text=?", ""),
        ("text=pain&topic=t1", ""),
    ],
)
def test_queries_are_searched_filtered_and_sorted(
    pages: ASGIApp, parameters: str, found: str
) -> None:
    assert _first(pages, f"/queries?{parameters}", "Queries") == found


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        ("", "a.example/1 b.example/2 www.a.example/1"),
        ("sort=url", "b.example/2 a.example/1 www.a.example/1"),
        ("sort=snapshots", "a.example/1 b.example/2 www.a.example/1"),
        ("snapshot=2022-09", "a.example/1 www.a.example/1"),
        ("text=B.EXAMPLE", "b.example/2"),
        ("text=d3", "www.a.example/1"),
        ("text=d", ""),
        ("text=a.example&snapshot=2022-06", "a.example/1"),
    ],
)
def test_pages_are_searched_filtered_and_sorted(
    pages: ASGIApp, parameters: str, found: str
) -> None:
    assert _first(pages, f"/pages?{parameters}", "Pages") == found
    row = ["a.example/1", "3", "2022-06, 2022-07, 2022-09", "d1"]
    assert row in _rows(pages, "/pages", "Pages")


def test_changes_between_two_snapshots(pages: ASGIApp) -> None:
    assert _rows(pages, "/changes", "Changes in pages from 2022-07 to 2022-09")[1:] == [
        ["d5", "updated", "cosmetic", "0.250", "\N{MINUS SIGN}3", DASH, "compare"],
        ["a.example/1", "updated", "rewritten", "0.750", "+2", DASH, "compare"],
        ["www.a.example/1", "added", DASH, DASH, "+2", "moved", DASH],
        ["d9", "removed", DASH, DASH, "\N{MINUS SIGN}8", "loose", DASH],
    ]
    caption = "Changes in pages from 2022-07 to 2022-09"
    assert _rows(pages, "/changes?host=a.example", caption)[1:] == [
        ["a.example/1", "updated", "rewritten", "0.750", "+2", DASH, "compare"],
        ["www.a.example/1", "added", DASH, DASH, "+2", "moved", DASH],
    ]
    caption = "Changes in queries from 2022-06 to 2022-07"
    assert _rows(pages, "/changes?kind=queries&to=2022-07", caption)[1:] == [
        ["pain", "new", DASH, "20", "+20"],
        ["Crêpe sucrée", "gone", "7", DASH, "\N{MINUS SIGN}7"],
        ["eau vive", "kept", "10", "4", "\N{MINUS SIGN}6"],
        ["q7", "kept", "3", "3", "0"],
    ]
    caption = "Changes in judgements from 2022-06 to 2022-07"
    assert _rows(pages, "/changes?kind=qrels&to=2022-07", caption)[1:] == [
        ["eau vive", "d1", "2", "1", "8", "3", "11"],
        ["eau vive", "d2", "0", "not judged", "6", DASH, "6"],
        ["vin", "d4", "0", "1", "0", "5", "5"],
        ["pain", "d1", "not judged", "2", DASH, "2", "2"],
        ["pain", "d2", "not judged", "1", DASH, "2", "2"],
        ["Crêpe sucrée", "d1", "1", "not judged", "1", DASH, "1"],
    ]


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        ("kind=documents&sort=id", "a.example/1 www.a.example/1 d5 d9"),
        ("kind=documents&sort=status", "www.a.example/1 d9 a.example/1 d5"),
        ("kind=documents&sort=words", "d9 d5 a.example/1 www.a.example/1"),
        ("kind=documents&direction=longer", "a.example/1"),
        ("kind=documents&direction=shorter", "d5"),
        ("kind=documents&to=2022-07&direction=longer", ""),
        ("kind=documents&to=2022-07&direction=shorter", ""),
        ("kind=documents&to=2022-07&direction=longer&host=a.ex", ""),
        ("kind=documents&to=2022-07&direction=shorter&host=a.ex", ""),
        ("kind=documents&direction=matched", "www.a.example/1 d9"),
        ("kind=documents&status=removed", "d9"),
        ("kind=documents&degree=rewritten", "a.example/1"),
        ("kind=documents&degree=edited", ""),
        ("kind=documents&host=A.Ex", "a.example/1 www.a.example/1"),
        ("kind=documents&host=www", "www.a.example/1"),
        ("kind=documents&host=https", ""),
        (
            "kind=documents&host=a.ex&direction=longer&degree=rewritten",
            "a.example/1",
        ),
        ("kind=documents&host=a.ex&direction=matched", "www.a.example/1"),
        ("kind=documents&host=a.ex&status=removed", ""),
        ("kind=documents&host=a.ex&degree=edited", ""),
        ("kind=queries&to=2022-07&sort=text", "Crêpe eau pain q7"),
        ("kind=queries&to=2022-07&sort=status", "Crêpe eau q7 pain"),
        ("kind=queries&sort=moved", "pain eau sel"),
        ("kind=queries&sort=status", "pain eau sel"),
        ("kind=queries&direction=up", "eau sel"),
        ("kind=queries&direction=down", "pain"),
        ("kind=queries&to=2022-07&direction=up", "pain"),
        ("kind=queries&to=2022-07&direction=down", "Crêpe eau"),
        ("kind=queries&topic=t2", "pain"),
        ("kind=queries&to=2022-07&topic=t2", "pain Crêpe"),
        ("kind=queries&status=kept", "eau"),
        ("kind=qrels&to=2022-07&sort=text", "Crêpe eau eau pain pain vin"),
        ("kind=qrels&to=2022-07&sort=after", "eau pain vin pain eau Crêpe"),
        ("kind=qrels&to=2022-07&sort=before", "eau vin Crêpe eau pain pain"),
        ("kind=qrels&to=2022-07&direction=changed", "eau vin"),
        ("kind=qrels&to=2022-07&direction=up", "vin"),
        ("kind=qrels&to=2022-07&direction=down", "eau"),
        ("kind=qrels&to=2022-07&direction=new", "pain pain"),
        ("kind=qrels&to=2022-07&direction=lost", "eau Crêpe"),
        ("kind=qrels&to=2022-07&topic=t2", "pain pain Crêpe"),
        ("kind=qrels&direction=changed", ""),
        ("kind=qrels", "eau eau q8"),
    ],
)
def test_changes_are_filtered_and_sorted(pages: ASGIApp, parameters: str, found: str) -> None:
    table = Reader(ask(pages, f"/changes?{parameters}").text).tables
    assert " ".join(row[0].split()[0] for row in (table[0].rows[1:] if table else [])) == found


def test_rejected_rows_are_counted_and_listed(pages: ASGIApp) -> None:
    caption = "Rejected rows by reason, stage and snapshot"
    assert _rows(pages, "/rejects", caption) == [
        ["Reason", "Stage", JUNE, JULY, SEPTEMBER],
        ["empty", "crawl", "2", DASH, DASH],
        ["bad url", "log", "7", "4", DASH],
    ]
    july = [["Reason", "Stage", JULY], ["bad url", "log", "4"]]
    assert _rows(pages, "/rejects?snapshot=2022-07", caption) == july
    empty = ["empty", "crawl", JUNE, "c", "1", "k", "2"]
    unknown = ["bad url", "log", JUNE, DASH, DASH, DASH, "5"]
    a, b = (["bad url", "log", JUNE, f"{n}.log", line, DASH, "1"] for n, line in ("a9", "b2"))
    later = ["bad url", "log", JULY, "a.log", "3", DASH, "4"]
    assert _rows(pages, "/rejects", "Rejected rows")[1:] == [empty, unknown, a, b, later]
    for parameters, rows in (
        ("sort=rows", [unknown, later, empty, a, b]),
        ("snapshot=2022-07", [later]),
        ("stage=crawl", [empty]),
        ("reason=bad_url&snapshot=2022-06", [unknown, a, b]),
        ("file=a.l", [a, later]),
        ("file=log&stage=crawl", []),
    ):
        assert _rows(pages, f"/rejects?{parameters}", "Rejected rows")[1:] == rows


def test_two_systems_are_compared_in_each_snapshot_and_for_each_query(pages: ASGIApp) -> None:
    assert _rows(pages, "/systems", "Differences by snapshot")[1:] == [
        [JUNE, "2", "\N{MINUS SIGN}0.1250", "0", "1", "1"],
        [JULY, "2", "\N{MINUS SIGN}0.0625", "1", "1", "0"],
    ]
    july = [
        ["pain", "0.1250", "1.0000", "\N{MINUS SIGN}0.8750"],
        ["eau vive", "1.0000", "0.2500", "+0.7500"],
    ]
    june = [
        ["eau vive", "0.5000", "0.7500", "\N{MINUS SIGN}0.2500"],
        ["Crêpe sucrée", "0.2500", "0.2500", "0.0000"],
    ]
    for parameters, rows in (
        ("", july),
        ("snapshot=2022-06", june),
        ("measure=AP", [["eau vive", "0.0000", "1.0000", "\N{MINUS SIGN}1.0000"]]),
        ("measure=AP&first=b&second=a", [["eau vive", "1.0000", "0.0000", "+1.0000"]]),
    ):
        found = _rows(pages, f"/systems?{parameters}", "Largest differences")[1:]
        assert found == rows
    assert "No snapshot has runs of both systems." in ask(pages, "/systems?measure=RR").text
    points = re.findall(r'class="dot ([a-z0-9-]+)"><title>(q[^<]*)', ask(pages, "/systems").text)
    assert points == [
        ("series-1", "q3: 0.1250, 1.0000"),
        ("series-0", "q1: 1.0000, 0.2500"),
    ]


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
