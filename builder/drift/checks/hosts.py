"""Counts the hosts on which the share of pages with a property changed.

The rules that build a collection apply to all hosts. A site that closes, moves, gets a new template
or requires a subscription changes only its own pages, but these may be many. A difference between
two snapshots is therefore attributed to the rules only if most hosts show it. All hosts of one site
(see `outcome.SITE_SQL`) count as one host.
"""

from dataclasses import dataclass
from typing import Any

import duckdb

from builder.drift.checks.outcome import SITE_SQL, Outcome, ShareComparison, fetch_single_row

MIN_HOSTS, MIN_PAGES = 5, 3
"""Minimum number of compared hosts, and minimum number of pages per host in each snapshot."""

MIN_LOST_HOSTS, MIN_LOST_HOST_SHARE = 2, 0.1
"""If at least this number and this share of hosts are missing from a crawl, it may be incomplete;
but the hosts may also have been unreachable, or may have blocked the crawler."""

MIN_LOST_HOSTS_IF_PARTIAL, MIN_LOST_HOST_SHARE_IF_PARTIAL = 4, 0.25
"""Minimum number and share of hosts missing from a crawl to conclude that it is incomplete."""

MIN_MISSING_PAGE_SHARE_IF_PARTIAL = 0.2
"""Minimum share of missing pages to conclude that a crawl is incomplete, if most hosts lack pages:
if fewer are missing, they may have been deleted."""

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
class ChangedHostCount:
    """Count of hosts on which the share of pages with a property changed.

    Args:
        hosts: Number of compared hosts.
        hosts_changed: Number of compared hosts on which the share changed.
    """

    hosts: int
    hosts_changed: int

    @property
    def most_hosts_changed(self) -> bool:
        """Whether `MIN_HOSTS` or more hosts were compared, and over half of them changed."""
        return self.hosts >= MIN_HOSTS and 2 * self.hosts_changed > self.hosts

    def create_undecided_outcome(self, sentence: str, sentence_numbers: dict[str, Any]) -> Outcome:
        """Return an undecided outcome, for when too few hosts changed or could be compared.

        Args:
            sentence: Sentence that states the difference between the snapshots.
            sentence_numbers: Numbers in the sentence, by name.
        """
        if self.hosts < MIN_HOSTS:
            reason = f"fewer than {MIN_HOSTS} hosts have at least {MIN_PAGES} pages"
        else:
            reason = (
                f"only {self.hosts_changed:,} of {self.hosts:,} hosts changed, so the cause may be "
                "the sites themselves"
            )
        counts = {"hosts": self.hosts, "hosts_changed": self.hosts_changed}
        return Outcome(None, f"{sentence}; {reason}", sentence_numbers | counts)


def is_crawl_partial(lost_hosts: int, hosts: int) -> bool | None:
    """Return whether a crawl is incomplete, judging by the number of hosts that it lacks.

    Args:
        lost_hosts: Number of hosts whose pages are all or nearly all missing from the crawl.
        hosts: Number of compared hosts.

    Returns:
        True if the crawl is incomplete, False if it is not; None if undecided.
    """
    if lost_hosts >= max(MIN_LOST_HOSTS_IF_PARTIAL, MIN_LOST_HOST_SHARE_IF_PARTIAL * hosts):
        return True
    return None if lost_hosts >= max(MIN_LOST_HOSTS, MIN_LOST_HOST_SHARE * hosts) else False


def count_changed_hosts(
    connection: duckdb.DuckDBPyConnection,
    pages_sql: str,
    comparison: ShareComparison,
    parameters: dict[str, Any] | None = None,
) -> ChangedHostCount:
    """Count the hosts whose share of pages with a property rose (or fell) as it did overall.

    A host is counted if its share changed by at least `comparison.min_difference`.

    Args:
        connection: Connection with the views of the pair.
        pages_sql: SQL query with the columns `host`, `pages` (number of pages) and `part` (number
            of pages with the property). The placeholder `{side}` is replaced by `from` or `to`,
            and `{host}` by the SQL expression for the host.
        comparison: Comparison of the share over the pages of all hosts.
        parameters: Values of the named parameters of `pages_sql`.
    """
    sql = CHANGED_HOSTS.format(
        before=pages_sql.format(side="from", host=SITE_SQL),
        after=pages_sql.format(side="to", host=SITE_SQL),
        sign=1 if comparison.side_with_larger_share == "to" else -1,
        least=comparison.min_difference,
        pages=MIN_PAGES,
    )
    return ChangedHostCount(**fetch_single_row(connection, sql, parameters))
