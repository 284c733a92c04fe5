"""Checks of the coverage of crawls."""

from typing import Any

import duckdb

from builder.drift.checks import (
    crawling,
)
from builder.drift.checks.neighbors import check_missing_pages
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
    assert outcome.is_construction is True
    assert "the crawl contains 386 of 386 shown pages before (100.0 %) and 273 of 394 after" in (
        outcome.evidence
    )
    assert (
        crawling.check_crawl_coverage(covering([held(386, 386)], [held(394, 390)])).is_construction
        is False
    )
    few = crawling.check_crawl_coverage(covering([held(12, 12)], [held(12, 11)]))
    assert (few.is_construction, few.detectable[:20]) == (None, "only a difference of")
    assert crawling.check_crawl_coverage(covering([], [held(394, 273)])).is_construction is None


def test_hosts_that_a_crawl_lacks() -> None:
    before = [held(9, 9, host=f"h{n}.fr") for n in range(12)]
    after = [row | {"in_crawl": 0 if n < 4 else 9} for n, row in enumerate(before)]
    outcome = crawling.check_host_coverage(covering(before, after, HostCoverage))
    assert outcome.is_construction is True
    assert (
        "4 were crawled only in the earlier one and 0 only in the later one (h0.fr, h1.fr, h2.fr)"
        in outcome.evidence
    )
    one = [row | {"in_crawl": 0 if n < 1 else 9} for n, row in enumerate(before)]
    outcome = crawling.check_host_coverage(covering(before, one, HostCoverage))
    assert outcome.is_construction is False
    assert outcome.detectable == "2 hosts that only one of the crawls contains"
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
    assert (name, outcome.is_construction) == ("2022-07", True)
    assert "the crawl lacks 150 of 500 pages that are in the crawls before and after it" in (
        outcome.evidence
    )
    ((_, whole),) = check_missing_pages(crawled(("678", 70), ("67", 30), ("8", 9)), names)
    assert whole.is_construction is False
    ((_, few),) = check_missing_pages(crawled(("678", 2)), names)
    assert few.is_construction is None
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
    few = sampled(9, shown_lost=2)
    assert (few.is_construction, few.detectable) == (False, "a difference of 21.0 points")
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
