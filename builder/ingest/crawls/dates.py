"""Extracts the publication date and the last modification date that an HTML page declares.

Input: the document node of an HTML page. Output: Unix seconds or None. Dates are taken from JSON-LD
(schema.org `datePublished`, `dateModified`), else from meta elements, else from `<time>` elements.
Dates are ignored if they cannot be parsed, are before 1990, or are more than a day after the fetch.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import orjson
from resiliparse.parse.html import DocumentNode

from builder.ingest.timestamps import parse_iso_datetime

EARLIEST = 631_152_000
"""Unix time of 1990-01-01; earlier dates are ignored, since there were no web pages before."""
CLOCK_SKEW = 86_400
"""Maximum number of seconds by which a date may be later than the fetch, to allow for time zones
and wrong clocks."""
MAX_NODES = 10_000
"""Maximum number of JSON values that are visited in a JSON-LD block."""

PUBLISHED_META = (
    "article:published_time",
    "og:published_time",
    "datepublished",
    "dcterms.issued",
    "dc.date.issued",
    "dcterms.created",
    "dc.date.created",
    "dcterms.date",
    "dc.date",
    "publication_date",
    "publish-date",
    "date",
)
MODIFIED_META = (
    "article:modified_time",
    "og:updated_time",
    "datemodified",
    "dcterms.modified",
    "dc.date.modified",
    "last-modified",
    "revised",
)

DATE_META_SELECTOR = ",".join(
    f'meta[{attribute}*="{word}" i]'
    for attribute, words in {
        "property": ("time", "date"),
        "name": ("date", "issued", "created", "modified", "revised"),
        "itemprop": ("date",),
        "http-equiv": ("modified",),
    }.items()
    for word in words
)
"""CSS selector of meta elements that may declare a date."""
TIME_LABELS = {
    "published": ("datepublished", "pubdate", "published"),
    "modified": ("datemodified", "updated", "modified"),
}
"""Substrings of the label of a `<time>` element that mark the element as a publication or
modification date."""
NAME_ATTRIBUTES = ("property", "name", "itemprop", "http-equiv")


def extract_dates(page: DocumentNode, fetched_at: int) -> tuple[int | None, int | None]:
    """Extract the publication and modification times of a page in Unix seconds; None if missing.

    Args:
        page: Document node of the page.
        fetched_at: Fetch time in Unix seconds; dates more than a day later are ignored.
    """
    linked = _json_ld_dates(page)
    meta = _read_date_meta_elements(page)
    times = list(_read_time_elements(page))
    published = (
        *linked["datepublished"],
        *_meta_contents(meta, PUBLISHED_META),
        *_time_element_dates(times, "published"),
    )
    modified = (
        *linked["datemodified"],
        *_meta_contents(meta, MODIFIED_META),
        *_time_element_dates(times, "modified"),
    )
    return _first_valid_date(published, fetched_at), _first_valid_date(modified, fetched_at)


def parse_date(date_text: str, fetched_at: int) -> int | None:
    """Convert an ISO 8601 or RFC 5322 date to Unix seconds; None if it is invalid or implausible.

    Args:
        date_text: The date.
        fetched_at: Fetch time in Unix seconds; dates more than a day later are implausible.
    """
    try:
        parsed = _parse_datetime(date_text.strip())
        seconds = int((parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
    return seconds if EARLIEST <= seconds <= fetched_at + CLOCK_SKEW else None


def _parse_datetime(text: str) -> datetime:
    """Parse an ISO 8601 date, with or without a time, or an RFC 5322 date."""
    try:
        return parse_iso_datetime(text)
    except ValueError:
        if text[:4].isdigit():
            return datetime.fromisoformat(text[:10])
        return parsedate_to_datetime(text)


def _first_valid_date(date_texts: Iterable[str], fetched_at: int) -> int | None:
    """Parse the texts in order; return the first plausible date in Unix seconds, or None."""
    dates = (parse_date(text, fetched_at) for text in date_texts)
    return next((seconds for seconds in dates if seconds is not None), None)


def _meta_contents(contents_by_name: dict[str, str], names: Iterable[str]) -> Iterator[str]:
    """Yield the contents of the meta elements with the given names, in the order of the names."""
    return (contents_by_name[name] for name in names if name in contents_by_name)


def _read_date_meta_elements(page: DocumentNode) -> dict[str, str]:
    """Return the contents of meta elements that may declare a date, by lowercase name.

    If several elements have the same name, the first is used.
    """
    contents: dict[str, str] = {}
    for element in page.query_selector_all(DATE_META_SELECTOR)[:]:
        for attribute in NAME_ATTRIBUTES:
            name = element.getattr(attribute)
            if name:
                contents.setdefault(name.lower(), element.getattr("content") or "")
    return contents


def _read_time_elements(page: DocumentNode) -> Iterator[tuple[str, str]]:
    """Yield the label and the date (attribute `datetime`) of each `<time>` element.

    The label consists of the attributes `itemprop` and `class` in lowercase, and of `pubdate` if
    the element has this attribute.
    """
    for element in page.query_selector_all("time[datetime]")[:]:
        label = f"{element.getattr('itemprop') or ''} {element.getattr('class') or ''}".lower()
        pubdate = " pubdate" if element.hasattr("pubdate") else ""
        yield label + pubdate, element.getattr("datetime") or ""


def _time_element_dates(labels_and_dates: Iterable[tuple[str, str]], kind: str) -> Iterator[str]:
    """Yield the dates of the `<time>` elements that are labeled as dates of the given kind.

    Args:
        labels_and_dates: Label and date of each element.
        kind: `published` or `modified`.
    """
    return (
        time for label, time in labels_and_dates if any(word in label for word in TIME_LABELS[kind])
    )


def _json_ld_dates(page: DocumentNode) -> dict[str, list[str]]:
    """Return the unparsed publication and modification dates in JSON-LD, by lowercase key."""
    dates: dict[str, list[str]] = {"datepublished": [], "datemodified": []}
    for element in page.query_selector_all('script[type="application/ld+json"]')[:]:
        try:
            queue = deque([orjson.loads(element.text or "")])
        except (orjson.JSONDecodeError, UnicodeError):
            continue
        for _ in range(MAX_NODES):
            if not queue:
                break
            node = queue.popleft()
            for name, value in _json_key_value_pairs(node):
                if name.lower() in dates and isinstance(value, str):
                    dates[name.lower()].append(value)
                elif isinstance(value, dict | list):
                    queue.append(value)
    return dates


def _json_key_value_pairs(node: object) -> Iterable[tuple[str, object]]:
    """Return the key-value pairs of a JSON object or array; none for other values.

    The items of an array are paired with empty keys.
    """
    if isinstance(node, dict):
        return node.items()
    return (("", value) for value in node) if isinstance(node, list) else ()
