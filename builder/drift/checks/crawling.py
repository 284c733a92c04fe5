"""Does the crawl hold the pages that users were shown?

Result lists say what the search engine had in its index. A crawl that lacks a part of these pages
is partial: the pages are missing from the collection, not from the web. Counts are of the documents
that selected queries showed, as the table `coverage` publishes them, and per host.
"""

import duckdb

from builder.drift.checks.outcome import (
    Check,
    Outcome,
    Shares,
    compare_shares,
    percent,
    row,
    unknown,
)

SHARE_JUMP = 0.05
"""Difference of coverage that is no longer noise."""

FEWEST_HOSTS = 5
HOSTS_LOST = 0.1
"""Share of the hosts compared that may be lost at once."""

FEWEST_PAGES = 3
"""Pages of a host that must be shown in both snapshots, or the host is not compared."""

HELD, LACKED = 0.5, 0.1
"""A host is held when the crawl has at least the first share of its shown pages, and lacked when it
has at most the second."""

COVERAGE = """
SELECT
    coalesce(sum(shown), 0)::BIGINT AS shown,
    coalesce(sum(in_crawl), 0)::BIGINT AS in_crawl,
    coalesce(sum(impressions), 0)::BIGINT AS impressions,
    coalesce(sum(impressions_in_crawl), 0)::BIGINT AS impressions_in_crawl
FROM coverage_{side} WHERE scope = 'kept_queries'
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


def crawl_holds_shown(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the share of shown pages that the crawl has."""
    before, after = (row(connection, COVERAGE.format(side=side)) for side in ("from", "to"))
    if not (before["shown"] and after["shown"]):
        return unknown("what the crawl holds of the pages shown is not recorded")
    shares = Shares(
        (before["in_crawl"], before["shown"]), (after["in_crawl"], after["shown"]), SHARE_JUMP
    )
    says = (
        f"the crawl holds {before['in_crawl']:,} of {before['shown']:,} pages shown before "
        f"({percent(shares.values[0])}) and {after['in_crawl']:,} of {after['shown']:,} after "
        f"({percent(shares.values[1])})"
    )
    numbers = {"from": before, "to": after}
    return compare_shares(shares, says, "a crawl is partial", numbers)


def hosts_are_crawled(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Count the hosts that are shown in both snapshots and crawled in one of them alone."""
    for name, value in (("fewest_pages", FEWEST_PAGES), ("held", HELD), ("lacked", LACKED)):
        connection.execute(f"SET VARIABLE {name} = ?", [value])
    numbers = row(connection, HOSTS)
    if numbers["compared"] < FEWEST_HOSTS:
        return unknown(
            f"fewer than {FEWEST_HOSTS} hosts have {FEWEST_PAGES} pages shown in both snapshots"
        )
    least = max(2, HOSTS_LOST * numbers["compared"])
    says = (
        f"of {numbers['compared']:,} hosts shown in both snapshots, {numbers['lost']:,} are "
        f"crawled before only and {numbers['gained']:,} after only"
    )
    found = max(numbers["lost"], numbers["gained"]) >= least
    verdict = f" ({', '.join(numbers['examples'][:3])}): a crawl is partial" if found else ""
    sees = f"{int(-(-least // 1))} hosts lost at once"
    return Outcome(found, says + verdict, numbers, sees)


CHECKS = (
    Check("crawl_holds_shown", "Does the crawl hold the pages that were shown?", crawl_holds_shown),
    Check("hosts_are_crawled", "Are the hosts that were shown crawled alike?", hosts_are_crawled),
)
