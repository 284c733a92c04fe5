"""Checks of the coverage of crawls."""

from typing import Any

import duckdb
import pytest

from builder.drift.checks import (
    crawling,
)
from builder.drift.checks.neighbors import check_missing_pages
from builder.drift.checks.outcome import Outcome
from builder.text.keys import doc_id, key64
from schemas import (
    Coverage,
    DocumentsMap,
    HostCoverage,
    Qrels,
    Queries,
    TableSchema,
)
from tests.drift.worlds import Rows, compare, frame, holding, page


def covering(before: Rows, after: Rows, kind: type[TableSchema] = Coverage) -> Any:
    """A connection with the coverage of two snapshots."""
    connection = compare(*[(frame([], Queries), frame([], Qrels))] * 2)
    name = "coverage" if kind is Coverage else "host_coverage"
    for side, rows in (("from", before), ("to", after)):
        connection.execute(f"DROP VIEW {name}_{side}")
        connection.register(f"{name}_{side}", frame(rows, kind).to_arrow())
    return connection


def held(shown: int, in_crawl: int, **values: Any) -> dict[str, Any]:
    """A row of `coverage` or `host_coverage`."""
    counts = {"shown": shown, "in_crawl": in_crawl, "impressions": shown}
    return {"scope": "kept_queries", "impressions_in_crawl": in_crawl} | counts | values


def test_a_partial_crawl() -> None:
    """Of 394 pages shown the crawl holds 273, a month before all 386."""
    connection = covering([held(386, 386)], [held(394, 273)])
    for side, in_crawl in (("from", 9), ("to", 6)):
        hosts = [held(9, in_crawl, host=f"h{n}.fr") for n in range(5)]
        connection.execute(f"DROP VIEW host_coverage_{side}")
        connection.register(f"host_coverage_{side}", frame(hosts, HostCoverage).to_arrow())
    outcome = crawling.check_crawl_coverage(connection)
    counts = [
        {"shown": shown, "in_crawl": part, "impressions": shown, "impressions_in_crawl": part}
        for shown, part in ((386, 386), (394, 273))
    ]
    assert outcome == Outcome(
        True,
        "the crawl contains 386 of 386 shown pages before (100.0 %) and 273 of 394 after (69.3 %): "
        "one crawl is incomplete",
        {"from": counts[0], "to": counts[1]},
    )
    other = held(99, 0, scope="all_queries")
    whole = covering([held(300, 300), held(86, 86), other], [held(394, 390), other])
    outcome = crawling.check_crawl_coverage(whole)
    assert (outcome.is_construction, outcome.detectable) == (False, "a difference of 5.0 points")
    assert outcome.evidence == (
        "the crawl contains 386 of 386 shown pages before (100.0 %) and 390 of 394 after (99.0 %)"
    )
    assert outcome.numbers["from"] == counts[0]
    few = crawling.check_crawl_coverage(covering([held(12, 12)], [held(12, 11)]))
    assert (few.is_construction, few.detectable[:20]) == (None, "only a difference of")
    for rows in (([], [held(394, 273)]), ([held(394, 273)], []), ([other], [held(394, 273)])):
        assert crawling.check_crawl_coverage(covering(*rows)) == Outcome(
            None, "the crawl coverage of shown pages is not recorded"
        )


@pytest.mark.parametrize(("left", "reason"), [(79, "one crawl is incomplete"), (81, "either one ")])
def test_a_crawl_that_lacks_a_fifth_of_the_pages_of_most_hosts(left: int, reason: str) -> None:
    """A host none of whose pages was shown is not counted."""
    connection = covering([held(1000, 1000)], [held(1000, 10 * left)])
    for side, in_crawl in (("from", 100), ("to", left)):
        hosts = [held(100, in_crawl, host=f"h{n}.fr") for n in range(10)]
        hosts += [held(0, 0, host=f"unshown{n}.fr") for n in range(20)]
        connection.execute(f"DROP VIEW host_coverage_{side}")
        connection.register(f"host_coverage_{side}", frame(hosts, HostCoverage).to_arrow())
    outcome = crawling.check_crawl_coverage(connection)
    assert outcome.is_construction is (True if left < 80 else None)
    assert reason in outcome.evidence


def test_hosts_that_a_crawl_lacks() -> None:
    before = [held(9, 9, host=f"h{n}.fr") for n in range(12)]
    after = [row | {"in_crawl": 0 if n < 4 else 9} for n, row in enumerate(before)]
    lost = ["h0.fr", "h1.fr", "h2.fr", "h3.fr"]
    assert crawling.check_host_coverage(covering(before, after, HostCoverage)) == Outcome(
        True,
        "of 12 hosts shown in both snapshots, 4 were crawled only in the earlier one and 0 only in "
        "the later one (h0.fr, h1.fr, h2.fr): one crawl is incomplete",
        {"compared": 12, "lost": 4, "gained": 0, "examples": lost},
    )
    gained = crawling.check_host_coverage(covering(after, before, HostCoverage))
    assert gained.is_construction is True
    assert gained.numbers == {"compared": 12, "lost": 0, "gained": 4, "examples": lost}
    one = [row | {"in_crawl": 0 if n < 1 else 9} for n, row in enumerate(before)]
    outcome = crawling.check_host_coverage(covering(before, one, HostCoverage))
    assert outcome.is_construction is False
    assert outcome.evidence == (
        "of 12 hosts shown in both snapshots, 1 were crawled only in the earlier one and 0 only in "
        "the later one"
    )
    assert outcome.detectable == "2 hosts that only one of the crawls contains"
    many = [held(9, 9, host=f"h{n:02}.fr") for n in range(41)]
    most = [row | {"in_crawl": 9 * (n >= 12)} for n, row in enumerate(many)]
    outcome = crawling.check_host_coverage(covering(many, most, HostCoverage))
    assert outcome.numbers["examples"] == [f"h{n:02}.fr" for n in range(10)]
    assert outcome.evidence.endswith(" (h00.fr, h01.fr, h02.fr): one crawl is incomplete")
    outcome = crawling.check_host_coverage(covering(many, many, HostCoverage))
    assert outcome.detectable == "5 hosts that only one of the crawls contains"
    assert (
        crawling.check_host_coverage(covering(before[:4], after, HostCoverage)).is_construction
        is None
    )


def crawled(*patterns: tuple[str, int]) -> duckdb.DuckDBPyConnection:
    """A map of documents: the months whose crawl has them, and how many there are of each host."""
    rows = [
        {
            "doc_id": doc_id(key64(f"{months}{host}{n}")),
            "url_key": f"https://h{host}.fr/{n}",
            "crawled": [f"2022-0{month}" for month in months],
        }
        for months, count in patterns
        for host in range(5)
        for n in range(count)
    ]
    connection = duckdb.connect()
    connection.register("documents_map", frame(rows, DocumentsMap).to_arrow())
    return connection


def test_pages_that_one_crawl_alone_lacks() -> None:
    names = ("2022-06", "2022-07", "2022-08")
    ((name, outcome),) = check_missing_pages(crawled(("678", 70), ("68", 30), ("6", 9)), names)
    assert name == "2022-07"
    assert outcome == Outcome(
        True,
        "the crawl lacks 150 of 500 pages that are in the crawls before and after it (30.0 %), and "
        "all pages of 0 of 5 hosts: the crawl is partial",
        {"pages": 500, "missing": 150, "hosts": 5, "hosts_missing": 0, "hosts_changed": 5},
    )
    ((_, whole),) = check_missing_pages(crawled(("678", 70), ("67", 30), ("8", 9)), names)
    assert whole == Outcome(
        False,
        "the crawl lacks 0 of 350 pages that are in the crawls before and after it (0.0 %), and "
        "all pages of 0 of 5 hosts",
        {"pages": 350, "missing": 0, "hosts": 5, "hosts_missing": 0, "hosts_changed": 0},
        "5.0 % of pages missing from this crawl only",
    )
    ((_, few),) = check_missing_pages(crawled(("678", 5)), names)
    assert few == Outcome(None, "fewer than 30 pages are in both the previous and the next crawl")
    ((_, enough),) = check_missing_pages(crawled(("678", 6)), names)
    assert enough.is_construction is False
    ((_, small),) = check_missing_pages(crawled(("678", 2), ("67", 9)), names)
    assert small.is_construction is None
    four = ("2022-05", *names)
    assert [name for name, _ in check_missing_pages(crawled(("5678", 9)), four)] == [
        "2022-06",
        "2022-07",
    ]
    unknown = crawled(("678", 9))
    unknown.execute("CREATE VIEW known AS SELECT * REPLACE (NULL AS crawled) FROM documents_map")
    unknown.execute("CREATE TABLE unknown AS FROM known")
    unknown.unregister("documents_map")
    unknown.execute("ALTER TABLE unknown RENAME TO documents_map")
    ((_, release),) = check_missing_pages(unknown, names)
    assert release == Outcome(None, "the contents of the crawls are not recorded")
    assert list(check_missing_pages(crawled(("67", 2)), names[:2])) == []


def sampled(lost: int, *, shown_lost: int = 0, **values: Any) -> crawling.Outcome:
    """The outcome if the later crawl lacks some of 50 sampled and of 100 shown pages."""
    pages = [
        page(f"https://site{n % 5}.fr/{n}", "", f"texte {n}", shown=n >= 50) for n in range(150)
    ]
    gone = [*range(lost), *range(50, 50 + shown_lost)]
    rows = [
        {"doc_id": row["doc_id"], "status": "removed", "crawled": False} | values
        if n in gone
        else {"doc_id": row["doc_id"], "status": "unchanged"}
        for n, row in enumerate(pages)
    ]
    after = [row for n, row in enumerate(pages) if n not in gone]
    return crawling.check_unshown_pages(holding(pages, after, rows))


def test_a_crawl_of_shown_pages_only() -> None:
    outcome = sampled(25, shown_lost=2)
    assert outcome.is_construction is None
    assert outcome.evidence == (
        "on sites in both snapshots, the later crawl lacks 25 of 50 pages that were not shown and "
        "2 of 100 shown pages and the earlier crawl lacks 0 of 25 pages that were not shown and 0 "
        "of 98 shown pages: either one crawl omits unshown pages or many such pages appeared or "
        "disappeared"
    )
    assert outcome.numbers == {
        "from": {"shown": 100, "shown_missing": 2, "unshown": 50, "unshown_missing": 25},
        "to": {"shown": 98, "shown_missing": 0, "unshown": 25, "unshown_missing": 0},
    }
    few = sampled(9, shown_lost=2)
    assert few == Outcome(
        False,
        "on sites in both snapshots, the later crawl lacks 9 of 50 pages that were not shown and "
        "2 of 100 shown pages and the earlier crawl lacks 0 of 41 pages that were not shown and 0 "
        "of 98 shown pages",
        {
            "from": {"shown": 100, "shown_missing": 2, "unshown": 50, "unshown_missing": 9},
            "to": {"shown": 98, "shown_missing": 0, "unshown": 41, "unshown_missing": 0},
        },
        "a difference of 21.0 points",
    )
    assert sampled(25, shown_lost=50).is_construction is False
    assert sampled(25, crawled=True).is_construction is False
    assert sampled(25, matched_by="loose").is_construction is False
    all_gone = sampled(50)
    assert all_gone.is_construction is None
    assert all_gone.evidence == (
        "on sites in both snapshots, the later crawl lacks 50 of 50 pages that were not shown and "
        "0 of 100 shown pages: either one crawl omits unshown pages or many such pages appeared or "
        "disappeared"
    )
    assert sampled(31, crawled=True).evidence == (
        "fewer than 20 unshown pages belong to sites in both snapshots"
    )
    assert sampled(25, crawled=None).evidence == "the contents of the crawls are not recorded"
    assert sampled(0).is_construction is False  # no page is missing
    assert sampled(0, shown_lost=60).is_construction is False  # more shown pages are
    unshown = [page(f"https://site{n % 5}.fr/{n}", "", "", shown=False) for n in range(50)]
    rows = [{"doc_id": row["doc_id"], "status": "unchanged"} for row in unshown]
    assert crawling.check_unshown_pages(holding(unshown, unshown, rows)) == Outcome(
        None, "fewer than 20 unshown pages belong to sites in both snapshots"
    )


def test_a_crawl_that_omits_unshown_pages_may_be_the_earlier_one() -> None:
    """Sites that only one snapshot has are not compared; few unshown pages leave it undecided."""
    pages = [
        page(f"https://site{n % 5}.fr/{n}", "", f"texte {n}", shown=n >= 50) for n in range(150)
    ]
    opened = [page(f"https://new.fr/{n}", "", f"new {n}", shown=False) for n in range(90)]
    changes = [
        {"doc_id": row["doc_id"], "status": "unchanged"}
        if n >= 30
        else {"doc_id": row["doc_id"], "status": "added", "crawled": False}
        for n, row in enumerate(pages)
    ]
    changes += [{"doc_id": row["doc_id"], "status": "added", "crawled": False} for row in opened]
    outcome = crawling.check_unshown_pages(holding(pages[30:], [*pages, *opened], changes))
    assert outcome.is_construction is None
    assert outcome.numbers == {
        "from": {"shown": 100, "shown_missing": 0, "unshown": 20, "unshown_missing": 0},
        "to": {"shown": 100, "shown_missing": 0, "unshown": 50, "unshown_missing": 30},
    }
    assert outcome.evidence == (
        "on sites in both snapshots, the later crawl lacks 0 of 20 pages that were not shown and "
        "0 of 100 shown pages and the earlier crawl lacks 30 of 50 pages that were not shown and 0 "
        "of 100 shown pages: either one crawl omits unshown pages or many such pages appeared or "
        "disappeared"
    )
    none_missing = [change | {"crawled": True} for change in changes]
    outcome = crawling.check_unshown_pages(holding(pages[30:], pages, none_missing))
    assert (outcome.is_construction, outcome.detectable) == (False, "a difference of 23.0 points")
    some = [*pages[30:50], *pages[135:]]
    outcome = crawling.check_unshown_pages(holding(some, some, changes))
    assert (outcome.is_construction, outcome.detectable) == (
        None,
        "only a difference of 63.0 points is detectable",
    )
