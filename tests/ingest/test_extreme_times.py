"""Numbers at the edge of what can be a time."""

from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest

from builder.ingest.rejects import RejectError
from builder.ingest.time_columns import to_unix_seconds
from builder.ingest.timestamps import parse_time, parse_time_with_fraction
from builder.parameters import TimeParameters


@pytest.mark.parametrize("number", [-(2**63), 2**63 - 1, -253_402_300_800, 253_402_300_800])
def test_integers_that_are_not_unix_seconds_need_a_closer_look(number: int) -> None:
    found = to_unix_seconds(pa.array([number, 5], pa.int64()), TimeParameters())
    assert found.to_pylist() == [None, 5]


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.string()])
def test_numbers_of_eight_digits_are_dates(kind: pa.DataType) -> None:
    given = pa.array([19_900_100, 19_900_101, 20_220_603, 20_991_231, 20_991_232]).cast(kind)
    days = [631_152_000, 1_654_214_400, 4_102_358_400]
    assert to_unix_seconds(given, TimeParameters()).to_pylist() == [
        *(19_900_100, None, None, None, 20_991_232),
    ]
    assert [parse_time(value) for value in given.to_pylist()] == [19_900_100, *days, 20_991_232]
    paris = TimeParameters(time_zone="Europe/Paris")
    assert parse_time(20_220_603, paris) == days[1] - 2 * 3600
    assert parse_time_with_fraction(20_220_603, accepts_date_numbers=False) == 20_220_603


@pytest.mark.parametrize("value", [20_221_399, "20220231", 20_220_000.0])
def test_numbers_that_are_nearly_dates_are_no_times(value: object) -> None:
    with pytest.raises(RejectError, match="bad_time"):
        parse_time(value)


def test_fractions_are_no_dates() -> None:
    assert parse_time(20_220_603.5) == 20_220_603


@pytest.mark.parametrize(("unit", "zeros"), [("s", 0), ("ms", 3), ("us", 6), ("ns", 9)])
@pytest.mark.parametrize("kind", [pa.int64(), pa.string()])
def test_numbers_in_each_unit(unit: Any, zeros: int, kind: pa.DataType) -> None:
    """Microseconds of BigQuery and nanoseconds of ClickHouse could not be read."""
    texts = ["1654300000" + zeros * "0", "1654300000" + zeros * "9"]
    given = pa.array([*texts, None], pa.string()).cast(kind)
    params = TimeParameters(time_unit=unit)
    assert to_unix_seconds(given, params).to_pylist() == [1_654_300_000, 1_654_300_000, None]
    assert [parse_time(value, params) for value in given.to_pylist()[:2]] == [1_654_300_000] * 2


@pytest.mark.parametrize("kind", [pa.int64(), pa.string()])
def test_numbers_in_another_unit_are_no_times(kind: pa.DataType) -> None:
    for number in (1_654_300_000_000, 1_654_300_000_000_000, 1_654_300_000_000_000_000):
        given = pa.array([number]).cast(kind)
        assert to_unix_seconds(given, TimeParameters()).to_pylist() == [None]
        with pytest.raises(RejectError, match="bad_time"):
            parse_time(given[0].as_py())


@pytest.mark.parametrize(
    "text",
    [
        "2022-06-03 08:00:00 UTC",
        "2022-06-03 08:00:00.25 UTC",
        "2022-06-03T08:00:00UTC",
        "2022-06-03 08:00 GMT",
    ],
)
def test_times_of_bigquery_that_end_with_utc(text: str) -> None:
    """They were rejected, and no format reads fractions that some times have and others lack."""
    assert parse_time(text, TimeParameters(time_zone="Europe/Paris")) == 1_654_243_200
    for other in (f"{text} ", f"{text}+1", text.replace("UTC", "CET").replace("GMT", "EST")):
        with pytest.raises(RejectError, match="bad_time"):
            parse_time(other)


LAST = 253_402_300_799
"""The last second of the year 9999."""


def test_times_end_with_the_year_9999() -> None:
    for number in (LAST, LAST + 0.5, -LAST):
        assert parse_time_with_fraction(number) == number
    for number in (LAST + 1, -LAST - 1, -LAST - 0.5):
        with pytest.raises(RejectError, match="bad_time"):
            parse_time(number)
    numbers = pa.array([LAST, LAST + 1, -LAST, -LAST - 1, 0])
    assert to_unix_seconds(numbers, TimeParameters()).to_pylist() == [LAST, None, -LAST, None, 0]
    moments = pa.array([LAST, LAST + 1, 0, -1, None], pa.int64()).cast(pa.timestamp("s", "UTC"))
    assert to_unix_seconds(moments, TimeParameters()).to_pylist() == [LAST, None, 0, None, None]
    far = pa.array([2**40, 5]).cast(pa.timestamp("s"))
    paris = TimeParameters(time_zone="Europe/Paris")
    assert to_unix_seconds(far, paris).to_pylist() == [None, -3595]


def test_strings_of_which_some_are_read_by_columns() -> None:
    """The others are left to a parser of single times."""
    noon = 1_655_294_400
    texts = {
        "2022-06-15T12:00:00Z": noon,
        "2022-06-15 12:00:00": noon,
        "2022-06-15T12:00:00.999": noon,
        "2022-06-15T12:00:00.999999Z": noon,
        "2022-06-15T12:00:59+02:00": noon - 7200 + 59,
        "2022-06-15T12:00:00-01:30": noon + 5400,
        "2022-06-15T12:00:00+00:15": noon - 900,
        "2022-06-15T12:00:00-23:59": noon + 86_340,
        "1971-01-01T00:00:00Z": 31_536_000,
        "1970-12-31T23:59:59Z": None,
        "2022-06-15T12:00:60Z": None,
        "2022-06-15T12:00:00.99Z": None,
        "2022-06-31T12:00:00Z": None,
        "2022-06-15T24:00:00Z": None,
        "2022-06-15T12:00Z": None,
        "hier": None,
    }
    given = pa.array([*texts, None], pa.string())
    assert to_unix_seconds(given, TimeParameters()).to_pylist() == [*texts.values(), None]
    mixed = pa.array(["2022-06-15T12:00:00Z", "5", "20220615", "1" * 20, None])
    assert to_unix_seconds(mixed, TimeParameters()).to_pylist() == [None, 5, None, None, None]
    in_format = to_unix_seconds(mixed, TimeParameters(time_format="%Y"))
    assert (in_format.to_pylist(), in_format.type) == ([None] * 5, pa.int64())


@pytest.mark.parametrize(
    ("local", "second"),
    [
        ("2022-03-27T01:59:59", 1_648_342_799),
        ("2022-03-27T03:00:00", 1_648_342_800),
        ("2022-06-15T12:00:00", 1_655_287_200),
        ("2022-10-30T01:59:59", 1_667_087_999),
        ("2022-10-30T03:00:00", 1_667_095_200),
        ("2022-12-31T23:59:59", 1_672_527_599),
        ("2022-12-31T23:59:59+00:00", 1_672_531_199),
    ],
)
def test_local_times_by_columns(local: str, second: int) -> None:
    """The last second before and the first after the clocks are put forward and back."""
    paris = TimeParameters(time_zone="Europe/Paris")
    assert parse_time(local, paris) == second
    assert to_unix_seconds(pa.array([local]), paris).to_pylist() == [second]
    if "+" not in local:
        moment = pa.array([datetime.fromisoformat(local)], pa.timestamp("ms"))
        assert to_unix_seconds(moment, paris).to_pylist() == [second]


def test_times_of_a_zone_whose_offset_has_seconds_or_changes_at_any_minute() -> None:
    """In Monrovia, the clocks were put forward by 44.5 minutes at the start of 7 January 1972."""
    monrovia = TimeParameters(time_zone="Africa/Monrovia")
    texts = [
        "1971-06-01T00:00:00",
        "1972-01-06T23:59:59",
        "1972-01-07T00:44:59",
        "1973-01-01T00:00:00",
    ]
    found = to_unix_seconds(pa.array(texts), monrovia).to_pylist()
    assert found == [44_585_070, 63_593_069, None, 94_694_400]
