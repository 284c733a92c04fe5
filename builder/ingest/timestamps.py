"""Converts single time values in logs and crawls to Unix seconds.

A time may be a number, a numeric string, a datetime, a date (meaning midnight), an ISO 8601 string,
a date with a UTC offset such as `2022-06-01+02:00`, or a string or number in a configured format. A
number of eight digits such as 20220601 is a date: as Unix seconds, it would be in 1970.
`time_columns` converts whole columns, and leaves uncertain values to this module.
"""

import math
import re
from datetime import date, datetime, time
from decimal import Decimal
from zoneinfo import ZoneInfo

from builder.ingest.rejects import RejectError
from builder.parameters import TimeParameters
from builder.parameters.times import SAMPLE_TIME

UTC_SECONDS = TimeParameters()
_NUMBER = re.compile(r"-?\d{1,19}(?:\.\d{1,9})?")
_FINAL_UTC = re.compile(r"(?<=[0-9]) ?(?:UTC|GMT)$")
_UTC_NAME = re.compile(r"(?<![A-Z])(?:UTC|GMT)\b", re.IGNORECASE)
_DATE_WITH_OFFSET = re.compile(r"^([0-9]{4}-[0-9]{2}-[0-9]{2})(Z|[+-][0-9]{2}:[0-9]{2})$")
DATE_NUMBERS = (19_900_101, 20_991_231)
"""Smallest and largest number that is read as a date of the form YYYYMMDD."""
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""Number of units per second, by `time_unit`; the names are those of Arrow."""
LATEST = 253_402_300_799
"""Last second of the year 9999 as Unix time; later times are rejected."""


def parse_time(value: object, params: TimeParameters = UTC_SECONDS) -> int:
    """Convert a time value to whole Unix seconds, rounded down.

    Args:
        value: Time value of a record.
        params: Unit of numbers, format of strings and numbers, and zone of times without a UTC
            offset.

    Raises:
        RejectError: the value is not a time.
    """
    return math.floor(parse_time_with_fraction(value, params))


def parse_time_with_fraction(
    value: object, params: TimeParameters = UTC_SECONDS, *, accepts_date_numbers: bool = True
) -> float:
    """Convert a time value to Unix seconds with fractions.

    Args:
        value: Time value of a record.
        params: Unit of numbers, format of strings and numbers, and zone of times without a UTC
            offset.
        accepts_date_numbers: Whether a number such as 20220601 is a date; False for times since an
            event.

    Raises:
        RejectError: the value is not a time.
    """
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, str | int | float) and not isinstance(value, bool) and params.time_format:
        value = _parse_with_format(str(value), params.time_format)
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value) if "." in value else int(value)
    if accepts_date_numbers and _is_date_number(value):
        value = str(int(value))  # type: ignore[call-overload]  # it is a number
    elif isinstance(value, int | float) and not isinstance(value, bool):
        seconds = _to_seconds(value, params.time_unit)
        if -LATEST <= seconds < LATEST + 1:
            return seconds
        raise RejectError("bad_time")
    try:
        timestamp = parse_iso_datetime(value) if isinstance(value, str) else value
        if isinstance(timestamp, date) and not isinstance(timestamp, datetime):
            timestamp = datetime.combine(timestamp, time())
        if isinstance(timestamp, datetime):
            zone = timestamp.tzinfo or ZoneInfo(params.time_zone)
            return timestamp.replace(tzinfo=zone).timestamp()
    except (ValueError, OverflowError):
        pass
    raise RejectError("bad_time")


def _to_seconds(number: float, unit: str) -> float:
    """Convert a time in the given unit to seconds; nanoseconds are rounded down to microseconds.

    Otherwise, the last nanoseconds of a second would be rounded up to the next second.
    """
    if unit == "ns":
        number, unit = number // 1000, "us"
    return number if unit == "s" else number / UNITS[unit]


def _is_date_number(value: object) -> bool:
    """Whether a value is a whole number in the range of `DATE_NUMBERS`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return DATE_NUMBERS[0] <= value <= DATE_NUMBERS[1] and value == int(value)


def parse_iso_datetime(text: str) -> datetime:
    """Parse an ISO 8601 string, which may end with `UTC` (as BigQuery writes times) or `GMT`.

    A date with a UTC offset (`xsd:date`) is parsed as midnight.

    Raises:
        ValueError: the string has none of these formats.
    """
    text = _FINAL_UTC.sub("+00:00", text)
    return datetime.fromisoformat(_DATE_WITH_OFFSET.sub(r"\1T00:00\2", text))


def _parse_with_format(text: str, time_format: str) -> datetime:
    """Parse a time, given as text, according to the configured `strptime` format.

    For `%Z`, only UTC, GMT and Z are accepted, because `strptime` accepts the time zone names of
    the machine but ignores their offsets.

    Raises:
        RejectError: the text does not have this format.
    """
    if "%Z" in time_format and "%z" not in time_format:
        time_format, text = time_format.replace("%Z", "%z"), _UTC_NAME.sub("+0000", text)
    text = _undo_numeric_conversion(text.strip(), time_format)
    try:
        return datetime.strptime(text, time_format)  # noqa: DTZ007 - the zone is a parameter
    except ValueError:
        raise RejectError("bad_time") from None


def _undo_numeric_conversion(text: str, time_format: str) -> str:
    """Undo the conversion of a time such as `03062022` to a number such as `3062022.0`.

    The fraction is removed, and the leading zero restored; without the zero, `strptime` would read
    `3062022` as the 30th day of a month. Other times are returned unchanged.
    """
    digits = text if "." in time_format else text.removesuffix(".0")
    if not digits.isdecimal():
        return text
    has_zero = time_format.startswith("%Y") or len(digits) >= len(SAMPLE_TIME.strftime(time_format))
    return digits if has_zero else f"0{digits}"
