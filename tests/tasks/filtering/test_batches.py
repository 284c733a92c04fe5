"""Time batches: calendar edges, fixed lengths, coverage."""

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.errors import UsageError
from builder.tasks.filtering.batches import create_time_batches


def seconds(*date):
    return int(datetime(*date, tzinfo=UTC).timestamp())


def dates(batches):
    return [
        datetime.fromtimestamp(int(edge), UTC).strftime("%Y-%m-%d %H") for edge in batches.edges
    ]


def test_days_follow_the_calendar():
    batches = create_time_batches(seconds(2022, 6, 1, 22), seconds(2022, 6, 3, 1), "day")
    assert dates(batches) == ["2022-06-01 00", "2022-06-02 00", "2022-06-03 00", "2022-06-04 00"]
    assert batches.batch_seconds == 86_400


def test_a_period_that_ends_at_midnight_needs_no_further_day():
    batches = create_time_batches(seconds(2022, 6, 1), seconds(2022, 6, 3), "day")
    assert dates(batches) == ["2022-06-01 00", "2022-06-02 00", "2022-06-03 00"]


def test_weeks_start_on_monday():
    batches = create_time_batches(seconds(2022, 6, 1), seconds(2022, 6, 8), "week")
    assert dates(batches) == ["2022-05-30 00", "2022-06-06 00", "2022-06-13 00"]


def test_months_differ_in_length():
    batches = create_time_batches(seconds(2022, 1, 31), seconds(2022, 3, 1, 1), "month")
    expected = ["2022-01-01 00", "2022-02-01 00", "2022-03-01 00", "2022-04-01 00"]
    assert dates(batches) == expected
    assert batches.batch_seconds is None


def test_a_period_that_ends_with_a_month_needs_no_further_month():
    batches = create_time_batches(seconds(2022, 1, 31), seconds(2022, 3, 1), "month")
    assert dates(batches) == ["2022-01-01 00", "2022-02-01 00", "2022-03-01 00"]


def test_seconds_count_from_the_start():
    assert create_time_batches(5, 16, "4").edges.tolist() == [5, 9, 13, 17]


def test_before_the_epoch():
    assert dates(create_time_batches(-1, 1, "week")) == ["1969-12-29 00", "1970-01-05 00"]


@given(
    st.integers(-(10**9), 2 * 10**9),
    st.integers(1, 10**7),
    st.sampled_from(["hour", "day", "week", "month", "777"]),
)
def test_batches_cover_the_period_without_a_gap(start, length, granularity):
    batches = create_time_batches(start, start + length, granularity)
    assert (np.diff(batches.edges) > 0).all()
    assert batches.edges[0] <= start < batches.edges[1]
    assert batches.edges[-2] < start + length <= batches.edges[-1]
    assert batches.find_batch_indexes(np.array([start, start + length - 1])).tolist() == [
        0,
        len(batches.batch_starts) - 1,
    ]


@pytest.mark.parametrize(
    "granularity", ["year", "0", "-5", "1.5", "", "\u0665", "10000000001", "0" * 19 + "1"]
)
def test_unknown_granularity(granularity):
    with pytest.raises(UsageError) as error:
        create_time_batches(0, 10, granularity)
    assert str(error.value) == (
        "granularity: expected hour, day, week, month or a number of seconds up to 10000000000, "
        f"found {granularity!r}"
    )


def test_a_long_granularity_is_shortened_in_the_message():
    with pytest.raises(UsageError, match=f"found '{'x' * 40}'$"):
        create_time_batches(0, 10, "x" * 50)


def test_the_longest_and_the_shortest_batch():
    assert create_time_batches(5, 16, "10000000000").edges.tolist() == [5, 10_000_000_005]
    assert create_time_batches(5, 7, "1").edges.tolist() == [5, 6, 7]
    assert create_time_batches(5, 7, "0" * 18 + "1").batch_seconds == 1


def test_hours_follow_the_clock():
    batches = create_time_batches(3601, 10_800, "hour")
    assert batches.edges.tolist() == [3600, 7200, 10_800]
    assert batches.find_batch_indexes(np.array([0, 3599, 3600, 10_799, 10_800])).tolist() == [
        *(-1, -1, 0, 1, 2)
    ]


def test_empty_period():
    with pytest.raises(UsageError, match="ends after it starts"):
        create_time_batches(10, 10, "day")


def test_too_many_batches():
    assert len(create_time_batches(7, 7 + 10**6, "1").batch_starts) == 10**6
    with pytest.raises(UsageError) as error:
        create_time_batches(7, 8 + 10**6, "1")
    assert str(error.value) == (
        "expected at most 1000000 batches, found 1000001 of 1 s each in the period [7, 1000008); "
        "choose longer batches or a shorter period"
    )
