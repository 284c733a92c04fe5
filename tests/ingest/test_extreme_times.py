"""Numbers at the edge of what can be a time."""

import pyarrow as pa
import pytest

from builder.ingest.rejects import RejectError
from builder.ingest.time_columns import to_unix_seconds
from builder.ingest.timestamps import parse_fractional_time, parse_time
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
    assert parse_fractional_time(20_220_603, accepts_date_numbers=False) == 20_220_603


@pytest.mark.parametrize("value", [20_221_399, "20220231", 20_220_000.0])
def test_numbers_that_are_nearly_dates_are_no_times(value: object) -> None:
    with pytest.raises(RejectError, match="bad_time"):
        parse_time(value)


def test_fractions_are_no_dates() -> None:
    assert parse_time(20_220_603.5) == 20_220_603
