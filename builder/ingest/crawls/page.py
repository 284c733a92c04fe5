"""Converts a single crawl record to a raw page, or rejects the record with a reason.

The fields of a record are `{"url", "timestamp", "title", "text"}`, or `{"url", "content",
"created_at", "last_updated_at"}` (Qwant), or those named in `[crawl.fields]`. Times are Unix
seconds or ISO 8601 unless the parameters say otherwise. URLs and texts are validated later, in
blocks (`checks`).
"""

from typing import Any, NamedTuple

import polars as pl

from builder.ingest.fields import get_nested_value, parse_id
from builder.ingest.json_object import parse_json_object
from builder.ingest.rejects import RejectError
from builder.ingest.timestamps import parse_time
from builder.parameters import CrawlParameters, PageFields

DEFAULT_PARAMS = CrawlParameters()
TIME_FIELDS = ("timestamp", "last_updated_at", "created_at")
TEXT_FIELDS = ("text", "content")
"""Default names of the time and text fields, in order of preference."""
OPTIONAL_FIELDS = ("time", "title")
"""Optional fields of a crawl; times are optional only if `crawl.undated` allows that."""

RAW_SCHEMA = {
    "line": pl.UInt64(),
    "url": pl.String(),
    "fetched_at": pl.Int64(),
    "title": pl.String(),
    "text": pl.String(),
    "language_hint": pl.String(),
    "published_at": pl.Int64(),
    "modified_at": pl.Int64(),
    "is_truncated": pl.Boolean(),
}


class RawPage(NamedTuple):
    """Page before validation, with times in Unix seconds.

    `fetched_at` is None if the record has no time and `crawl.undated` allows this. `is_truncated`
    is True if the archive indicates that the body is incomplete, and None if this is unknown.
    """

    url: str
    fetched_at: int | None
    title: str
    text: str
    language_hint: str | None = None
    published_at: int | None = None
    modified_at: int | None = None
    is_truncated: bool | None = None


class FieldNames(NamedTuple):
    """Field names of a crawl record; for time and text, several names in order of preference."""

    url: str
    times: tuple[str, ...]
    title: str
    texts: tuple[str, ...]

    @property
    def all_names(self) -> tuple[str, ...]:
        """All field names of a crawl record."""
        return (self.url, *self.times, self.title, *self.texts)


def resolve_field_names(fields: PageFields) -> FieldNames:
    """Return the field names in section `[crawl.fields]`, with defaults for missing names."""
    times, texts = _as_tuple(fields.time, TIME_FIELDS), _as_tuple(fields.text, TEXT_FIELDS)
    return FieldNames(fields.url, times, fields.title, texts)


def _as_tuple(names: str | tuple[str, ...] | None, default: tuple[str, ...]) -> tuple[str, ...]:
    """Convert one field name or several to a tuple; return the default if `names` is None."""
    if names is None:
        return default
    return (names,) if isinstance(names, str) else names


def parse_page(line: bytes, params: CrawlParameters = DEFAULT_PARAMS) -> RawPage:
    """Parse a line of a JSON Lines crawl and return the raw page.

    Raises:
        RejectError: the line is not a valid page; the message is the reject reason.
    """
    return page_from_record(parse_json_object(line), resolve_field_names(params.fields), params)


def page_from_record(
    record: dict[str, Any], field_names: FieldNames, params: CrawlParameters = DEFAULT_PARAMS
) -> RawPage:
    """Convert a crawl record to a raw page.

    Args:
        record: Values of the record, by the field names that the crawl uses.
        field_names: Field names that the crawl uses, by standard name.
        params: Section `[crawl]` of the definition.

    Raises:
        RejectError: a field is missing or has the wrong type; the message is the reject reason.
    """
    time, text = (
        _first_non_null_value(record, *field_names.times),
        _first_non_empty_text(record, *field_names.texts),
    )
    return make_raw_page(
        get_nested_value(record, field_names.url),
        time,
        get_nested_value(record, field_names.title),
        text,
        params,
    )


def make_raw_page(
    url: object, time: object, title: object, text: object, params: CrawlParameters = DEFAULT_PARAMS
) -> RawPage:
    """Check the types of the fields of a page, and return a raw page with the time in Unix seconds.

    Raises:
        RejectError: a field is missing or has the wrong type.
    """
    name = parse_id(url)
    if name is None:
        raise RejectError("bad_url")
    is_undated = time is None and params.undated == "start"
    fetched_at = None if is_undated else parse_time(time, params)
    if not isinstance(text, str):
        raise RejectError("bad_text")
    return RawPage(name, fetched_at, _title_to_string(title), text)


def _title_to_string(value: object) -> str:
    """Convert a title (text or number) to a string; null and NaN become an empty string.

    Raises:
        RejectError: the title has another type.
    """
    if value is None or value != value:  # NaN, as pandas writes a missing title
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value)
    raise RejectError("bad_title")


def _first_non_empty_text(record: dict[str, Any], *names: str) -> object:
    """Return the first non-empty value among the named fields; if all are empty, the first value.

    Null values are skipped in both cases.
    """
    non_empty = (
        value for name in names if (value := get_nested_value(record, name)) not in (None, "")
    )
    return next(non_empty, _first_non_null_value(record, *names))


def _first_non_null_value(record: dict[str, Any], *names: str) -> object:
    """Return the first non-null value among the named fields of a record, else None."""
    for name in names:
        value = get_nested_value(record, name)
        if value is not None:
            return value
    return None
