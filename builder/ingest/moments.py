"""Times as they stand in logs and crawls -> unix seconds, one at a time.

A time is a number, a text with one in it, a moment, a day (its midnight), a text of ISO 8601 or of
a given form. Columns of them are read by `times`, whose doubtful ones come here.
"""

import math
import re
from datetime import date, datetime, time
from decimal import Decimal
from zoneinfo import ZoneInfo

from builder.ingest.rejects import RejectError
from builder.parameters import TimeParameters

UTC_SECONDS = TimeParameters()
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,9})?")
LATEST = 253_402_300_799
"""The last second of the year 9999; larger numbers are no unix seconds."""


def parse_time(value: object, params: TimeParameters = UTC_SECONDS) -> int:
    """Whole unix seconds of a time; fractions are cut off.

    Args:
        value: What stands in the log; a number may also be written as text.
        params: The unit of numbers, the form of texts, the zone of those without an offset.

    Raises:
        RejectError: it is no time.
    """
    return math.floor(parse_moment(value, params))


def parse_moment(value: object, params: TimeParameters = UTC_SECONDS) -> float:
    """As `parse_time`, with the fraction of the second."""
    if isinstance(value, str) and params.time_format is not None:
        value = _formed(value, params.time_format)
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value) if "." in value else int(value)
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = value / 1000 if params.time_unit == "ms" else value
        if -LATEST <= seconds < LATEST + 1:
            return seconds
        raise RejectError("bad_time")
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        if isinstance(moment, date) and not isinstance(moment, datetime):
            moment = datetime.combine(moment, time())
        if isinstance(moment, datetime):
            zone = moment.tzinfo or ZoneInfo(params.time_zone)
            return moment.replace(tzinfo=zone).timestamp()
    except (ValueError, OverflowError):
        pass
    raise RejectError("bad_time")


def _formed(text: str, form: str) -> datetime:
    try:
        return datetime.strptime(text.strip(), form)  # noqa: DTZ007 - the zone is a parameter
    except ValueError:
        raise RejectError("bad_time") from None
