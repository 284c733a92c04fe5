"""Checks that documents of both snapshots were identified by the same rule.

If ids are made differently, most hosts lose nearly all of their pages, which reappear under another
form of their URL. If a site moves, only its own pages do.
"""

import duckdb

from builder.drift.checks.outcome import (
    HOST,
    Check,
    Outcome,
    cannot_tell,
    fetch_row,
    format_share,
)
from builder.drift.statistics import share

FEWEST = 50
"""Minimum number of removed documents."""

REMOVED = 0.05
"""Minimum share of documents that are removed."""

REAPPEARED = 0.3
"""Minimum share of removed pages that reappear under another form of their URL."""

MOST_PAGES, FEWEST_PAGES = 0.5, 3
"""Minimum share of its pages that a host moves if ids are made differently, and minimum number of
pages of a host to be counted."""

ADDRESSES = """
SELECT
    count(*) FILTER (status = 'removed') AS removed,
    count(*) FILTER (status = 'removed' AND matched_by = 'loose') AS loose,
    count(*) FILTER (status = 'removed' AND matched_by = 'moved') AS moved,
    count(*) FILTER (status <> 'added' AND status <> 'returned') AS documents
FROM document_changes
"""

MOVED_HOSTS = """
WITH hosts AS (
    SELECT {host} AS host, count(*) AS pages, count(matched_by) AS moved
    FROM documents_from LEFT JOIN document_changes USING (doc_id) GROUP BY host
)
SELECT count(*) AS hosts, count(*) FILTER (moved >= {most} * pages) AS moved_hosts
FROM hosts WHERE pages >= {fewest}
"""


def check_url_forms(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Count removed pages that reappear under another form of their URL."""
    numbers = fetch_row(connection, ADDRESSES)
    part = share(numbers["loose"] + numbers["moved"], numbers["removed"])
    if part is None or numbers["removed"] < FEWEST:
        return cannot_tell(f"fewer than {FEWEST} documents were removed")
    says = (
        f"of {numbers['removed']:,} removed pages, {numbers['loose']:,} reappear under a URL that "
        f"differs only in scheme, www or slash, and {numbers['moved']:,} under another URL"
    )
    if part < REAPPEARED or numbers["removed"] < REMOVED * numbers["documents"]:
        sees = f"{format_share(REAPPEARED)} of removed pages under another form of their URL"
        return Outcome(False, says, numbers, sees)
    sql = MOVED_HOSTS.format(host=HOST, most=MOST_PAGES, fewest=FEWEST_PAGES)
    hosts = fetch_row(connection, sql)
    says += f"; {hosts['moved_hosts']:,} of {hosts['hosts']:,} hosts moved most of their pages"
    if hosts["moved_hosts"] > hosts["hosts"] / 2:
        return Outcome(True, f"{says}: the id scheme changed, not the pages", numbers | hosts)
    return Outcome(None, f"{says}: either sites moved or ids are made differently", numbers | hosts)


CHECKS = (Check("addresses_stand", "Do pages keep their ids?", check_url_forms),)
