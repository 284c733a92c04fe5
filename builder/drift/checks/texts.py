"""Checks that texts were decoded, extracted and truncated by the same rules.

A length limit produces many texts of the same length, a wrong decoder drops accents or produces
characters that the pages do not contain, and a failed extraction leaves HTML tags or no title. Site
owners can cause such changes too, but not on most hosts at once. The checks read the
`MAX_TEXTS_READ` texts with the smallest document ids, which are a random sample because ids are
hashes.
"""

import duckdb

from builder.drift.checks.hosts import count_changed_hosts
from builder.drift.checks.outcome import (
    Check,
    Outcome,
    ShareComparison,
    create_share_outcome,
    fetch_single_row,
    format_share,
    undecided_outcome,
)

MAX_TEXTS_READ = 20_000
"""Maximum number of texts read per snapshot."""

MIN_TEXTS = 30
"""Minimum number of texts per snapshot for a comparison."""

MIN_SHARE_DIFFERENCE = 0.05
"""Smallest difference in the share of affected texts that counts as a change."""

LENGTH_TOLERANCE = 0.01
"""Maximum relative difference between two text lengths that count as equal."""

LENGTH_PEAKS = """
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

LENGTH_PEAKS_BY_HOST = """
SELECT
    {{host}} AS host,
    count(*) AS pages,
    count(*) FILTER ({length} BETWEEN $end - greatest(1, $end * {heap}) AND $end) AS part
FROM documents_{{side}} GROUP BY host
"""

LENGTH_UNITS = (("len(text)", "characters"), ("tokens", "words"))

DAMAGE_PATTERNS = {
    "misread": r"\x{FFFD}|Ã[\x{80}-\x{BF}]|â€|Â[\x{A0}-\x{BF}]|\p{Ll}\?\p{Ll}",
    "with_tags": r"(?i)</?(p|div|a|span|br|html|head|body|ul|li|h[1-6]|table|tr|td|script)"
    r"(\s[^<>]*)?/?>|&([A-Za-z]{2,8}|#[0-9]{1,6}|#x[0-9A-Fa-f]{1,5});",
    "unaccented": r"^[\x{00}-\x{7F}]*$",
    "untitled": r"^\s*$",
}
"""Regular expressions for wrongly decoded characters (including those written as `?` in a word),
HTML tags and entities, texts without a non-ASCII character, and empty titles."""

BOTH = "concat(title, ' ', text)"
"""SQL expression for title and text of a page."""

DAMAGED_TEXTS = """
WITH read AS (SELECT title, text FROM documents_{side} ORDER BY doc_id LIMIT {texts:d})
SELECT
    count(*) AS texts,
    count(*) FILTER (regexp_matches({both}, $misread)) AS misread,
    count(*) FILTER (regexp_matches({both}, $with_tags)) AS with_tags,
    count(*) FILTER (regexp_matches(text, $unaccented)) AS unaccented,
    count(*) FILTER (regexp_matches(title, $untitled)) AS untitled
FROM read
"""

DAMAGED_TEXTS_BY_HOST = """
WITH read AS (
    SELECT {{host}} AS host, {column} AS value
    FROM documents_{{side}} ORDER BY doc_id LIMIT $texts
)
SELECT host, count(*) AS pages, count(*) FILTER (regexp_matches(value, $pattern)) AS part
FROM read GROUP BY host
"""


def check_text_lengths(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the shares of texts with nearly the same length; a high share suggests truncation."""
    outcomes = [_check_length_peaks(connection, length, unit) for length, unit in LENGTH_UNITS]
    found = [outcome for outcome in outcomes if outcome.is_construction]
    blind = [outcome for outcome in outcomes if outcome.is_construction is None]
    return (found or blind or outcomes)[0]


def _check_length_peaks(
    connection: duckdb.DuckDBPyConnection, length_sql: str, unit: str
) -> Outcome:
    before, after = (
        fetch_single_row(
            connection,
            LENGTH_PEAKS.format(
                length=length_sql, side=side, texts=MAX_TEXTS_READ, heap=LENGTH_TOLERANCE
            ),
        )
        for side in ("from", "to")
    )
    if min(before["texts"], after["texts"]) < MIN_TEXTS:
        return undecided_outcome(f"a snapshot has fewer than {MIN_TEXTS} different texts")
    comparison = ShareComparison(
        (before["heap"], before["texts"]), (after["heap"], after["texts"]), MIN_SHARE_DIFFERENCE
    )
    numbers = {"from": before, "to": after}
    says = (
        f"{format_share(comparison.shares[0])} of texts have about {before['end']:,} {unit} "
        f"before, and {format_share(comparison.shares[1])} have about {after['end']:,} {unit} after"
    )
    if comparison.is_changed:
        sql = LENGTH_PEAKS_BY_HOST.format(length=length_sql, heap=LENGTH_TOLERANCE)
        end = {"end": numbers[comparison.side_with_larger_share]["end"]}
        hosts = count_changed_hosts(connection, sql, comparison, end)
        if not hosts.most_hosts_changed:
            return hosts.create_undecided_outcome(says, numbers)
    verdict = "texts are truncated differently"
    return create_share_outcome(comparison, says, verdict, numbers, max_detectable=0.5)


def check_text_damage(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the shares of pages with decoding errors, HTML markup, only ASCII, or no title."""
    before, after = (
        fetch_single_row(
            connection,
            DAMAGED_TEXTS.format(side=side, texts=MAX_TEXTS_READ, both=BOTH),
            DAMAGE_PATTERNS,
        )
        for side in ("from", "to")
    )
    numbers = {"from": before, "to": after}
    if min(before["texts"], after["texts"]) < MIN_TEXTS:
        return undecided_outcome(f"fewer than {MIN_TEXTS} documents")
    outcomes = []
    for kind, column, what, verdict in (
        ("misread", BOTH, "contain wrongly decoded characters", "texts are decoded differently"),
        ("with_tags", BOTH, "contain HTML tags or entities", "HTML is removed differently"),
        ("unaccented", "text", "contain only ASCII characters", "texts are decoded differently"),
        ("untitled", "title", "have no title", "titles are extracted differently"),
    ):
        comparison = ShareComparison(
            (before[kind], before["texts"]), (after[kind], after["texts"]), MIN_SHARE_DIFFERENCE
        )
        says = (
            f"{format_share(comparison.shares[0])} of pages before and "
            f"{format_share(comparison.shares[1])} after {what}"
        )
        outcome = create_share_outcome(comparison, says, verdict, numbers, max_detectable=0.5)
        if comparison.is_changed:
            values = {"pattern": DAMAGE_PATTERNS[kind], "texts": MAX_TEXTS_READ}
            sql = DAMAGED_TEXTS_BY_HOST.format(column=column)
            hosts = count_changed_hosts(connection, sql, comparison, values)
            outcome = (
                outcome
                if hosts.most_hosts_changed
                else hosts.create_undecided_outcome(says, numbers)
            )
        outcomes.append(outcome)
    found = [outcome for outcome in outcomes if outcome.is_construction]
    blind = [outcome for outcome in outcomes if outcome.is_construction is None]
    return (found or blind or outcomes)[0]


CHECKS = (
    Check("texts_end_freely", "Are texts truncated by the same rule?", check_text_lengths),
    Check(
        "texts_are_read_alike",
        "Are texts decoded and extracted by the same rule?",
        check_text_damage,
    ),
)
