"""The check of the limit on the length of queries."""

import pytest

from builder.drift.checks.outcome import Outcome
from builder.drift.checks.query_lengths import check_longest_query, log10_p_value_of_higher_minimum
from tests.drift.checks.rows import asking
from tests.drift.worlds import Rows, query


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
    assert check_longest_query(asking(long, long[:60])) == Outcome(
        False,
        "the longest query has 9 words before and 9 after",
        {"longest_from": 9, "longest_to": 9},
        "a limit of 6 words",
    )
    for pair in (([], short), (short, [])):
        assert check_longest_query(asking(*pair)) == Outcome(None, "a snapshot lists no queries")


def lengths(*counts: tuple[int, int]) -> Rows:
    """Queries: of each number of words so many."""
    return [
        query(" ".join(["mot"] * (words - 1)) + f" x{words}y{n}", "t")
        for words, count in counts
        for n in range(count)
    ]


@pytest.mark.parametrize(
    ("before", "after", "sees"),
    [
        # log10 of .9 to the power of 90 % of the later queries: -5.97 at 145, -6.01 at 146
        ([(3, 90), (8, 10)], [(3, 135), (8, 10)], None),
        ([(3, 90), (8, 10)], [(3, 136), (8, 10)], 7),
        ([(7, 90), (8, 10)], [(7, 135), (8, 10)], 6),  # no query would be left at 6 words
        ([(3, 99), (8, 1)], [(3, 199), (8, 1)], None),
        ([(1, 99), (2, 1)], [(1, 99), (2, 1)], None),
        ([(1, 50), (2, 50)], [(1, 60), (2, 60)], 1),
        ([(5, 20)], [(5, 20)], 4),
    ],
)
def test_a_limit_that_would_be_seen(
    before: list[tuple[int, int]], after: list[tuple[int, int]], sees: int | None
) -> None:
    outcome = check_longest_query(asking(lengths(*before), lengths(*after)))
    assert outcome.is_construction is (None if sees is None else False)
    assert outcome.detectable == (
        "no limit of at least half the length of the longest query is detectable"
        if sees is None
        else f"a limit of {sees} words"
    )


@pytest.mark.parametrize(("kept", "is_chance"), [(131, True), (132, False)])
def test_a_longest_query_that_may_be_missing_by_chance(kept: int, *, is_chance: bool) -> None:
    """One query in ten has 8 words: none of 131 has by .9^131 = 1.01e-6, none of 132 by 9.1e-7."""
    outcome = check_longest_query(asking(lengths((3, 270), (8, 30)), lengths((3, kept))))
    says = "the longest query has 8 words before and 3 after"
    reason = ", which chance does not explain: either a limit changed or users write fewer words"
    assert outcome.evidence == says + ("" if is_chance else reason)
