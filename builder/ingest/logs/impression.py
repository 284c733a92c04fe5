"""Converts a single log record to an impression: the reference implementation for all formats.

In the native format, each line is a JSON object: `{"time": Unix seconds or ISO 8601, "user": opaque
id or null, "query": text, "results": [URLs in rank order], "clicks": [1-based ranks in click
order]}`. A click may also be an object `{"rank" or "url", "time"}`, and a result may be an object
`{"url", "rank", "clicked"}`. Clicks are sorted by time if each has a time; otherwise they keep the
order of the log. If a key occurs twice, the last value is used. Null is equivalent to a missing
key.
"""

import unicodedata
from typing import Any, NamedTuple

from builder.ingest.fields import parse_id, rename_fields
from builder.ingest.json_object import parse_json_object
from builder.ingest.logs.results import parse_results
from builder.ingest.rejects import RejectError
from builder.ingest.timestamps import parse_time
from builder.io.sources import Interval
from builder.parameters import LogParameters


class Impression(NamedTuple):
    """Valid impression: a query with the results shown to a user, and the clicks.

    Args:
        time: Unix time in seconds.
        user: User id as logged; None if anonymous.
        query: Query text in NFC, with single spaces between words.
        results: URLs or document ids in rank order.
        clicks: 1-based ranks of the clicked results, in click order.
    """

    time: int
    user: str | None
    query: str
    results: list[str]
    clicks: list[int]


def parse_impression(line: bytes, interval: Interval | None, params: LogParameters) -> Impression:
    """Parse a line of a JSON Lines log and return the impression.

    Raises:
        RejectError: the line is not a valid impression, or its time is outside the interval; the
            message is the reject reason.
    """
    return make_impression(rename_fields(parse_json_object(line), params.fields), interval, params)


def make_impression(
    record: dict[str, Any], interval: Interval | None, params: LogParameters
) -> Impression:
    """Check all fields of a log record, and convert the record to an impression.

    Args:
        record: Values by standard field name (see `fields.rename_fields`).
        interval: Accepted time interval; if None, the time is ignored and set to 0.
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
    user, query = _parse_user_id(record.get("user")), normalize_query(record.get("query"), params)
    return Impression(time, user, query, results, clicks)


def _parse_user_id(value: object) -> str | None:
    """Convert a user id to a string; None if it is missing or blank.

    Raises:
        RejectError: the value is neither a string nor an integer.
    """
    if value is None:
        return None
    if isinstance(value, str | int) and not isinstance(value, bool):
        return str(value) if str(value).strip(" ") else None
    raise RejectError("bad_user")


def normalize_query(value: object, params: LogParameters) -> str:
    """Normalize a query (text or numeric id) to NFC with single spaces between words.

    Raises:
        RejectError: the value is neither a string nor an integer, or the query is empty or too
            long.
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
