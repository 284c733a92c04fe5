"""Checks that the crawl contains the pages that were shown to users.

Search results show which documents the engine had indexed. A crawl that lacks many of them is
partial: the documents are missing from the collection, not from the web. The checks count the
documents shown for selected queries, in total (table `coverage`) and per host (`host_coverage`).
"""

import math

import duckdb

from builder.drift.checks.hosts import (
    MIN_LOST_HOST_SHARE,
    MIN_LOST_HOSTS,
    MIN_MISSING_PAGE_SHARE_IF_PARTIAL,
    count_changed_hosts,
    is_crawl_partial,
)
from builder.drift.checks.outcome import (
    Check,
    Outcome,
    ShareComparison,
    create_share_outcome,
    fetch_single_row,
    format_share,
    undecided_outcome,
)

MIN_COVERAGE_DIFFERENCE = 0.05
"""Minimum relevant difference in coverage between two snapshots; smaller ones count as noise."""

MIN_COMPARED_HOSTS = 5
"""Minimum number of compared hosts for deciding whether one crawl is incomplete."""

MIN_SHOWN_PAGES = 3
"""Minimum number of a host's pages shown in each snapshot for comparing its coverage."""

MIN_CRAWLED_COVERAGE, MAX_MISSING_COVERAGE = 0.5, 0.1
"""A host is crawled if the coverage of its shown pages is at least the first threshold, and missing
from the crawl if it is at most the second."""

COVERAGE = """
SELECT
    coalesce(sum(shown), 0)::BIGINT AS shown,
    coalesce(sum(in_crawl), 0)::BIGINT AS in_crawl,
    coalesce(sum(impressions), 0)::BIGINT AS impressions,
    coalesce(sum(impressions_in_crawl), 0)::BIGINT AS impressions_in_crawl
FROM coverage_{side} WHERE scope = 'kept_queries'
"""

COVERAGE_BY_HOST = """
SELECT host, shown AS pages, in_crawl AS part FROM host_coverage_{side} WHERE shown > 0
"""

LOST_AND_GAINED_HOSTS = """
WITH hosts AS (
    SELECT host, f.in_crawl / f.shown AS before, t.in_crawl / t.shown AS after
    FROM host_coverage_from AS f JOIN host_coverage_to AS t USING (host)
    WHERE least(f.shown, t.shown) >= getvariable('fewest_pages')
)
SELECT
    count(*) AS compared,
    count(*) FILTER (before >= getvariable('held') AND after <= getvariable('lacked')) AS lost,
    count(*) FILTER (after >= getvariable('held') AND before <= getvariable('lacked')) AS gained,
    list(host ORDER BY host) FILTER (
        (before >= getvariable('held') AND after <= getvariable('lacked'))
        OR (after >= getvariable('held') AND before <= getvariable('lacked'))
    )[:10] AS examples
FROM hosts
"""


def check_crawl_coverage(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the crawl coverage of the pages shown to users in the two snapshots."""
    before, after = (
        fetch_single_row(connection, COVERAGE.format(side=side)) for side in ("from", "to")
    )
    if not (before["shown"] and after["shown"]):
        return undecided_outcome("the crawl coverage of shown pages is not recorded")
    comparison = ShareComparison(
        (before["in_crawl"], before["shown"]),
        (after["in_crawl"], after["shown"]),
        MIN_COVERAGE_DIFFERENCE,
    )
    says = (
        f"the crawl contains {before['in_crawl']:,} of {before['shown']:,} shown pages before "
        f"({format_share(comparison.shares[0])}) and {after['in_crawl']:,} of {after['shown']:,} "
        f"after ({format_share(comparison.shares[1])})"
    )
    numbers = {"from": before, "to": after}
    if comparison.is_changed:
        hosts = count_changed_hosts(connection, COVERAGE_BY_HOST, comparison)
        if not hosts.most_hosts_changed:
            return hosts.create_undecided_outcome(says, numbers)
        if abs(comparison.shares[1] - comparison.shares[0]) < MIN_MISSING_PAGE_SHARE_IF_PARTIAL:
            reason = "either one crawl is incomplete or pages were deleted before it"
            return Outcome(None, f"{says}: {reason}", numbers)
    return create_share_outcome(comparison, says, "one crawl is incomplete", numbers)


def check_host_coverage(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Count the hosts whose pages were shown in both snapshots but crawled in only one of them."""
    for name, value in (
        ("fewest_pages", MIN_SHOWN_PAGES),
        ("held", MIN_CRAWLED_COVERAGE),
        ("lacked", MAX_MISSING_COVERAGE),
    ):
        connection.execute(f"SET VARIABLE {name} = ?", [value])
    numbers = fetch_single_row(connection, LOST_AND_GAINED_HOSTS)
    if numbers["compared"] < MIN_COMPARED_HOSTS:
        return undecided_outcome(
            f"fewer than {MIN_COMPARED_HOSTS} hosts have at least {MIN_SHOWN_PAGES} shown pages "
            "in both snapshots"
        )
    says = (
        f"of {numbers['compared']:,} hosts shown in both snapshots, {numbers['lost']:,} were "
        f"crawled only in the earlier one and {numbers['gained']:,} only in the later one"
    )
    found = is_crawl_partial(max(numbers["lost"], numbers["gained"]), numbers["compared"])
    if found is False:
        least = math.ceil(max(MIN_LOST_HOSTS, MIN_LOST_HOST_SHARE * numbers["compared"]))
        return Outcome(False, says, numbers, f"{least} hosts lost at the same time")
    says += f" ({', '.join(numbers['examples'][:3])})"
    if found is None:
        reason = "either one crawl is incomplete or these hosts could not be crawled"
        return Outcome(None, f"{says}: {reason}", numbers)
    return Outcome(True, f"{says}: one crawl is incomplete", numbers)


CHECKS = (
    Check("crawl_holds_shown", "Does the crawl contain the shown pages?", check_crawl_coverage),
    Check(
        "hosts_are_crawled", "Are the shown hosts crawled in both snapshots?", check_host_coverage
    ),
)
