"""One line of a crawl -> one page, or the reason why not.

Two shapes, one JSON object a line: `{"url", "timestamp", "title", "text"}` and, as Qwant delivers
them, `{"url", "content", "created_at", "last_updated_at"}`. Times are unix seconds or ISO 8601.
"""

import re
import unicodedata
from typing import Any, NamedTuple

from builder.ingest.dictionary import canonical_url
from builder.ingest.impression import RejectError, parse_object, parse_time
from builder.parameters import CrawlParameters
from builder.sources import Interval

_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]")


class Page(NamedTuple):
    """A fetched page with normalised text."""

    url: str
    url_key: str
    fetched_at: int
    title: str
    text: str


def parse_page(line: bytes, interval: Interval, params: CrawlParameters) -> Page:
    """Parse and check one line.

    Raises:
        RejectError: the line is not a page of the interval; the message is the reason.
    """
    if not line.strip():
        raise RejectError("blank_line")
    record = parse_object(line)
    time = _first(record, "timestamp", "last_updated_at", "created_at")
    text = _first(record, "text", "content")
    return make_page(record.get("url"), time, record.get("title"), text, interval, params)


def make_page(
    url: object,
    time: object,
    title: object,
    text: object,
    interval: Interval,
    params: CrawlParameters,
) -> Page:
    """A page from its raw fields.

    Raises:
        RejectError: a field is missing or wrong, or the page is outside the interval.
    """
    key = canonical_url(url) if isinstance(url, str) else None
    if key is None:
        raise RejectError("bad_url")
    fetched_at = parse_time(time)
    if params.interval == "enforce" and fetched_at not in interval:
        raise RejectError("outside_interval")
    heading = " ".join(normalise(_text(title or "")).split())
    body = normalise(_text(text))[: params.max_text_chars].strip()
    if not body:
        raise RejectError("empty_text")
    return Page(" ".join(str(url).split()), key, fetched_at, heading, body)


def normalise(text: str) -> str:
    """NFC, LF line ends, no control characters, no outer white space."""
    lines = _LINE_ENDS.sub("\n", unicodedata.normalize("NFC", text))
    return _CONTROLS.sub("", lines).strip()


def _first(record: dict[str, Any], *names: str) -> object:
    """The first of these keys that has a value."""
    return next((record[name] for name in names if record.get(name) is not None), None)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise RejectError("bad_text")
    return value
