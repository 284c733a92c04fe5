"""Checks that the limit on the length of queries did not change.

If queries with more words than a limit are dropped, the longest query has about this number of
words. If the longest query is shorter in one snapshot, the share of queries in the other snapshot
that exceed its length tells whether chance explains the difference. Users may also write shorter or
longer queries, for instance if they start or stop talking to an assistant, so the check never
concludes that a limit changed.
"""

import math

import duckdb

from builder.drift.checks.outcome import Check, Outcome, undecided_outcome
from builder.drift.checks.thresholds import MAX_LOG10_P_VALUE, ValueCounts, count_rows_by_value

WORD_COUNT = r"len(regexp_extract_all(text, '\S+'))"


def log10_p_value_of_higher_minimum(before: ValueCounts, after: ValueCounts) -> float:
    """Return log10 of the probability that the smallest value rose by chance.

    Args:
        before: Number of rows by value in the earlier snapshot.
        after: Number of rows by value in the later snapshot.

    Returns:
        log10 of the probability; 0 if the smallest value did not rise.
    """
    least = after[0][0]
    if least <= before[0][0]:
        return 0.0
    total = sum(rows for _, rows, _ in before)
    below = sum(gone for value, _, gone in before if value < least)
    if below == total:
        return -math.inf
    return sum(rows for _, rows, _ in after) * math.log10(1 - below / total)


def check_longest_query(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the lengths, in words, of the longest queries of the two snapshots."""
    before, after = count_rows_by_value(connection, "queries", f"-{WORD_COUNT}")
    if not before or not after:
        return undecided_outcome("a snapshot lists no queries")
    numbers = {"longest_from": -before[0][0], "longest_to": -after[0][0]}
    says = f"the longest query has {-before[0][0]} words before and {-after[0][0]} after"
    for values, other_values, words in ((before, after, "fewer"), (after, before, "more")):
        if log10_p_value_of_higher_minimum(values, other_values) < MAX_LOG10_P_VALUE:
            reason = f"either a limit changed or users write {words} words"
            return Outcome(None, f"{says}, which chance does not explain: {reason}", numbers)
    limit = _find_detectable_length_limit(before, sum(rows for _, rows, _ in after))
    if limit is None:
        return Outcome(
            None,
            says,
            numbers,
            "no limit of at least half the length of the longest query is detectable",
        )
    return Outcome(False, says, numbers, f"a limit of {limit} words")


def _find_detectable_length_limit(
    lengths_before: ValueCounts, query_count_after: int
) -> int | None:
    """Return the largest limit on query length, in words, that would be detected.

    Args:
        lengths_before: Number of queries of the earlier snapshot by negated length in words.
        query_count_after: Number of queries of the later snapshot.

    Returns:
        The limit; None if only limits below half the length of the longest query would be detected.
    """
    longest = -lengths_before[0][0]
    total = sum(rows for _, rows, _ in lengths_before)
    for limit in range(longest - 1, max(0, longest // 2 - 1), -1):
        longer = sum(rows for value, rows, _ in lengths_before if -value > limit)
        kept = query_count_after * (1 - longer / total)
        if longer == total or kept * math.log10(1 - longer / total) < MAX_LOG10_P_VALUE:
            return limit
    return None


CHECKS = (
    Check("longest_query_stands", "Is the limit on words per query the same?", check_longest_query),
)
