"""Input files, their names in messages, and the intervals of snapshots."""

import csv
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pytest

from builder.io.cells import raise_csv_field_size_limit
from builder.io.sources import Interval, Source


def test_a_name_that_is_not_utf8_is_escaped_and_the_path_kept() -> None:
    source = Source(Path("log-\udce9.csv"), "log-\udce9.csv")
    assert source.name == "log-\\udce9.csv"
    assert source.path == Path("log-\udce9.csv")


def test_an_interval_contains_its_start_but_not_its_end() -> None:
    interval = Interval(10, 20)
    assert [time in interval for time in (9, 10, 19, 20)] == [False, True, True, False]


@pytest.mark.parametrize(
    ("start", "seconds"),
    [
        (date(2022, 6, 1), 1_654_041_600),
        (datetime(2022, 6, 1, 1), 1_654_045_200),  # noqa: DTZ001 - the case that is tested
        (datetime(2022, 6, 1, 1, tzinfo=UTC), 1_654_045_200),
        (datetime(2022, 6, 1, 1, tzinfo=timezone(timedelta(hours=2))), 1_654_038_000),
    ],
)
def test_dates_begin_at_midnight_and_times_without_a_zone_are_in_utc(
    start: date, seconds: int
) -> None:
    assert Interval.from_dates(start, date(2022, 7, 1)) == Interval(seconds, 1_656_633_600)


def test_csv_fields_of_any_length_are_read() -> None:
    before = csv.field_size_limit(10)
    try:
        raise_csv_field_size_limit()
        assert csv.field_size_limit() == 2_147_483_647
    finally:
        csv.field_size_limit(before)
