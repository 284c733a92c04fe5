"""Checks that the crawl contains the pages that were shown to users.

Search results show which documents the engine had indexed. If a crawl lacks many of them, it is
incomplete: these documents were still on the web, but are not in the collection. The checks count
the documents shown for selected queries, in total (table `coverage`) and per host
(`host_coverage`). A crawl that contains only shown documents has full coverage, but lacks the
randomly sampled documents that the crawl of the other snapshot contains.
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
    SITE_SQL,
    Check,
    Outcome,
    ShareComparison,
    create_share_outcome,
    fetch_single_row,
    format_percentage_points,
    format_share,
    undecided_outcome,
)

MIN_COVERAGE_DIFFERENCE = 0.05
"""Smallest difference in crawl coverage between two snapshots that counts as a change."""

MIN_COMPARED_HOSTS = 5
"""Minimum number of compared hosts for deciding whether one crawl is incomplete."""

MIN_SHOWN_PAGES = 3
"""The coverage of a host is compared if each snapshot shows at least this many of its pages."""

MIN_CRAWLED_COVERAGE, MAX_MISSING_COVERAGE = 0.5, 0.1
"""A host is crawled if the coverage of its shown pages is at least the first threshold, and missing
from the crawl if it is at most the second."""

MIN_UNSHOWN_PAGES, MIN_UNSHOWN_DIFFERENCE, MAX_DETECTABLE_UNSHOWN_DIFFERENCE = 20, 0.2, 0.5
"""Minimum number of documents that were not shown to users; minimum difference between the shares
of unshown and of shown documents missing from the other snapshot's crawl to suspect that the crawl
omits unshown pages; and maximum value of the smallest detectable difference, above which the check
is undecided."""

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


CRAWLS_KNOWN = """
SELECT count(crawled) > 0 OR count(*) = 0
FROM document_changes WHERE status NOT IN ('updated', 'unchanged')
"""

MISSING_BY_DISPLAY = """
WITH
sites AS (
    SELECT DISTINCT {site} AS site FROM documents_from SEMI JOIN documents_to USING (doc_id)
),
pages AS (
    SELECT shown, crawled IS NOT DISTINCT FROM false AND matched_by IS NULL AS missing
    FROM documents_{side} JOIN document_changes USING (doc_id) WHERE {site} IN (FROM sites)
)
SELECT
    count(*) FILTER (shown) AS shown,
    count(*) FILTER (shown AND missing) AS shown_missing,
    count(*) FILTER (NOT shown) AS unshown,
    count(*) FILTER (NOT shown AND missing) AS unshown_missing
FROM pages
"""
"""SQL query that counts the documents of a snapshot, and those missing from the other snapshot's
crawl, by whether they were shown to users. Sites without a document in both snapshots are ignored:
they may have appeared or shut down."""


def check_crawl_coverage(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare between the snapshots what share of the pages shown to users was crawled."""
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
            reason = "either one crawl is incomplete or pages were deleted before the crawl"
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
        return Outcome(False, says, numbers, f"{least} hosts that only one of the crawls contains")
    says += f" ({', '.join(numbers['examples'][:3])})"
    if found is None:
        reason = "either one crawl is incomplete or these hosts could not be crawled"
        return Outcome(None, f"{says}: {reason}", numbers)
    return Outcome(True, f"{says}: one crawl is incomplete", numbers)


def check_unshown_pages(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the shares of shown and unshown documents that the other snapshot's crawl lacks.

    If it lacks a much larger share of the unshown documents, it may omit pages that were not shown
    to users.
    """
    if not connection.execute(CRAWLS_KNOWN).fetchall()[0][0]:
        return undecided_outcome("the contents of the crawls are not recorded")
    numbers, sentences, detectable, found = {}, [], [], False
    for side, other in (("from", "later"), ("to", "earlier")):
        sql = MISSING_BY_DISPLAY.format(side=side, site=SITE_SQL)
        counts = numbers[side] = fetch_single_row(connection, sql)
        comparison = ShareComparison(
            (counts["shown_missing"], counts["shown"]),
            (counts["unshown_missing"], counts["unshown"]),
            MIN_UNSHOWN_DIFFERENCE,
        )
        if counts["shown"] and counts["unshown"] >= MIN_UNSHOWN_PAGES:
            sentences.append(
                f"the {other} crawl lacks {counts['unshown_missing']:,} of {counts['unshown']:,} "
                f"pages that were not shown and {counts['shown_missing']:,} of "
                f"{counts['shown']:,} shown pages"
            )
            detectable.append(comparison.min_detectable_difference)
            found |= comparison.is_changed and comparison.side_with_larger_share == "to"
    says = f"on sites in both snapshots, {' and '.join(sentences)}"
    if found:
        reason = "either one crawl omits unshown pages or many such pages appeared or disappeared"
        return Outcome(None, f"{says}: {reason}", numbers)
    if len(sentences) < 2:
        return undecided_outcome(
            f"fewer than {MIN_UNSHOWN_PAGES} unshown pages belong to sites in both snapshots"
        )
    least = f"a difference of {format_percentage_points(max(detectable))}"
    if max(detectable) > MAX_DETECTABLE_UNSHOWN_DIFFERENCE:
        return Outcome(None, says, numbers, f"only {least} is detectable")
    return Outcome(False, says, numbers, least)


CHECKS = (
    Check("crawl_holds_shown", "Does the crawl contain the shown pages?", check_crawl_coverage),
    Check(
        "hosts_are_crawled", "Are the shown hosts crawled in both snapshots?", check_host_coverage
    ),
    Check(
        "unshown_pages_are_crawled",
        "Are pages crawled whether or not they were shown?",
        check_unshown_pages,
    ),
)
