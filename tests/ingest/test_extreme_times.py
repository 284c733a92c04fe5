"""Numbers at the edge of what can be a time."""

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
