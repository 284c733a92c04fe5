"""Parses one record of a crawl to a raw page, or rejects the record with a reason.

JSON lines have one of two shapes, `{"url", "timestamp", "title", "text"}` or (Qwant) `{"url",
"content", "created_at", "last_updated_at"}`, or the field names of `[crawl.fields]`. Times are unix
seconds or ISO 8601 unless the parameters say otherwise. URLs and texts are validated later, in
blocks (`checks`).
"""

from typing import Any, NamedTuple

import polars as pl

from builder.ingest.fields import get_nested, parse_id
from builder.ingest.json_object import parse_object
from builder.ingest.rejects import RejectError
from builder.ingest.timestamps import parse_time
from builder.parameters import CrawlParameters, PageFields

DEFAULT_PARAMS = CrawlParameters()
TIME_FIELDS = ("timestamp", "last_updated_at", "created_at")
TEXT_FIELDS = ("text", "content")
"""Default field names of times and texts; the first field with a value is used."""
OPTIONAL_FIELDS = ("time", "title")
"""Fields that a crawl may lack; times only if `crawl.undated` allows that."""

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
    """Page as recorded by the crawl, with times in Unix seconds.

    `fetched_at` is None if the crawl has no time and `crawl.undated` allows that. `is_truncated` is
    set if the archive says that the body is incomplete.
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
    """Field names of a page; for times and texts, several names in order of preference."""

    url: str
    times: tuple[str, ...]
    title: str
    texts: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        """All field names of a page."""
        return (self.url, *self.times, self.title, *self.texts)


def field_names(fields: PageFields) -> FieldNames:
    """Return the field names in a definition, with defaults for missing ones."""
    times, texts = _as_tuple(fields.time, TIME_FIELDS), _as_tuple(fields.text, TEXT_FIELDS)
    return FieldNames(fields.url, times, fields.title, texts)


def _as_tuple(names: str | tuple[str, ...] | None, default: tuple[str, ...]) -> tuple[str, ...]:
    """Return field names as a tuple, or the default if there are none."""
    if names is None:
        return default
    return (names,) if isinstance(names, str) else names


def parse_page(line: bytes, params: CrawlParameters = DEFAULT_PARAMS) -> RawPage:
    """Parse a JSON line and return the raw page.

    Raises:
        RejectError: the line is not a page; the message is the reason.
    """
    return page_from_record(parse_object(line), field_names(params.fields), params)


def page_from_record(
    record: dict[str, Any], names: FieldNames, params: CrawlParameters = DEFAULT_PARAMS
) -> RawPage:
    """Build a raw page from a record of a crawl.

    Raises:
        RejectError: a field is missing or of the wrong type; the message is the reason.
    """
    time, text = _first_value(record, *names.times), _first_text(record, *names.texts)
    return validate_page(
        get_nested(record, names.url), time, get_nested(record, names.title), text, params
    )


def validate_page(
    url: object, time: object, title: object, text: object, params: CrawlParameters = DEFAULT_PARAMS
) -> RawPage:
    """Validate the fields of a page, and convert the time to Unix seconds.

    Raises:
        RejectError: a field is missing or of the wrong type.
    """
    name = parse_id(url)
    if name is None:
        raise RejectError("bad_url")
    is_undated = time is None and params.undated == "start"
    fetched_at = None if is_undated else parse_time(time, params)
    title = "" if title is None else title
    if not isinstance(title, str) or not isinstance(text, str):
        raise RejectError("bad_text")
    return RawPage(name, fetched_at, title, text)


def _first_text(record: dict[str, Any], *names: str) -> object:
    """Return the first non-empty value among fields of a record or, if all are empty, the first."""
    non_empty = (value for name in names if (value := get_nested(record, name)) not in (None, ""))
    return next(non_empty, _first_value(record, *names))


def _first_value(record: dict[str, Any], *names: str) -> object:
    """Return the first value among fields of a record that is not null."""
    for name in names:
        value = get_nested(record, name)
        if value is not None:
            return value
    return None
