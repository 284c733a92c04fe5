"""One line of a query log -> one impression, or the reason why not.

Our format, one JSON object a line: `{"time": unix seconds or ISO 8601, "user": opaque or null,
"query": text, "results": [url in rank order], "clicks": [1-based ranks in click order]}`. A click
may also be an object `{"rank" or "url", "time"}`, a result one `{"url", "rank", "clicked"}`. Of a
key that occurs twice the last one counts; null is the same as no key.
"""

import re
import unicodedata
from datetime import datetime
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import orjson

from builder.ingest.fields import rename
from builder.ingest.rejects import RejectError
from builder.ingest.results import read_page
from builder.parameters import LogParameters, TimeParameters
from builder.sources import Interval

UTC_SECONDS = TimeParameters()
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,9})?")
LATEST = 253_402_300_799
"""The last second of the year 9999; larger numbers are no unix seconds."""


class Impression(NamedTuple):
    """An impression as logged: unix seconds, text trimmed, clicks as ranks."""

    time: int
    user: str | None
    query: str
    results: list[str]
    clicks: list[int]


def parse_impression(line: bytes, interval: Interval, params: LogParameters) -> Impression:
    """Parse and check one line.

    Raises:
        RejectError: the line is not an impression of the interval; the message is the reason.
    """
    if not line.strip():
        raise RejectError("blank_line")
    return make_impression(rename(parse_object(line), params.fields), interval, params)


def make_impression(
    record: dict[str, Any], interval: Interval, params: LogParameters
) -> Impression:
    """Check the fields of one impression, under their own names (see `fields.rename`).

    Raises:
        RejectError: a field is missing or wrong, or the time is outside the interval.
    """
    time = parse_time(record.get("time"), params)
    if time not in interval:
        raise RejectError("outside_interval")
    results, clicks = read_page(record.get("results"), record.get("clicks"), params)
    user, query = _user(record.get("user")), clean_query(record.get("query"), params)
    return Impression(time, user, query, results, clicks)


def parse_object(line: bytes) -> dict[str, Any]:
    """The JSON object of a line.

    Raises:
        RejectError: not JSON in UTF-8, or not an object.
    """
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise RejectError("not_json") from None
    if not isinstance(record, dict):
        raise RejectError("not_an_object")
    return record


def parse_time(value: object, params: TimeParameters = UTC_SECONDS) -> int:
    """Unix seconds of a number, a moment or a text of the form that the parameters say.

    Args:
        value: What stands in the log; a number may also be written as text.
        params: The unit of numbers, the form of texts, the zone of those without an offset.

    Raises:
        RejectError: neither.
    """
    if isinstance(value, str) and params.time_format is not None:
        value = _moment(value, params.time_format)
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value) if "." in value else int(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = value // 1000 if params.time_unit == "ms" else value
        if abs(seconds) <= LATEST:
            return int(seconds)
        raise RejectError("bad_time")
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        if isinstance(moment, datetime):
            zone = moment.tzinfo or ZoneInfo(params.time_zone)
            return int(moment.replace(tzinfo=zone).timestamp())
    except (ValueError, OverflowError):
        pass
    raise RejectError("bad_time")


def _moment(text: str, form: str) -> datetime:
    try:
        return datetime.strptime(text.strip(), form)  # noqa: DTZ007 - the zone is a parameter
    except ValueError:
        raise RejectError("bad_time") from None


def _user(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, str | int) and not isinstance(value, bool):
        return str(value)
    raise RejectError("bad_user")


def clean_query(value: object, params: LogParameters) -> str:
    """The text of a query: NFC, single spaces.

    Raises:
        RejectError: not a text, empty, or too long.
    """
    if not isinstance(value, str):
        raise RejectError("bad_query")
    text = " ".join(unicodedata.normalize("NFC", value).split())
    if not text:
        raise RejectError("empty_query")
    if len(text) > params.max_query_chars:
        raise RejectError("query_too_long")
    return text
