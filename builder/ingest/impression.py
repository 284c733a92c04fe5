"""One line of a query log -> one impression, or the reason why not.

Our format, one JSON object a line: `{"time": unix seconds or ISO 8601, "user": opaque or null,
"query": text, "results": [url in rank order], "clicks": [1-based ranks in click order]}`. A click
may also be an object `{"rank" or "url", "time"}`. Of a key that occurs twice the last one counts;
null is the same as no key.
"""

import re
import unicodedata
from datetime import datetime
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import orjson

from builder.ingest.fields import rename
from builder.parameters import LogParameters
from builder.sources import Interval

UTC_SECONDS = LogParameters()
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,9})?")
LATEST = 253_402_300_799
"""The last second of the year 9999; larger numbers are no unix seconds."""


class RejectError(ValueError):
    """A record is left out; the message is the reason."""


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
    results = _results(record.get("results"), params)
    return Impression(
        time,
        _user(record.get("user")),
        clean_query(record.get("query"), params),
        results,
        _clicks(record.get("clicks"), results),
    )


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


def parse_time(value: object, params: LogParameters = UTC_SECONDS) -> int:
    """Unix seconds of a number, a moment or an ISO 8601 text.

    Args:
        value: What stands in the log; a number may also be written as text.
        params: `[log]`: the unit of numbers, the zone of texts without an offset.

    Raises:
        RejectError: neither.
    """
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


def _results(value: object, params: LogParameters) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(url, str) for url in value):
        raise RejectError("bad_results")
    if not value:
        raise RejectError("no_results")
    if len(value) > params.max_results:
        raise RejectError("too_many_results")
    return value


def _clicks(value: object, results: list[str]) -> list[int]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise RejectError("bad_clicks")
    ranks = [_rank(click, results) for click in value]
    if any(not 1 <= rank <= len(results) for rank in ranks):
        raise RejectError("click_not_shown")
    return ranks


def _rank(click: object, results: list[str]) -> int:
    """The rank of a click given as a rank, or as an object with a rank or a URL."""
    if isinstance(click, dict):
        if isinstance(url := click.get("url"), str) and "rank" not in click:
            return results.index(url) + 1 if url in results else 0
        click = click.get("rank")
    if not isinstance(click, int) or isinstance(click, bool):
        raise RejectError("bad_clicks")
    return click
