"""Checks that pages were collected and parsed by the same rules in both snapshots.

A changed rule shows up as a change in the share of pages with identical text, as many pages gaining
or losing the same number of words, or as pages entering or leaving the sample, which is drawn by a
hash of their ids. Site owners can cause the first two changes too, but not on most hosts at once
(see `hosts`). The last two are measured on the pages that are in both snapshots.
"""

import duckdb

from builder.drift.checks.hosts import MIN_PAGES, ChangedHostCount, count_changed_hosts
from builder.drift.checks.outcome import (
    SITE_SQL,
    Check,
    Outcome,
    ShareComparison,
    create_share_outcome,
    fetch_single_row,
    format_share,
    undecided_outcome,
)
from builder.drift.checks.parameters import load_recorded_parameters
from builder.drift.statistics import share

MIN_DOCUMENTS = 100
"""Minimum number of documents for a comparison."""

MIN_SHARE_DIFFERENCE = 0.05
"""Smallest difference in the share of repeated texts that counts as a change."""

MIN_UNIFORM_SHARE = 0.3
"""Minimum share of common pages whose length changed by the same number of words that indicates a
change in text extraction."""

DETECTABLE_UNIFORM_EDIT = (
    f"the same change in length on {format_share(MIN_UNIFORM_SHARE)} of common pages"
)

REPEATED_TEXTS = """
WITH texts AS (SELECT text_hash, count(*) AS pages FROM documents_{side} GROUP BY text_hash)
SELECT
    coalesce(sum(pages), 0)::BIGINT AS documents,
    coalesce(sum(pages) FILTER (pages > 1), 0)::BIGINT AS repeated,
    coalesce(max(pages), 0) AS most
FROM texts
"""

MIN_BLOCK_WORDS = 10
"""An edit that is not cosmetic is counted only if it changes the length of a page by at least this
many words."""

REPEATED_TEXTS_BY_HOST = """
WITH counted AS (
    SELECT {host} AS host, count(*) OVER (PARTITION BY {host}, text_hash) AS copies
    FROM documents_{side}
)
SELECT host, count(*) AS pages, count(*) FILTER (copies > 1) AS part FROM counted GROUP BY host
"""
"""SQL query that counts, for each host, the pages with the same text as another page of the same
host. Copies on other hosts are ignored, so that a copying site does not change the counts of the
original hosts."""

UNIFORM_EDITS = """
WITH edits AS (
    SELECT tokens_to::BIGINT - tokens_from::BIGINT AS delta, count(*) AS pages
    FROM document_changes
    WHERE status = 'updated' AND tokens_to <> tokens_from
        AND (band = 'cosmetic' OR abs(tokens_to::BIGINT - tokens_from::BIGINT) >= {block})
    GROUP BY delta
)
SELECT
    (SELECT count(*) FROM document_changes WHERE status IN ('updated', 'unchanged')) AS common,
    (SELECT arg_max(delta, (pages, -abs(delta), delta)) FROM edits) AS delta,
    (SELECT coalesce(max(pages), 0) FROM edits) AS pages
"""

UNIFORMLY_EDITED_HOSTS = """
WITH hosts AS (
    SELECT
        {host} AS host,
        count(*) AS pages,
        count(*) FILTER (
            status = 'updated' AND tokens_to::BIGINT - tokens_from::BIGINT = $delta
        ) AS edited
    FROM document_changes JOIN documents_from USING (doc_id)
    WHERE status IN ('updated', 'unchanged') GROUP BY host
)
SELECT count(*) AS hosts, count(*) FILTER (edited >= {uniform} * pages) AS hosts_changed
FROM hosts WHERE host <> '' AND pages >= {pages}
"""

SAMPLE_CHANGES = """
SELECT count(*) AS common, count(*) FILTER (f.sampled <> t.sampled) AS changed,
       count(*) FILTER (NOT (f.sampled AND t.sampled)) AS outside
FROM documents_from AS f JOIN documents_to AS t USING (doc_id)
"""


def check_repeated_texts(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the shares of documents that have the same text as another document."""
    before, after = (
        fetch_single_row(connection, REPEATED_TEXTS.format(side=side)) for side in ("from", "to")
    )
    numbers = {"from": before, "to": after}
    if min(before["documents"], after["documents"]) < MIN_DOCUMENTS:
        return undecided_outcome(f"fewer than {MIN_DOCUMENTS} documents")
    comparison = ShareComparison(
        (before["repeated"], before["documents"]),
        (after["repeated"], after["documents"]),
        MIN_SHARE_DIFFERENCE,
    )
    says = (
        f"{format_share(comparison.shares[0])} of documents before and "
        f"{format_share(comparison.shares[1])} after have the same text as another one; the most "
        f"frequent text occurs {before['most']} and {after['most']} times"
    )
    verdict = "boilerplate or duplicates are handled differently"
    if comparison.is_changed:
        hosts = count_changed_hosts(connection, REPEATED_TEXTS_BY_HOST, comparison)
        if not hosts.most_hosts_changed:
            return hosts.create_undecided_outcome(says, numbers)
    return create_share_outcome(comparison, says, verdict, numbers)


def check_uniform_edits(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Detect edits that change the length of many pages by the same number of words."""
    numbers = fetch_single_row(connection, UNIFORM_EDITS.format(block=MIN_BLOCK_WORDS))
    part = share(numbers["pages"], numbers["common"])
    if part is None or numbers["common"] < MIN_DOCUMENTS:
        return undecided_outcome(f"fewer than {MIN_DOCUMENTS} documents are in both snapshots")
    if numbers["delta"] is None:
        says = (
            f"no page changed in length by {MIN_BLOCK_WORDS} words or more, and no cosmetic edit "
            "changed the length of a page"
        )
        return Outcome(False, says, numbers, DETECTABLE_UNIFORM_EDIT)
    says = (
        f"{numbers['pages']:,} of {numbers['common']:,} common pages changed in length by "
        f"exactly {numbers['delta']:+d} {'word' if abs(numbers['delta']) == 1 else 'words'}"
    )
    if part < MIN_UNIFORM_SHARE:
        return Outcome(False, says, numbers, DETECTABLE_UNIFORM_EDIT)
    sql = UNIFORMLY_EDITED_HOSTS.format(host=SITE_SQL, uniform=MIN_UNIFORM_SHARE, pages=MIN_PAGES)
    hosts = ChangedHostCount(**fetch_single_row(connection, sql, {"delta": numbers["delta"]}))
    if not hosts.most_hosts_changed:
        return hosts.create_undecided_outcome(says, numbers)
    return Outcome(True, f"{says}: text extraction changed, not the pages", numbers)


def check_sample_membership(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Count the common documents that are in the hash-based sample of only one snapshot."""
    numbers = fetch_single_row(connection, SAMPLE_CHANGES)
    if not numbers["common"]:
        return undecided_outcome("no document is in both snapshots")
    recorded = all(load_recorded_parameters(connection, side) for side in ("from", "to"))
    if not (numbers["outside"] or recorded):
        return undecided_outcome(
            "all documents are marked as sampled, so the snapshots may not record a sample"
        )
    counts = f"{numbers['changed']:,} of {numbers['common']:,}"
    says = f"{counts} common documents entered or left the sample"
    found = numbers["changed"] > 0
    verdict = ", which depends only on ids, so the sampling key or share changed" if found else ""
    return Outcome(found, says + verdict, numbers, "any change in the sampling key or share")


CHECKS = (
    Check(
        "repeated_texts_stand", "Are repeated texts handled by the same rule?", check_repeated_texts
    ),
    Check("edits_differ", "Were pages edited independently of each other?", check_uniform_edits),
    Check("sample_stands", "Is the keyed sample the same?", check_sample_membership),
)
