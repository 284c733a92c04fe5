"""Checks that languages were identified and filtered by the same rule.

If unchanged texts are assigned other languages, language identification changed. A language filter
decides which pages are in a snapshot: if it changed, pages in foreign languages were added or
removed. A site that opens, closes or is translated has the same effect on its own pages, so the
check concludes that the filter changed only if most hosts show it. A page that is in both snapshots
but changed its language passed both filters, so it is no evidence of a changed filter.
"""

from dataclasses import asdict
from typing import Any

import duckdb

from builder.drift.checks.hosts import MIN_HOSTS, MIN_PAGES, count_changed_hosts
from builder.drift.checks.outcome import (
    Check,
    Outcome,
    ShareComparison,
    create_share_outcome,
    fetch_single_row,
    format_share,
    undecided_outcome,
)

MIN_DOCUMENTS = 100
"""Minimum number of documents for a comparison."""

MIN_SHARE_DIFFERENCE = 0.05
"""Smallest difference in the share of foreign-language documents that counts as a change."""

MAX_FOREIGN_SHARE_IF_FILTERED = 0.02
"""Maximum share of documents in foreign languages that indicates a language filter. It is above 0
because language identification makes errors."""

MAX_RELABELED_SHARE = 0.01
"""Maximum share of unchanged texts whose language label may differ although language
identification did not change."""

LANGUAGES = """
WITH
main AS (
    SELECT language FROM (FROM documents_from UNION ALL FROM documents_to)
    WHERE language IS NOT NULL GROUP BY language ORDER BY count(*) DESC, language LIMIT 1
)
SELECT
    (SELECT language FROM main) AS main,
    (SELECT count(*) FROM documents_from) AS documents_from,
    (SELECT count(*) FROM documents_to) AS documents_to,
    (SELECT count(*) FROM documents_from, main WHERE documents_from.language <> main.language)
        AS foreign_from,
    (SELECT count(*) FROM documents_to, main WHERE documents_to.language <> main.language)
        AS foreign_to
"""

RELABELED_TEXTS = """
SELECT
    count(*) AS unchanged,
    count(*) FILTER (f.language IS DISTINCT FROM t.language) AS relabeled
FROM documents_from AS f JOIN documents_to AS t
    ON f.doc_id = t.doc_id AND f.text_hash = t.text_hash
"""

CHANGED_LANGUAGES = """
SELECT count(*) AS changed_language
FROM documents_{more} AS m JOIN documents_{less} AS l USING (doc_id)
WHERE m.language <> $main AND l.language IS NOT DISTINCT FROM $main
"""
"""SQL query that counts the pages in both snapshots that are in the main language in one of them,
but in a foreign language in the snapshot with the larger share of foreign-language pages."""

FOREIGN_PAGES_BY_HOST = """
WITH common AS (SELECT doc_id FROM documents_from SEMI JOIN documents_to USING (doc_id))
SELECT {host} AS host, count(*) AS pages,
       count(*) FILTER (language <> $main AND common.doc_id IS NULL) AS part
FROM documents_{side} LEFT JOIN common USING (doc_id) GROUP BY ALL
"""
"""SQL query that counts, for each host, its pages in a snapshot, and among them the pages in a
foreign language that are missing from the other snapshot."""


def check_languages(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the shares of foreign-language documents, and the languages of unchanged texts."""
    numbers = fetch_single_row(connection, LANGUAGES) | fetch_single_row(
        connection, RELABELED_TEXTS
    )
    if (
        numbers["main"] is None
        or min(numbers["documents_from"], numbers["documents_to"]) < MIN_DOCUMENTS
    ):
        return undecided_outcome(
            f"a snapshot has fewer than {MIN_DOCUMENTS} documents, or no document has a language"
        )
    if numbers["relabeled"] > MAX_RELABELED_SHARE * numbers["unchanged"]:
        says = (
            f"{numbers['relabeled']:,} of {numbers['unchanged']:,} unchanged texts were assigned "
            "another language: language identification changed"
        )
        return Outcome(True, says, numbers)
    return _create_foreign_share_outcome(connection, numbers)


def _create_foreign_share_outcome(
    connection: duckdb.DuckDBPyConnection, numbers: dict[str, Any]
) -> Outcome:
    comparison = _create_foreign_share_comparison(numbers)
    says = (
        f"{format_share(comparison.shares[0])} of documents before and "
        f"{format_share(comparison.shares[1])} after are not in the main language "
        f"{numbers['main']!r}"
    )
    if not comparison.is_changed:
        return create_share_outcome(comparison, says, "", numbers)
    more, less = ("to", "from") if comparison.side_with_larger_share == "to" else ("from", "to")
    main = {"main": numbers["main"]}
    sql = CHANGED_LANGUAGES.format(more=more, less=less)
    numbers |= fetch_single_row(connection, sql, main)
    rest = numbers | {f"foreign_{more}": numbers[f"foreign_{more}"] - numbers["changed_language"]}
    if not _create_foreign_share_comparison(rest).is_changed:
        reason = (
            f"{numbers['changed_language']:,} pages in both snapshots changed to or from this "
            "language: either their texts or language identification changed"
        )
        return Outcome(None, f"{says}; {reason}", numbers)
    if min(comparison.shares) > MAX_FOREIGN_SHARE_IF_FILTERED:
        return Outcome(None, f"{says}: either the language filter or the web changed", numbers)
    hosts = count_changed_hosts(connection, FOREIGN_PAGES_BY_HOST, comparison, main)
    if hosts.most_hosts_changed:
        return Outcome(True, f"{says}: the language filter changed", numbers)
    numbers |= asdict(hosts)
    reason = (
        f"many such pages were {'added' if more == 'to' else 'removed'} on {hosts.hosts_changed:,} "
        f"of {hosts.hosts:,} hosts with at least {MIN_PAGES} pages in each snapshot: either the "
        "language filter or sites changed"
    )
    sees = f"a change on more than half of the hosts, given at least {MIN_HOSTS} hosts"
    return Outcome(None, f"{says}; {reason}", numbers, sees)


def _create_foreign_share_comparison(language_counts: dict[str, Any]) -> ShareComparison:
    before, after = (
        (language_counts[f"foreign_{side}"], language_counts[f"documents_{side}"])
        for side in ("from", "to")
    )
    return ShareComparison(before, after, MIN_SHARE_DIFFERENCE)


CHECKS = (
    Check(
        "languages_stand",
        "Are languages identified and filtered by the same rule?",
        check_languages,
    ),
)
