"""Were pages collected, read or identified by another rule?

Languages, repeated texts, the keyed sample and the form of addresses belong to the collecting, not
to the web: they do not jump between two months by themselves. Unchanged pages and pages in both
snapshots are the control.
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
from builder.drift.statistics import share

FEWEST = 100
SHARE_JUMP = 0.05
"""Change of a share of all documents that is a jump."""

RELABELLED = 0.01
"""Share of unchanged texts that may get another language."""

UNIFORM = 0.3
"""Share of common pages that were edited alike: same change of length, nearly the same text."""

REAPPEARED = 0.3
"""Share of removed pages that stand at another form of their address."""

SEES_UNIFORM = f"one edit on {percent(UNIFORM)} of common pages"

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
WITH texts AS (SELECT token_hash, count(*) AS pages FROM {view} GROUP BY token_hash)
SELECT
    coalesce(sum(pages), 0)::BIGINT AS documents,
    coalesce(sum(pages) FILTER (pages > 1), 0)::BIGINT AS repeated,
    coalesce(max(pages), 0) AS most
FROM texts
"""

UNIFORM_EDITS = """
WITH edits AS (
    SELECT tokens_to::BIGINT - tokens_from::BIGINT AS delta, count(*) AS pages
    FROM document_changes WHERE band = 'cosmetic' AND tokens_to <> tokens_from GROUP BY delta
)
SELECT
    (SELECT count(*) FROM document_changes WHERE status IN ('updated', 'unchanged')) AS common,
    (SELECT arg_max(delta, (pages, -abs(delta), delta)) FROM edits) AS delta,
    (SELECT coalesce(max(pages), 0) FROM edits) AS pages
"""

SAMPLED = """
SELECT count(*) AS common, count(*) FILTER (f.sampled <> t.sampled) AS changed
FROM documents_from AS f JOIN documents_to AS t USING (doc_id)
"""

ADDRESSES = """
SELECT
    count(*) FILTER (status = 'removed') AS removed,
    count(*) FILTER (status = 'removed' AND matched_by = 'loose') AS loose,
    count(*) FILTER (status = 'removed' AND matched_by = 'moved') AS moved,
    count(*) FILTER (status <> 'added' AND status <> 'returned') AS documents
FROM document_changes
"""


def languages_stand(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare language shares, and labels of unchanged texts."""
    numbers = row(connection, LANGUAGES) | row(connection, RELABELLED_TEXTS)
    if numbers["main"] is None or min(numbers["documents_from"], numbers["documents_to"]) < FEWEST:
        return unknown(f"fewer than {FEWEST} documents, or none with a language")
    if numbers["relabelled"] > RELABELLED * numbers["unchanged"]:
        says = (
            f"{numbers['relabelled']:,} of {numbers['unchanged']:,} unchanged texts got another "
            "language: the identification changed"
        )
        return Outcome(True, says, numbers)
    before, after = (
        (numbers[f"foreign_{side}"], numbers[f"documents_{side}"]) for side in ("from", "to")
    )
    shares = Shares(before, after, SHARE_JUMP)
    says = (
        f"{percent(shares.values[0])} of documents are not in the main language "
        f"{numbers['main']!r} before and {percent(shares.values[1])} after"
    )
    return compare_shares(shares, says, "the language filter changed", numbers)


def repeated_texts_stand(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the share of documents whose words another document has too."""
    before, after = (
        row(connection, REPEATED.format(view=f"documents_{side}")) for side in ("from", "to")
    )
    numbers = {"from": before, "to": after}
    if min(before["documents"], after["documents"]) < FEWEST:
        return unknown(f"fewer than {FEWEST} documents")
    shares = Shares(
        (before["repeated"], before["documents"]),
        (after["repeated"], after["documents"]),
        SHARE_JUMP,
    )
    says = (
        f"{percent(shares.values[0])} of documents repeat another's words before and "
        f"{percent(shares.values[1])} after; the most repeated text occurs {before['most']} and "
        f"{after['most']} times"
    )
    verdict = "boilerplate or duplicates are treated differently"
    return compare_shares(shares, says, verdict, numbers)


def edits_differ(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Look for one small edit on a large part of all pages."""
    numbers = row(connection, UNIFORM_EDITS)
    part = share(numbers["pages"], numbers["common"])
    if part is None or numbers["common"] < FEWEST:
        return unknown(f"fewer than {FEWEST} documents are in both snapshots")
    if numbers["delta"] is None:
        says = "no page got a little longer or shorter"
        return Outcome(False, says, numbers, SEES_UNIFORM)
    says = (
        f"{numbers['pages']:,} of {numbers['common']:,} common pages changed by exactly "
        f"{numbers['delta']:+d} words and little else"
    )
    found = part >= UNIFORM
    verdict = ": pages are read differently, not written differently" if found else ""
    return Outcome(found, says + verdict, numbers, SEES_UNIFORM)


def sample_stands(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Look for documents that entered or left the keyed sample."""
    numbers = row(connection, SAMPLED)
    if not numbers["common"]:
        return unknown("no document is in both snapshots")
    counts = f"{numbers['changed']:,} of {numbers['common']:,}"
    says = f"{counts} common documents entered or left the sample"
    found = numbers["changed"] > 0
    verdict = ", which depends on the id alone: its key or share changed" if found else ""
    return Outcome(found, says + verdict, numbers, "any other key, and another share")


def addresses_stand(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Look for removed pages that stand at another form of their address."""
    numbers = row(connection, ADDRESSES)
    part = share(numbers["loose"] + numbers["moved"], numbers["removed"])
    if part is None or numbers["removed"] < FEWEST // 2:
        return unknown(f"fewer than {FEWEST // 2} documents were removed")
    says = (
        f"of {numbers['removed']:,} removed pages {numbers['loose']:,} stand at an address that "
        f"differs by scheme, www or slash only, and {numbers['moved']:,} at another address"
    )
    found = part >= REAPPEARED and numbers["removed"] >= SHARE_JUMP * numbers["documents"]
    verdict = ": the id scheme changed, not the pages" if found else ""
    sees = f"{percent(REAPPEARED)} of removed pages under another form of their address"
    return Outcome(found, says + verdict, numbers, sees)


CHECKS = (
    Check("languages_stand", "Are languages filtered and found alike?", languages_stand),
    Check("repeated_texts_stand", "Are repeated texts treated alike?", repeated_texts_stand),
    Check("edits_differ", "Were pages edited one by one?", edits_differ),
    Check("sample_stands", "Is the keyed sample the same?", sample_stands),
    Check("addresses_stand", "Do pages keep their ids?", addresses_stand),
)
