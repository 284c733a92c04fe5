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


@pytest.mark.parametrize("granularity", ["year", "0", "-5", "1.5", "", "\u0665"])
def test_unknown_granularity(granularity):
    with pytest.raises(UsageError, match="granularity"):
        create_time_batches(0, 10, granularity)


def test_empty_period():
    with pytest.raises(UsageError, match="ends after it starts"):
        create_time_batches(10, 10, "day")


def test_too_many_batches():
    with pytest.raises(UsageError, match="longer batches"):
        create_time_batches(0, 10**9, "1")
