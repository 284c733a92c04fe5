"""Each list of the explorer, its filters and its orders, on a collection of literal rows."""

import re

import pytest
from starlette.types import ASGIApp

from tests.explore.client import Reader, ask
from tests.explore.client import table_rows as _rows
from tests.explore.literal_rows.rows import DASH, JULY, JUNE, SEPTEMBER


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
