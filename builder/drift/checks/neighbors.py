"""Checks for pages that are missing from a crawl but present in the previous and the next crawl.

Reads the view `documents_map`, which lists for each page the snapshots whose crawl contains it. A
page in the previous and the next crawl was probably online in between. A crawl is partial
if such pages are missing on most hosts, or if many hosts are missing completely; if only a few
hosts are affected, they may have been unreachable. The first and the last snapshot cannot be
checked because they have only one neighbor.
"""

from collections.abc import Iterator, Sequence

import duckdb

from builder.drift.checks.hosts import (
    MIN_MISSING_PAGE_SHARE_IF_PARTIAL,
    MIN_PAGES,
    ChangedHostCount,
    is_crawl_partial,
)
from builder.drift.checks.outcome import Outcome, fetch_single_row, format_share, undecided_outcome

MIN_COMMON_PAGES = 30
"""A crawl is checked if the previous and the next crawl have at least this many pages in common."""

MAX_MISSING_SHARE = 0.05
"""Maximum tolerated share of missing pages, in total and per host, among the pages in the previous
and the next crawl."""

MISSING_PAGES = r"""
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
    connection: duckdb.DuckDBPyConnection, snapshot_names: Sequence[str]
) -> Iterator[tuple[str, Outcome]]:
    """Check each crawl for missing pages; yield the name of the snapshot and the outcome.

    A page is missing from a crawl if the previous and the next crawl contain it. The first and the
    last crawl have only one neighbor and are skipped.

    Args:
        connection: Connection with the view `documents_map`.
        snapshot_names: Names of all snapshots in chronological order.
    """
    for before, between, after in zip(
        snapshot_names, snapshot_names[1:], snapshot_names[2:], strict=False
    ):
        for name, value in (("before", before), ("between", between), ("after", after)):
            connection.execute(f"SET VARIABLE {name} = ?", [value])
        yield between, _check_intermediate_crawl(connection)


def _check_intermediate_crawl(connection: duckdb.DuckDBPyConnection) -> Outcome:
    numbers = fetch_single_row(
        connection, MISSING_PAGES.format(pages=MIN_PAGES, missing=MAX_MISSING_SHARE)
    )
    if not numbers.pop("known"):
        return undecided_outcome("the contents of the crawls are not recorded")
    if numbers["pages"] < MIN_COMMON_PAGES:
        return undecided_outcome(
            f"fewer than {MIN_COMMON_PAGES} pages are in both the previous and the next crawl"
        )
    part = numbers["missing"] / numbers["pages"]
    says = (
        f"the crawl lacks {numbers['missing']:,} of {numbers['pages']:,} pages that are in the "
        f"crawls before and after it ({format_share(part)}), and all pages of "
        f"{numbers['hosts_missing']:,} of {numbers['hosts']:,} hosts"
    )
    partial = is_crawl_partial(numbers["hosts_missing"], numbers["hosts"])
    if part < MAX_MISSING_SHARE and partial is False:
        sees = f"{format_share(MAX_MISSING_SHARE)} of pages missing from this crawl only"
        return Outcome(False, says, numbers, sees)
    hosts = ChangedHostCount(numbers["hosts"], numbers["hosts_changed"])
    if partial or (part >= MIN_MISSING_PAGE_SHARE_IF_PARTIAL and hosts.most_hosts_changed):
        return Outcome(True, f"{says}: the crawl is partial", numbers)
    if hosts.most_hosts_changed:
        reason = "either the crawl is partial or pages were unreachable"
        return Outcome(None, f"{says}: {reason}", numbers)
    return hosts.create_undecided_outcome(says, numbers)
