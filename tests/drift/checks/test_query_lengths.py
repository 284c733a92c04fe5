"""The check of the limit on the length of queries."""

import pytest

from builder.drift.checks.outcome import Outcome
from builder.drift.checks.query_lengths import check_longest_query, log10_p_value_of_higher_minimum
from tests.drift.checks.rows import asking
from tests.drift.worlds import query


def test_chance_of_a_greatest_value() -> None:
    before = [(5, 60, 30), (10, 40, 0)]
    assert log10_p_value_of_higher_minimum(before, [(5, 9, 0)]) == 0.0
    assert log10_p_value_of_higher_minimum(before, [(10, 100, 0)]) == pytest.approx(
        100 * -0.15490196
    )
    assert log10_p_value_of_higher_minimum([(5, 9, 9)], [(6, 1, 1)]) == float("-inf")


def test_a_longest_query() -> None:
    long = [query(" ".join(["mot"] * (1 + n % 8)) + f" x{n}", "t") for n in range(120)]
    short = [row for row in long if len(row["text"].split()) <= 5]
    says = "which chance does not explain: either a limit changed or users write"
    assert check_longest_query(asking(long, short)) == Outcome(
        None,
        f"the longest query has 9 words before and 5 after, {says} fewer words",
        {"longest_from": 9, "longest_to": 5},
    )
    assert check_longest_query(asking(short, long)) == Outcome(
        None,
        f"the longest query has 5 words before and 9 after, {says} more words",
        {"longest_from": 5, "longest_to": 9},
    )
    assert check_longest_query(asking(long, long[:60])).is_construction is False
    assert check_longest_query(asking([], short)).is_construction is None
