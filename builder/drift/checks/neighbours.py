"""Checks that no crawl lacks pages that the crawls before and after it contain.

Reads the view `documents_map`, which lists the snapshots whose crawl contains each page. A page in
the crawls before and after a snapshot was probably online in between. A crawl that lacks such pages
on most hosts, or all pages of many hosts, is partial; a few hosts may have been out of reach. The
first and the last snapshot have only one neighbour and cannot be checked this way.
"""

from collections.abc import Iterator, Sequence

import duckdb

from builder.drift.checks.hosts import MIN_PAGES, MIN_PARTIAL_PAGES, HostCount, is_crawl_partial
from builder.drift.checks.outcome import Outcome, cannot_tell, fetch_row, format_share

FEWEST = 30
MISSING = 0.05
"""Maximum share of pages in both neighbouring crawls that a complete crawl may lack."""

CRAWLED = r"""
WITH
pages AS (
    SELECT
        regexp_extract(url_key, '^https?://([^/?]*)', 1) AS host,
        list_contains(crawled, getvariable('between')) AS present
    FROM documents_map
    WHERE list_contains(crawled, getvariable('before'))
      AND list_contains(crawled, getvariable('after'))
),
hosts AS (
    SELECT host, count(*) AS pages, count(*) FILTER (present) AS present FROM pages GROUP BY host
)
SELECT
    (SELECT count(*) FROM documents_map WHERE crawled IS NOT NULL) AS known,
    (SELECT count(*) FROM pages) AS pages,
    (SELECT count(*) FROM pages WHERE NOT present) AS missing,
    (SELECT count(*) FROM hosts WHERE pages >= {pages:d}) AS hosts,
    (SELECT count(*) FROM hosts WHERE pages >= {pages:d} AND present = 0) AS hosts_missing,
    (SELECT count(*) FROM hosts WHERE pages >= {pages:d} AND present <= (1 - {missing}) * pages)
        AS hosts_changed
"""


def check_missing_pages(
    connection: duckdb.DuckDBPyConnection, names: Sequence[str]
) -> Iterator[tuple[str, Outcome]]:
    """Yield each snapshot between two others with the outcome of comparing the three crawls."""
    for before, between, after in zip(names, names[1:], names[2:], strict=False):
        for name, value in (("before", before), ("between", between), ("after", after)):
            connection.execute(f"SET VARIABLE {name} = ?", [value])
        yield between, _check_crawl(connection)


def _check_crawl(connection: duckdb.DuckDBPyConnection) -> Outcome:
    numbers = fetch_row(connection, CRAWLED.format(pages=MIN_PAGES, missing=MISSING))
    if not numbers.pop("known"):
        return cannot_tell("the contents of the crawls are not recorded")
    if numbers["pages"] < FEWEST:
        return cannot_tell(f"fewer than {FEWEST} pages are in the crawls of both neighbours")
    part = numbers["missing"] / numbers["pages"]
    says = (
        f"the crawl lacks {numbers['missing']:,} of {numbers['pages']:,} pages that are in the "
        f"crawls before and after it ({format_share(part)}), and all pages of "
        f"{numbers['hosts_missing']:,} of {numbers['hosts']:,} hosts"
    )
    partial = is_crawl_partial(numbers["hosts_missing"], numbers["hosts"])
    if part < MISSING and partial is False:
        sees = f"{format_share(MISSING)} of pages missing from this crawl only"
        return Outcome(False, says, numbers, sees)
    hosts = HostCount(numbers["hosts"], numbers["hosts_changed"])
    if partial or (part >= MIN_PARTIAL_PAGES and hosts.are_most):
        return Outcome(True, f"{says}: the crawl is partial", numbers)
    if hosts.are_most:
        reason = "either the crawl is partial or pages were out of reach"
        return Outcome(None, f"{says}: {reason}", numbers)
    return hosts.undecided(says, numbers)
