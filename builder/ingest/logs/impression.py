"""One record of a query log to an impression, or the reason for rejecting it.

Our format, one JSON object a line: `{"time": unix seconds or ISO 8601, "user": opaque or null,
"query": text, "results": [url in rank order], "clicks": [1-based ranks in click order]}`. A click
may also be an object `{"rank" or "url", "time"}`, a result one `{"url", "rank", "clicked"}`. Clicks
that all have a time are in the order of their times, others in that of the log. Of a key that
occurs twice the last one counts; null is the same as no key.
"""

import unicodedata
from typing import Any, NamedTuple

from builder.ingest.fields import name_of, rename
from builder.ingest.json_object import parse_object
from builder.ingest.logs.results import read_results
from builder.ingest.moments import parse_time
from builder.ingest.rejects import RejectError
from builder.io.sources import Interval
from builder.parameters import LogParameters


class Impression(NamedTuple):
    """An impression as logged: unix seconds, text trimmed, clicks as ranks."""

    time: int
    user: str | None
    query: str
    results: list[str]
    clicks: list[int]


def parse_impression(line: bytes, interval: Interval | None, params: LogParameters) -> Impression:
    """Parse and check one line; see `make_impression`.

    Raises:
        RejectError: the line is not an impression of the interval; the message is the reason.
    """
    return make_impression(rename(parse_object(line), params.fields), interval, params)


def make_impression(
    record: dict[str, Any], interval: Interval | None, params: LogParameters
) -> Impression:
    """Check the fields of one impression, under their own names (see `fields.rename`).

    Args:
        record: The fields.
        interval: Where its time must lie; None: times are not read, and are 0.
        params: `[log]`.

    Raises:
        RejectError: a field is missing or wrong, or the time is outside the interval.
    """
    time = 0
    if interval is not None:
        time = parse_time(record.get("time"), params)
        if time not in interval:
            raise RejectError("outside_interval")
    results, clicks = read_results(record.get("results"), record.get("clicks"), params)
    user, query = _user(record.get("user")), clean_query(record.get("query"), params)
    return Impression(time, user, query, results, clicks)


def _user(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, str | int) and not isinstance(value, bool):
        return str(value)
    raise RejectError("bad_user")


def clean_query(value: object, params: LogParameters) -> str:
    """The text of a query, or the digits of its id: NFC, single spaces.

    Raises:
        RejectError: neither text nor id, empty, or too long.
    """
    given = name_of(value)
    if given is None:
        raise RejectError("bad_query")
    text = " ".join(unicodedata.normalize("NFC", given).split())
    if not text:
        raise RejectError("empty_query")
    if len(text) > params.max_query_chars:
        raise RejectError("query_too_long")
    return text
