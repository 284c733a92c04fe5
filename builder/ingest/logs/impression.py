"""Parses a single record of a log to an impression: the reference for all log formats.

In the native format, each line is a JSON object: `{"time": Unix seconds or ISO 8601, "user": opaque
id or null, "query": text, "results": [URL in rank order], "clicks": [1-based rank in click
order]}`. A click may also be an object `{"rank" or "url", "time"}`, and a result an object `{"url",
"rank", "clicked"}`. Clicks are ordered by time if all of them have one, otherwise in log order. The
last of duplicate keys wins, and null is equivalent to a missing key.
"""

import unicodedata
from typing import Any, NamedTuple

from builder.ingest.fields import parse_id, rename_fields
from builder.ingest.json_object import parse_object
from builder.ingest.logs.results import parse_results
from builder.ingest.rejects import RejectError
from builder.ingest.timestamps import parse_time
from builder.io.sources import Interval
from builder.parameters import LogParameters


class Impression(NamedTuple):
    """Impression that has been checked: a query with results and clicks.

    Args:
        time: Unix time in seconds.
        user: User identifier as logged; None if anonymous.
        query: Query text, NFC with single spaces.
        results: URLs or document ids in rank order.
        clicks: 1-based clicked ranks in click order.
    """

    time: int
    user: str | None
    query: str
    results: list[str]
    clicks: list[int]


def parse_impression(line: bytes, interval: Interval | None, params: LogParameters) -> Impression:
    """Parse a JSON line and return the impression.

    Raises:
        RejectError: the line is not an impression within the interval; the message is the reason.
    """
    return make_impression(rename_fields(parse_object(line), params.fields), interval, params)


def make_impression(
    record: dict[str, Any], interval: Interval | None, params: LogParameters
) -> Impression:
    """Convert a record to an impression, checking all fields.

    Args:
        record: Field values under the project's names (see `fields.rename_fields`).
        interval: Accepted time interval; None: the time is ignored and set to 0.
        params: Section `[log]` of the definition.

    Raises:
        RejectError: a field is missing or invalid, or the time is outside the interval.
    """
    time = 0
    if interval is not None:
        time = parse_time(record.get("time"), params)
        if time not in interval:
            raise RejectError("outside_interval")
    results, clicks = parse_results(record.get("results"), record.get("clicks"), params)
    user, query = _parse_user(record.get("user")), clean_query(record.get("query"), params)
    return Impression(time, user, query, results, clicks)


def _parse_user(value: object) -> str | None:
    """Convert a user identifier to text; None if missing or blank."""
    if value is None:
        return None
    if isinstance(value, str | int) and not isinstance(value, bool):
        return str(value) if str(value).strip(" ") else None
    raise RejectError("bad_user")


def clean_query(value: object, params: LogParameters) -> str:
    """Normalize the text or numeric id of a query to NFC with single spaces.

    Raises:
        RejectError: the value is neither text nor an id, or the text is empty or too long.
    """
    given = parse_id(value)
    if given is None:
        raise RejectError("bad_query")
    text = " ".join(unicodedata.normalize("NFC", given).split())
    if not text:
        raise RejectError("empty_query")
    if len(text) > params.max_query_chars:
        raise RejectError("query_too_long")
    return text
