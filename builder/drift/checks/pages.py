"""Checks that pages were collected and parsed by the same rules.

Languages, repeated texts, uniform edits and the keyed sample depend on how pages are collected.
Sites change them, too, but not on most hosts at once (see `hosts`). Unchanged pages and pages in
both snapshots serve as control.
"""

import duckdb

from builder.drift.checks.hosts import MIN_PAGES, HostCount, count_changed_hosts
from builder.drift.checks.outcome import (
    HOST,
    Check,
    Outcome,
    ShareComparison,
    cannot_tell,
    compare_shares,
    fetch_row,
    format_share,
)
from builder.drift.checks.parameters import load_recorded_parameters
from builder.drift.statistics import share

FEWEST = 100
SHARE_JUMP = 0.05
"""Minimum change of a share of documents that counts as a jump."""

MAX_FILTERED = 0.02
"""Maximum share of documents in foreign languages that is evidence of a language filter, which
leaves some because language identification errs."""

RELABELLED = 0.01
"""Maximum share of unchanged texts whose language label may change."""

UNIFORM = 0.3
"""Minimum share of common pages whose length changed by the same number of words."""

SEES_UNIFORM = f"the same change of length on {format_share(UNIFORM)} of common pages"

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

RELABELLED_TEXTS = """
SELECT
    count(*) AS unchanged,
    count(*) FILTER (f.language IS DISTINCT FROM t.language) AS relabelled
FROM documents_from AS f JOIN documents_to AS t
    ON f.doc_id = t.doc_id AND f.text_hash = t.text_hash
"""

REPEATED = """
WITH texts AS (SELECT text_hash, count(*) AS pages FROM documents_{side} GROUP BY text_hash)
SELECT
    coalesce(sum(pages), 0)::BIGINT AS documents,
    coalesce(sum(pages) FILTER (pages > 1), 0)::BIGINT AS repeated,
    coalesce(max(pages), 0) AS most
FROM texts
"""

BLOCK = 10
"""Minimum number of words of a block, such as a menu, that is added to pages of any length."""

REPEATED_OF_HOST = """
WITH counted AS (
    SELECT {host} AS host, count(*) OVER (PARTITION BY {host}, text_hash) AS copies
    FROM documents_{side}
)
SELECT host, count(*) AS pages, count(*) FILTER (copies > 1) AS part FROM counted GROUP BY host
"""
"""Pages with the text of another page of their host; a site that copies others changes only its
own."""

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

SAMPLED = """
SELECT count(*) AS common, count(*) FILTER (f.sampled <> t.sampled) AS changed,
       count(*) FILTER (NOT (f.sampled AND t.sampled)) AS outside
FROM documents_from AS f JOIN documents_to AS t USING (doc_id)
"""


def check_languages(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the languages of all documents, and the language labels of unchanged texts."""
    numbers = fetch_row(connection, LANGUAGES) | fetch_row(connection, RELABELLED_TEXTS)
    if numbers["main"] is None or min(numbers["documents_from"], numbers["documents_to"]) < FEWEST:
        return cannot_tell(f"fewer than {FEWEST} documents, or no document has a language")
    if numbers["relabelled"] > RELABELLED * numbers["unchanged"]:
        says = (
            f"{numbers['relabelled']:,} of {numbers['unchanged']:,} unchanged texts were assigned "
            "another language: language identification changed"
        )
        return Outcome(True, says, numbers)
    before, after = (
        (numbers[f"foreign_{side}"], numbers[f"documents_{side}"]) for side in ("from", "to")
    )
    comparison = ShareComparison(before, after, SHARE_JUMP)
    says = (
        f"{format_share(comparison.shares[0])} of documents before and "
        f"{format_share(comparison.shares[1])} after are not in the main language "
        f"{numbers['main']!r}"
    )
    if not comparison.is_changed or min(comparison.shares) <= MAX_FILTERED:
        return compare_shares(comparison, says, "the language filter changed", numbers)
    return Outcome(None, f"{says}: either the language filter or the web changed", numbers)


def check_repeated_texts(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the share of documents that have the same text as another document."""
    before, after = (fetch_row(connection, REPEATED.format(side=side)) for side in ("from", "to"))
    numbers = {"from": before, "to": after}
    if min(before["documents"], after["documents"]) < FEWEST:
        return cannot_tell(f"fewer than {FEWEST} documents")
    comparison = ShareComparison(
        (before["repeated"], before["documents"]),
        (after["repeated"], after["documents"]),
        SHARE_JUMP,
    )
    says = (
        f"{format_share(comparison.shares[0])} of documents before and "
        f"{format_share(comparison.shares[1])} after have the same text as another; the most "
        f"frequent text occurs {before['most']} and {after['most']} times"
    )
    verdict = "boilerplate or duplicates are handled differently"
    if comparison.is_changed:
        hosts = count_changed_hosts(connection, REPEATED_OF_HOST, comparison)
        if not hosts.are_most:
            return hosts.undecided(says, numbers)
    return compare_shares(comparison, says, verdict, numbers)


def check_uniform_edits(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Detect the same change of length on a large share of all pages, such as a new footer."""
    numbers = fetch_row(connection, UNIFORM_EDITS.format(block=BLOCK))
    part = share(numbers["pages"], numbers["common"])
    if part is None or numbers["common"] < FEWEST:
        return cannot_tell(f"fewer than {FEWEST} documents are in both snapshots")
    if numbers["delta"] is None:
        says = "no page changed its length alone, or by a block of words"
        return Outcome(False, says, numbers, SEES_UNIFORM)
    says = (
        f"{numbers['pages']:,} of {numbers['common']:,} common pages changed their length by "
        f"exactly {numbers['delta']:+d} words"
    )
    if part < UNIFORM:
        return Outcome(False, says, numbers, SEES_UNIFORM)
    sql = UNIFORMLY_EDITED_HOSTS.format(host=HOST, uniform=UNIFORM, pages=MIN_PAGES)
    hosts = HostCount(**fetch_row(connection, sql, {"delta": numbers["delta"]}))
    if not hosts.are_most:
        return hosts.undecided(says, numbers)
    return Outcome(True, f"{says}: text extraction changed, not the pages", numbers)


def check_sample(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Count documents of both snapshots that entered or left the hash-based sample."""
    numbers = fetch_row(connection, SAMPLED)
    if not numbers["common"]:
        return cannot_tell("no document is in both snapshots")
    recorded = all(load_recorded_parameters(connection, side) for side in ("from", "to"))
    if not (numbers["outside"] or recorded):
        return cannot_tell(
            "every document counts as sampled, as in a release that records no sample"
        )
    counts = f"{numbers['changed']:,} of {numbers['common']:,}"
    says = f"{counts} common documents entered or left the sample"
    found = numbers["changed"] > 0
    verdict = ", which depends only on ids: its key or share changed" if found else ""
    return Outcome(found, says + verdict, numbers, "any change of the sampling key or share")


CHECKS = (
    Check(
        "languages_stand",
        "Are languages identified and filtered by the same rule?",
        check_languages,
    ),
    Check(
        "repeated_texts_stand", "Are repeated texts handled by the same rule?", check_repeated_texts
    ),
    Check("edits_differ", "Were pages edited independently of each other?", check_uniform_edits),
    Check("sample_stands", "Is the keyed sample the same?", check_sample),
)
