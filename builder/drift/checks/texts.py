"""Were texts read or cut by another rule?

A limit on the length of texts leaves a heap of texts that end at one length, a decoder that errs
leaves characters that no page writes, and a page taken for text leaves its tags. None of these
comes from the web in one month. Up to `TEXTS_READ` texts with the smallest ids are read, which are
a random sample.
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

TEXTS_READ = 20_000
FEWEST = 30
SHARE_JUMP = 0.05

HEAP = 0.01
"""Texts whose length differs by at most this share end at one length."""

LENGTHS = """
WITH
read AS (
    SELECT any_value(length) AS length FROM (
        SELECT token_hash, {length} AS length FROM documents_{side}
        ORDER BY doc_id LIMIT {texts:d}
    ) GROUP BY token_hash
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

UNITS = (("len(text)", "characters"), ("tokens", "words"))

DAMAGE = r"""
WITH read AS (SELECT text FROM documents_{side} ORDER BY doc_id LIMIT {texts:d})
SELECT
    count(*) AS texts,
    count(*) FILTER (contains(text, chr(65533))
        OR regexp_matches(text, 'Ã[\x{{80}}-\x{{BF}}]|â€|Â[\x{{A0}}-\x{{BF}}]')) AS misread,
    count(*) FILTER (regexp_matches(
        text,
        '(?i)</?(p|div|a|span|br|html|head|body|ul|li|h[1-6]|table|tr|td|script)(\s[^<>]*)?/?>'
    )) AS with_tags
FROM read
"""


def texts_end_freely(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the share of texts that end at one length."""
    outcomes = [_heaps(connection, length, unit) for length, unit in UNITS]
    found = [outcome for outcome in outcomes if outcome.found]
    blind = [outcome for outcome in outcomes if outcome.found is None]
    return (found or blind or outcomes)[0]


def _heaps(connection: duckdb.DuckDBPyConnection, length: str, unit: str) -> Outcome:
    before, after = (
        row(connection, LENGTHS.format(length=length, side=side, texts=TEXTS_READ, heap=HEAP))
        for side in ("from", "to")
    )
    if min(before["texts"], after["texts"]) < FEWEST:
        return unknown(f"fewer than {FEWEST} documents")
    shares = Shares((before["heap"], before["texts"]), (after["heap"], after["texts"]), SHARE_JUMP)
    says = (
        f"{percent(shares.values[0])} of texts end at {before['end']:,} {unit} before and "
        f"{percent(shares.values[1])} at {after['end']:,} {unit} after"
    )
    return compare_shares(
        shares, says, "texts are cut at one length", {"from": before, "to": after}, most=0.5
    )


def texts_are_read_alike(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the shares of texts with characters read wrongly and with tags of HTML."""
    before, after = (
        row(connection, DAMAGE.format(side=side, texts=TEXTS_READ)) for side in ("from", "to")
    )
    numbers = {"from": before, "to": after}
    if min(before["texts"], after["texts"]) < FEWEST:
        return unknown(f"fewer than {FEWEST} documents")
    outcomes = []
    for kind, what, verdict in (
        ("misread", "characters of another encoding", "texts are decoded differently"),
        ("with_tags", "tags of HTML", "pages are taken for text"),
    ):
        shares = Shares((before[kind], before["texts"]), (after[kind], after["texts"]), SHARE_JUMP)
        says = (
            f"{percent(shares.values[0])} of texts hold {what} before and "
            f"{percent(shares.values[1])} after"
        )
        outcomes.append(compare_shares(shares, says, verdict, numbers, most=0.5))
    found = [outcome for outcome in outcomes if outcome.found]
    blind = [outcome for outcome in outcomes if outcome.found is None]
    return (found or blind or outcomes)[0]


CHECKS = (
    Check("texts_end_freely", "Do texts end where their pages do?", texts_end_freely),
    Check("texts_are_read_alike", "Are texts decoded and extracted alike?", texts_are_read_alike),
)
