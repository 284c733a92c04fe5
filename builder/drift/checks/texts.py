"""Checks that texts were decoded, extracted and truncated by the same rules.

A length limit leaves many texts of the same length, a wrong decoder leaves characters that pages
do not contain, and a failed extraction leaves HTML tags or no title. Sites cause such changes, too,
but not on most hosts within a month. The checks read up to `TEXTS_READ` texts with the smallest
ids, a random sample.
"""

import duckdb

from builder.drift.checks.hosts import count_changed_hosts
from builder.drift.checks.outcome import (
    Check,
    Outcome,
    ShareComparison,
    cannot_tell,
    compare_shares,
    fetch_row,
    format_share,
)

TEXTS_READ = 20_000
FEWEST, FEWEST_COMMON = 30, 100
UNCHANGED_SHARE = 0.02
"""Minimum share of common pages whose text nobody edits within a month."""
SHARE_JUMP = 0.05

HEAP = 0.01
"""Maximum relative difference of text lengths that count as the same length."""

LENGTHS = """
WITH
read AS (
    SELECT min({length}) AS length FROM (
        SELECT text_hash, text, tokens FROM documents_{side} ORDER BY doc_id LIMIT {texts:d}
    ) GROUP BY text_hash
),
crowded AS (
    SELECT length AS "end" FROM read WHERE length > 0
    GROUP BY length ORDER BY count(*) DESC, length DESC LIMIT 1
),
ends AS (
    SELECT quantile_disc(length, 0.99) AS "end" FROM read
    UNION ALL SELECT max(length) FROM read
    UNION ALL SELECT "end" FROM crowded
),
heaps AS (
    SELECT
        "end",
        (SELECT count(*) FROM read
         WHERE length BETWEEN "end" - greatest(1, "end" * {heap}) AND "end") AS heap
    FROM ends
)
SELECT
    (SELECT count(*) FROM read) AS texts,
    arg_max("end", (heap, "end")) AS "end",
    coalesce(max(heap), 0) AS heap
FROM heaps
"""

UNCHANGED = """
SELECT count(*) AS common, count(*) FILTER (NOT text_changed) AS unchanged
FROM document_changes WHERE status IN ('updated', 'unchanged')
"""

PEAK_OF_HOST = """
SELECT
    {{host}} AS host,
    count(*) AS pages,
    count(*) FILTER ({length} BETWEEN $end - greatest(1, $end * {heap}) AND $end) AS part
FROM documents_{{side}} GROUP BY host
"""

UNITS = (("len(text)", "characters"), ("tokens", "words"))

DAMAGES = {
    "misread": r"\x{FFFD}|Ã[\x{80}-\x{BF}]|â€|Â[\x{A0}-\x{BF}]",
    "with_tags": r"(?i)</?(p|div|a|span|br|html|head|body|ul|li|h[1-6]|table|tr|td|script)"
    r"(\s[^<>]*)?/?>",
    "untitled": r"^\s*$",
}
"""Patterns of texts with wrongly decoded characters or HTML tags, and of empty titles."""

DAMAGE = """
WITH read AS (SELECT title, text FROM documents_{side} ORDER BY doc_id LIMIT {texts:d})
SELECT
    count(*) AS texts,
    count(*) FILTER (regexp_matches(text, $misread)) AS misread,
    count(*) FILTER (regexp_matches(text, $with_tags)) AS with_tags,
    count(*) FILTER (regexp_matches(title, $untitled)) AS untitled
FROM read
"""

DAMAGE_OF_HOST = """
WITH read AS (
    SELECT {{host}} AS host, {column} AS value
    FROM documents_{{side}} ORDER BY doc_id LIMIT $texts
)
SELECT host, count(*) AS pages, count(*) FILTER (regexp_matches(value, $pattern)) AS part
FROM read GROUP BY host
"""


def check_text_lengths(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the share of texts that have exactly the same length, which suggests truncation."""
    outcomes = [_compare_length_peaks(connection, length, unit) for length, unit in UNITS]
    found = [outcome for outcome in outcomes if outcome.found]
    blind = [outcome for outcome in outcomes if outcome.found is None]
    return (found or blind or outcomes)[0]


def _compare_length_peaks(
    connection: duckdb.DuckDBPyConnection, length_sql: str, unit: str
) -> Outcome:
    before, after = (
        fetch_row(
            connection, LENGTHS.format(length=length_sql, side=side, texts=TEXTS_READ, heap=HEAP)
        )
        for side in ("from", "to")
    )
    if min(before["texts"], after["texts"]) < FEWEST:
        return cannot_tell(f"fewer than {FEWEST} different texts")
    comparison = ShareComparison(
        (before["heap"], before["texts"]), (after["heap"], after["texts"]), SHARE_JUMP
    )
    numbers = {"from": before, "to": after}
    says = (
        f"before, {format_share(comparison.shares[0])} of texts end at {before['end']:,} {unit}; "
        f"after, {format_share(comparison.shares[1])} at {after['end']:,} {unit}"
    )
    if comparison.is_changed:
        sql = PEAK_OF_HOST.format(length=length_sql, heap=HEAP)
        end = {"end": numbers[comparison.larger_side]["end"]}
        hosts = count_changed_hosts(connection, sql, comparison, end)
        if not hosts.are_most:
            return hosts.undecided(says, numbers)
    verdict = "texts are truncated differently"
    return compare_shares(comparison, says, verdict, numbers, max_detectable=0.5)


def check_text_damage(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the shares of texts with wrongly decoded characters or HTML tags, or no title."""
    before, after = (
        fetch_row(connection, DAMAGE.format(side=side, texts=TEXTS_READ), DAMAGES)
        for side in ("from", "to")
    )
    numbers = {"from": before, "to": after}
    if min(before["texts"], after["texts"]) < FEWEST:
        return cannot_tell(f"fewer than {FEWEST} documents")
    outcomes = []
    for kind, column, what, verdict in (
        ("misread", "text", "contain wrongly decoded characters", "texts are decoded differently"),
        ("with_tags", "text", "contain HTML tags", "HTML is not removed from texts"),
        ("untitled", "title", "have no title", "titles are extracted differently"),
    ):
        comparison = ShareComparison(
            (before[kind], before["texts"]), (after[kind], after["texts"]), SHARE_JUMP
        )
        says = (
            f"before, {format_share(comparison.shares[0])} of texts {what}; "
            f"after, {format_share(comparison.shares[1])}"
        )
        outcome = compare_shares(comparison, says, verdict, numbers, max_detectable=0.5)
        if comparison.is_changed:
            values = {"pattern": DAMAGES[kind], "texts": TEXTS_READ}
            sql = DAMAGE_OF_HOST.format(column=column)
            hosts = count_changed_hosts(connection, sql, comparison, values)
            outcome = outcome if hosts.are_most else hosts.undecided(says, numbers)
        outcomes.append(outcome)
    found = [outcome for outcome in outcomes if outcome.found]
    blind = [outcome for outcome in outcomes if outcome.found is None]
    return (found or blind or outcomes)[0]


def check_unchanged_texts(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Check that some pages kept their text, as pages do that nobody edits."""
    numbers = fetch_row(connection, UNCHANGED)
    if numbers["common"] < FEWEST_COMMON:
        return cannot_tell(f"fewer than {FEWEST_COMMON} documents are in both snapshots")
    says = f"{numbers['unchanged']:,} of {numbers['common']:,} common pages have the same text"
    if numbers["unchanged"] >= UNCHANGED_SHARE * numbers["common"]:
        sees = f"an edit of more than {format_share(1 - UNCHANGED_SHARE)} of common pages"
        return Outcome(False, says, numbers, sees)
    return Outcome(None, f"{says}: texts are extracted differently, or all were edited", numbers)


CHECKS = (
    Check("texts_end_freely", "Are texts truncated by the same rule?", check_text_lengths),
    Check(
        "texts_are_read_alike",
        "Are texts decoded and extracted by the same rule?",
        check_text_damage,
    ),
    Check("some_texts_stay", "Do some pages keep their text?", check_unchanged_texts),
)
