"""Checks that the crawl contains the pages that were shown to users.

Result pages reveal which documents the search engine had indexed. A crawl that lacks many of them
is partial: the documents are missing from the collection, not from the web. The checks count the
documents shown for selected queries (table `coverage`), in total and per host.
"""

import math

import duckdb

from builder.drift.checks.hosts import (
    MIN_LOST,
    MIN_LOST_SHARE,
    MIN_PARTIAL_PAGES,
    count_changed_hosts,
    is_crawl_partial,
)
from builder.drift.checks.outcome import (
    Check,
    Outcome,
    ShareComparison,
    cannot_tell,
    compare_shares,
    fetch_row,
    format_share,
)

SHARE_JUMP = 0.05
"""Minimum difference of coverage that is not noise."""

FEWEST_HOSTS = 5
FEWEST_PAGES = 3
"""Minimum number of pages of a host, shown in both snapshots, to compare the host."""

HELD, LACKED = 0.5, 0.1
"""Coverage of a host's shown pages from which it counts as crawled, and up to which it counts as
missing."""

COVERAGE = """
SELECT
    coalesce(sum(shown), 0)::BIGINT AS shown,
    coalesce(sum(in_crawl), 0)::BIGINT AS in_crawl,
    coalesce(sum(impressions), 0)::BIGINT AS impressions,
    coalesce(sum(impressions_in_crawl), 0)::BIGINT AS impressions_in_crawl
FROM coverage_{side} WHERE scope = 'kept_queries'
"""

COVERAGE_OF_HOST = """
SELECT host, shown AS pages, in_crawl AS part FROM host_coverage_{side} WHERE shown > 0
"""

HOSTS = """
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
    """Compare the share of shown pages that were crawled between the snapshots."""
    before, after = (fetch_row(connection, COVERAGE.format(side=side)) for side in ("from", "to"))
    if not (before["shown"] and after["shown"]):
        return cannot_tell("the crawl coverage of shown pages is not recorded")
    comparison = ShareComparison(
        (before["in_crawl"], before["shown"]), (after["in_crawl"], after["shown"]), SHARE_JUMP
    )
    says = (
        f"the crawl contains {before['in_crawl']:,} of {before['shown']:,} shown pages before "
        f"({format_share(comparison.shares[0])}) and {after['in_crawl']:,} of {after['shown']:,} "
        f"after ({format_share(comparison.shares[1])})"
    )
    numbers = {"from": before, "to": after}
    if comparison.is_changed:
        hosts = count_changed_hosts(connection, COVERAGE_OF_HOST, comparison)
        if not hosts.are_most:
            return hosts.undecided(says, numbers)
        if abs(comparison.shares[1] - comparison.shares[0]) < MIN_PARTIAL_PAGES:
            reason = "either a crawl is partial or pages ended before it"
            return Outcome(None, f"{says}: {reason}", numbers)
    return compare_shares(comparison, says, "a crawl is partial", numbers)


def check_host_coverage(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Count the hosts whose pages are shown in both snapshots but crawled in only one."""
    for name, value in (("fewest_pages", FEWEST_PAGES), ("held", HELD), ("lacked", LACKED)):
        connection.execute(f"SET VARIABLE {name} = ?", [value])
    numbers = fetch_row(connection, HOSTS)
    if numbers["compared"] < FEWEST_HOSTS:
        return cannot_tell(
            f"fewer than {FEWEST_HOSTS} hosts have at least {FEWEST_PAGES} shown pages in both "
            "snapshots"
        )
    says = (
        f"of {numbers['compared']:,} hosts shown in both snapshots, {numbers['lost']:,} were "
        f"crawled only in the earlier one and {numbers['gained']:,} only in the later one"
    )
    found = is_crawl_partial(max(numbers["lost"], numbers["gained"]), numbers["compared"])
    if found is False:
        least = math.ceil(max(MIN_LOST, MIN_LOST_SHARE * numbers["compared"]))
        return Outcome(False, says, numbers, f"{least} hosts lost at the same time")
    says += f" ({', '.join(numbers['examples'][:3])})"
    if found is None:
        reason = "either a crawl is partial or these hosts could not be crawled"
        return Outcome(None, f"{says}: {reason}", numbers)
    return Outcome(True, f"{says}: a crawl is partial", numbers)


CHECKS = (
    Check("crawl_holds_shown", "Does the crawl contain the shown pages?", check_crawl_coverage),
    Check(
        "hosts_are_crawled", "Are the shown hosts crawled in both snapshots?", check_host_coverage
    ),
)
