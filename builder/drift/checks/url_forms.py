"""Checks that the document ids of both snapshots were derived from URLs by the same rule.

If the rule changes, most pages of most hosts seem to be removed, but reappear under another form
of their URL. If a site moves, only its own pages reappear under other URLs. Many sites may adopt
HTTPS at once, so the check is undecided if pages reappear with only `http` and `https` exchanged.
"""

import duckdb

from builder.drift.checks.hosts import MIN_PAGES, ChangedHostCount
from builder.drift.checks.outcome import (
    SITE_SQL,
    Check,
    Outcome,
    fetch_single_row,
    format_share,
    undecided_outcome,
)
from builder.drift.statistics import share

MIN_REMOVED, MIN_REMOVED_SHARE = 50, 0.05
"""Minimum number of removed documents for a decision, and their minimum share of all documents for
a change of the id scheme."""

MIN_REAPPEARED_SHARE = 0.3
"""Minimum share of removed pages that reappear under another URL if the id scheme changed."""

MIN_MOVED_SHARE = 0.5
"""A host has moved if at least this share of its pages has another URL in the later snapshot."""

REMOVED_DOCUMENTS = """
SELECT
    count(*) FILTER (status = 'removed') AS removed,
    count(*) FILTER (status = 'removed' AND matched_by = 'loose') AS loose,
    count(*) FILTER (status = 'removed' AND matched_by = 'moved') AS moved,
    count(*) FILTER (
        status = 'removed' AND matched_by = 'loose'
        AND split_part(f.url_key, ':', 1) <> split_part(t.url_key, ':', 1)
    ) AS other_scheme,
    count(*) FILTER (status <> 'added' AND status <> 'returned') AS documents
FROM document_changes AS c
LEFT JOIN documents_from AS f USING (doc_id)
LEFT JOIN documents_to AS t ON c.matched_id = t.doc_id
"""

MOVED_HOSTS = """
WITH hosts AS (
    SELECT {host} AS host, count(*) AS pages, count(matched_by) AS moved
    FROM documents_from LEFT JOIN document_changes USING (doc_id) GROUP BY host
)
SELECT count(*) AS hosts, count(*) FILTER (moved >= {most} * pages) AS moved_hosts
FROM hosts WHERE host <> '' AND pages >= {fewest}
"""


def check_url_forms(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Check whether removed pages reappear under other URLs because the id scheme changed."""
    numbers = fetch_single_row(connection, REMOVED_DOCUMENTS)
    reappeared = share(numbers["loose"] + numbers["moved"], numbers["removed"])
    if reappeared is None or numbers["removed"] < MIN_REMOVED:
        return undecided_outcome(f"fewer than {MIN_REMOVED} documents were removed")
    says = (
        f"of {numbers['removed']:,} removed pages, {numbers['loose']:,} reappear under a URL that "
        f"differs only in scheme, www or trailing slash, and {numbers['moved']:,} under another URL"
    )
    if (
        reappeared < MIN_REAPPEARED_SHARE
        or numbers["removed"] < MIN_REMOVED_SHARE * numbers["documents"]
    ):
        sees = (
            f"{format_share(MIN_REAPPEARED_SHARE)} of removed pages reappearing under another form "
            "of their URL"
        )
        return Outcome(False, says, numbers, sees)
    sql = MOVED_HOSTS.format(host=SITE_SQL, most=MIN_MOVED_SHARE, fewest=MIN_PAGES)
    hosts = fetch_single_row(connection, sql)
    says += f"; {hosts['moved_hosts']:,} of {hosts['hosts']:,} hosts moved most of their pages"
    if 2 * numbers["other_scheme"] > numbers["loose"] + numbers["moved"]:
        reason = "either sites changed between http and https or the id scheme changed"
        return Outcome(
            None,
            f"{says}; {numbers['other_scheme']:,} pages have another scheme: {reason}",
            numbers | hosts,
        )
    if ChangedHostCount(hosts["hosts"], hosts["moved_hosts"]).most_hosts_changed:
        return Outcome(True, f"{says}: the id scheme changed, not the pages", numbers | hosts)
    return Outcome(None, f"{says}: either sites moved or the id scheme changed", numbers | hosts)


CHECKS = (Check("addresses_stand", "Do pages keep their ids?", check_url_forms),)
