"""Counts the hosts on which a share of pages changed.

A rule of construction applies to all hosts. A site that closes, moves, gets a new template or asks
for a subscription changes only its own pages, but may hold many of them. A difference between two
snapshots is therefore evidence of construction only if it is found on most hosts.
"""

from dataclasses import dataclass
from typing import Any

import duckdb

from builder.drift.checks.outcome import HOST, Outcome, ShareComparison, fetch_row

MIN_HOSTS, MIN_PAGES = 5, 3
"""Minimum number of compared hosts, and of pages of each of them in both snapshots."""

MIN_LOST, MIN_LOST_SHARE = 2, 0.1
"""Minimum number and share of hosts absent from a crawl that raise a doubt: some of them may have
been out of reach, or may have turned the crawler away."""

MIN_PARTIAL, MIN_PARTIAL_SHARE = 4, 0.25
"""Minimum number and share of them that only a partial crawl explains."""

MIN_PARTIAL_PAGES = 0.2
"""Minimum share of pages absent from a crawl on most hosts that only a partial crawl explains."""

CHANGED_HOSTS = """
WITH before AS ({before}), after AS ({after})
SELECT
    count(*) AS hosts,
    count(*) FILTER ({sign} * (after.part / after.pages - before.part / before.pages) >= {least})
        AS hosts_changed
FROM before JOIN after USING (host)
WHERE host <> '' AND least(before.pages, after.pages) >= {pages}
"""


@dataclass(frozen=True)
class HostCount:
    """Number of hosts with pages in both snapshots, and of those on which a share changed."""

    hosts: int
    hosts_changed: int

    @property
    def are_most(self) -> bool:
        """Whether the share changed on most hosts, and there are enough hosts to say so."""
        return self.hosts >= MIN_HOSTS and 2 * self.hosts_changed > self.hosts

    def undecided(self, sentence: str, numbers: dict[str, Any]) -> Outcome:
        """Return the outcome of a check if they are not most hosts.

        Args:
            sentence: Sentence that states the difference.
            numbers: Numbers of the difference.
        """
        if self.hosts < MIN_HOSTS:
            reason = f"fewer than {MIN_HOSTS} hosts have at least {MIN_PAGES} pages"
        else:
            reason = (
                f"only {self.hosts_changed:,} of {self.hosts:,} hosts changed, so sites may be the "
                "cause"
            )
        counts = {"hosts": self.hosts, "hosts_changed": self.hosts_changed}
        return Outcome(None, f"{sentence}; {reason}", numbers | counts)


def is_crawl_partial(lost: int, hosts: int) -> bool | None:
    """Whether a crawl is partial that lacks all pages of some of its hosts; None if unclear."""
    if lost >= max(MIN_PARTIAL, MIN_PARTIAL_SHARE * hosts):
        return True
    return None if lost >= max(MIN_LOST, MIN_LOST_SHARE * hosts) else False


def count_changed_hosts(
    connection: duckdb.DuckDBPyConnection,
    pages_sql: str,
    comparison: ShareComparison,
    values: dict[str, Any] | None = None,
) -> HostCount:
    """Count the hosts on which a share changed in the same direction as over all pages.

    Args:
        connection: Connection with the views of the pair.
        pages_sql: SQL of the columns `host`, `pages` and `part` (pages with the property), with
            the placeholders `{side}` and `{host}`.
        comparison: Comparison of the share over all pages.
        values: Values of the parameters of `pages_sql`.
    """
    sql = CHANGED_HOSTS.format(
        before=pages_sql.format(side="from", host=HOST),
        after=pages_sql.format(side="to", host=HOST),
        sign=1 if comparison.larger_side == "to" else -1,
        least=comparison.min_difference,
        pages=MIN_PAGES,
    )
    return HostCount(**fetch_row(connection, sql, values))
